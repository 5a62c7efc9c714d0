// Package pipe is both ends of a pipe over which agents ask, one JSON object a
// line: pi's ask_user_request with an ask_user_response, and Opal's JSON-RPC
// request client/ask_user with its response.
//
// The end that answers:
//
//	server := &pipe.Server{Resolver: terminal.Resolver{}}
//	err := server.Serve(ctx, os.Stdin, os.Stdout)
//
// Requests are asked one at a time, in the order in which they came, or side by
// side by an [adapter.Poster]. Every request that has an id gets one response, a bad one
// an error, as does one with the id of another that is open. The end of the input
// withdraws what is open.
//
// The end that asks, for an agent in Go:
//
//	asker := &pipe.Asker{In: os.Stdin, Out: os.Stdout, Dialect: "opal"}
//	defer asker.Close()
//	tool := adapter.NewTool(asker)
//
// It waits without a timeout. A sub-agent's questions go to its parent first,
// and to the pipe without one: adapter.SubAgents{Parent: parent, User: asker}.
package pipe
