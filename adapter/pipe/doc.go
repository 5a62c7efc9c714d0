// Package pipe answers agents that ask through a pipe, one JSON object a line:
// pi's ask_user_request with an ask_user_response, and Opal's JSON-RPC request
// client/ask_user with its response.
//
//	server := &pipe.Server{Ask: func(ctx context.Context, c convert.Call) pipe.Reply {
//		outcome, _ := terminal.Resolver{}.Ask(ctx, c)
//		return pipe.Reply{Reply: dialect.Reply{Outcome: outcome, Mode: "rpc"}}
//	}}
//	err := server.Serve(ctx, os.Stdin, os.Stdout)
//
// Requests are asked one at a time, in the order in which they came; one that
// is answered elsewhere waits beside the others, see [Reply]. Every request
// that has an id gets one response, a bad one an error. The end of the input
// withdraws what is open.
package pipe
