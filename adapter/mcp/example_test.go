package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/convert"
)

// An agent that has no question tool gets one as an MCP server. Here the agent is
// a client of the MCP SDK, and the person a function.
func Example() {
	person := adapter.Func(func(_ context.Context, c convert.Call) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{c.Questions[0].Options[1].Label}}}, nil
	})
	server := mcp.New(mcp.Options{Resolver: person})
	toServer, fromAgent := io.Pipe()
	toAgent, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.Background(), toServer, fromServer) }()

	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
	agent, err := client.Connect(context.Background(), &sdk.IOTransport{Reader: toAgent, Writer: fromAgent}, nil)
	if err != nil {
		panic(err)
	}
	result, err := agent.CallTool(context.Background(), &sdk.CallToolParams{Name: mcp.ToolName, Arguments: json.RawMessage(
		`{"questions":[{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL","description":"big"},{"label":"SQLite","description":"small"}]}]}`)})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Content[0].(*sdk.TextContent).Text)
	_ = agent.Close()
	_ = fromAgent.Close()
	_ = fromServer.Close()
	<-served
	server.Close()
	// Output:
	// Which database?
	// SQLite
}
