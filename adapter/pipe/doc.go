// Package pipe answers agents that ask over a pipe, one JSON object a line: pi's
// ask_user_request with an ask_user_response, and Opal's JSON-RPC request
// client/ask_user with its response.
//
//	server := &pipe.Server{Resolver: terminal.Resolver{}}
//	err := server.Serve(ctx, os.Stdin, os.Stdout)
//
// Requests are asked one at a time, in the order in which they came, or side by
// side by an [adapter.Poster]. Every request that has an id gets one response, a bad one
// an error, as does one with the id of another that is open. The end of the input
// withdraws what is open.
package pipe
