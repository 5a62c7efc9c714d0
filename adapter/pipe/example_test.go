package pipe_test

import (
	"context"
	"os"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/pipe"
	"github.com/acp-bridge/acp-bridge/convert"
)

// An agent asks on its standard output, and gets the answer on its standard
// input.
func ExampleServer() {
	fromAgent := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"client/ask_user","params":{"session_id":"s1","question":"Which database?","choices":["PostgreSQL","SQLite"]}}` + "\n")
	person := adapter.Func(func(context.Context, convert.Call) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{"SQLite"}}}, nil
	})
	server := &pipe.Server{Resolver: person}
	if err := server.Serve(context.Background(), fromAgent, os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"answer":"SQLite"}}
}
