package proxy

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

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
	a, ended := p.relayed(address)
	got := a.use(nil)
	request := p.editor.until("session/request_permission")
	require.Equal(t, "s1", request.Get("params.sessionId").Str)
	p.editor.result(request, selected("SQLite"))
	require.Contains(t, <-got, "SQLite")

	// The proxy ends, and the relay with it.
	p.cancel(nil)
	<-p.ended
	require.NoError(t, <-ended)
}

// relayed is an agent that has the tool at an address by a relay.
func (p *proxied) relayed(address string) (a *toolAgent, ended chan error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended = make(chan error, 1)
	go func() {
		err := RelayTool(p.Context(), inR, outW, address)
		outW.Close()
		ended <- err
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "x", Version: "1"}, nil)
	session := acptest.Must(client.Connect(p.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil))
	p.Cleanup(func() {
		session.Close()
		inW.Close()
	})
	return &toolAgent{proxied: p, client: session}, ended
}

// A plugin asks in the session that its call names, by the rules of the agent's own questions.
func TestPluginAsks(t *testing.T) {
	dir := t.TempDir()
	p := startWith(t, func(ctx context.Context, editor, agent Stream) error {
		return relay(ctx, editor, agent, Options{TrustPrompts: true, RefuseSubAgents: true, Tool: ToolAlways}, launched{profile: profileNamed("opencode"), plugin: dir})
	})
	p.initialize(noForms)
	own := p.open(t, "s1")
	file := filepath.Join(dir, "address")
	require.Equal(t, os.FileMode(0o600), acptest.Must(os.Stat(file)).Mode().Perm())
	a, _ := p.relayed(string(acptest.Must(os.ReadFile(file))))
	asks := func(call string) <-chan string { return a.use(sdk.Meta{"callId": call}) }
	asked := func(call string) gjson.Result {
		r := p.editor.until("session/request_permission")
		require.Equal(t, "s1", r.Get("params.sessionId").Str)
		require.Equal(t, call, r.Get("params.toolCall.toolCallId").Str)
		return r
	}
	p.prompt("p1", "go")
	p.agent.next()
	shows := func(call, status string) {
		p.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"` + call + `","status":"` + status + `","rawInput":` + toolQuestions + `}}}`)
	}

	got := asks("s1 c1")
	p.editor.result(asked("c1"), selected("SQLite"))
	require.Contains(t, <-got, "SQLite")
	require.Contains(t, <-asks("s9 c1"), errNoSession.Error())
	require.Contains(t, <-asks("c1"), errNoSession.Error())
	require.Contains(t, <-asks("s1 ses_2:c1"), "not available to sub-agents")

	// The agent takes no call back: it ends its tool call. It has dismissed nothing unseen.
	shows("c2", "in_progress")
	got = asks("s1 c2")
	asked("c2")
	shows("c2", "failed")
	require.Contains(t, <-got, "withdrawn")
	p.agent.send(chunk("so be it"))
	require.Equal(t, "so be it", p.editor.said())

	// The tool that the user wants the agent to have besides is a tool of its own.
	got = own.use(nil)
	p.editor.result(p.editor.until("session/request_permission"), selected("SQLite"))
	require.Contains(t, <-got, "SQLite")

	got = asks("s1 c3")
	asked("c3")
	p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	require.NotContains(t, <-got, "SQLite")
	p.agent.until("session/cancel")
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
