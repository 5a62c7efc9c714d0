package proxy

import (
	"context"
	"io"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// An agent that does not take MCP servers over HTTP gets one over stdio, which
// passes all on to the tool.
func TestToolOverStdio(t *testing.T) {
	p := initialized(t, Options{Tool: ToolAlways, Relay: []string{"acp-bridge", "mcp", "--relay"}}, noForms)
	p.editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}`)
	open := p.agent.next()
	ours := open.Get("params.mcpServers.0")
	require.Equal(t, "acp-bridge", ours.Get("command").Str)
	require.JSONEq(t, `["mcp","--relay"]`, ours.Get("args").Raw)
	require.False(t, ours.Get("type").Exists())
	require.Equal(t, ToolAddress, ours.Get("env.0.name").Str)
	address := ours.Get("env.0.value").Str
	p.agent.result(open, `{"sessionId":"s1"}`)
	p.editor.reply() // only now it has this name
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := RelayTool(t.Context(), inR, outW, address)
		outW.Close()
		ended <- err
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "x", Version: "1"}, nil)
	session := acptest.Must(client.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil))
	got := make(chan string, 1)
	go func() {
		r, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: mcp.ToolName, Arguments: gjson.Parse(toolQuestions).Value()})
		if err != nil {
			got <- err.Error()
			return
		}
		got <- r.Content[0].(*sdk.TextContent).Text
	}()
	request := p.editor.until("session/request_permission")
	require.Equal(t, "s1", request.Get("params.sessionId").Str)
	p.editor.result(request, selected("SQLite"))
	require.Contains(t, <-got, "SQLite")

	// The proxy ends, and the relay with it.
	p.cancel(nil)
	<-p.ended
	require.NoError(t, <-ended)
	session.Close()
	inW.Close()
}

func TestToolOverHTTPWhereTaken(t *testing.T) {
	p := start(t, Options{Tool: ToolAlways, Relay: []string{"acp-bridge", "mcp", "--relay"}})
	p.editor.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1}}`)
	p.agent.result(p.agent.next(), `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`)
	p.editor.next()
	p.editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}`)
	require.Equal(t, "http", p.agent.next().Get("params.mcpServers.0.type").Str)
}

func TestRelayToolSaysWhatIsWrong(t *testing.T) {
	require.ErrorContains(t, RelayTool(t.Context(), nil, nil, ""), ToolAddress)
	require.ErrorContains(t, RelayTool(t.Context(), nil, nil, withTool(t).url+"x"), "404")
}
