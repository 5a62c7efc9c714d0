package proxy

import (
	"context"
	"io"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/mcp"
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

	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := RelayTool(t.Context(), inR, outW, address)
		outW.Close()
		ended <- err
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "x", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	require.NoError(t, err)
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
	require.Contains(t, await(t, got), "SQLite")

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
	a := withTool(t)
	require.ErrorContains(t, RelayTool(t.Context(), nil, nil, a.url+"x"), "404")
}

// What the agent said before it asks is told to people at the desk, as it said it, and
// what it said before the prompt is not.
func TestPermissionsTellWhatWasSaid(t *testing.T) {
	d := new(desk.Desk)
	p := &permitted{start(t, Options{Desk: d}), d, make(chan desk.Entry, 1000)}
	t.Cleanup(d.Watch(func(e desk.Entry) { p.entries <- e }))
	p.initialize(noForms)
	p.editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}`)
	p.agent.send(`{"jsonrpc":"2.0","id":` + p.agent.until("session/new").Get("id").Raw + `,"result":{"sessionId":"s1"}}`)
	require.Equal(t, "new", p.editor.reply().Get("id").Str)
	p.prompt("p1", "go")
	p.agent.until("session/prompt")
	say := func(text string) {
		p.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}`)
	}
	say("I will run ")
	say("the build.")
	told := p.asks(mayRun).About.Told()
	require.Equal(t, "go", told.Prompt)
	require.Equal(t, "I will run the build.", told.Said)
}
