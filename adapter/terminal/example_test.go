package terminal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
)

// A Go agent whose questions are asked in its own terminal:
// adapter.NewTool(terminal.Resolver{}). Here a reader and a writer stand in for
// the terminal.
func ExampleResolver() {
	tool := adapter.NewTool(terminal.Resolver{In: strings.NewReader("sqlite\n"), Out: io.Discard})
	input := json.RawMessage(`{"questions":[{"question":"Which database?","header":"Database",
		"options":[{"label":"PostgreSQL","description":"A server"},{"label":"SQLite","description":"A file"}]}]}`)
	result, isError := tool.Run(context.Background(), "session", "toolu_1", input)
	fmt.Println(result, isError)
	// Output:
	// Which database?
	// SQLite false
}
