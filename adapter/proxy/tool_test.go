package proxy

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

const toolQuestions = `{"questions":[{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL","description":"a"},{"label":"SQLite","description":"b"}]}]}`

// toolAgent is an agent without a question tool, in a session that it opened.
type toolAgent struct {
	*proxied
	url    string
	client *sdk.ClientSession
	die    func() // without a word
}

func withTool(t *testing.T) *toolAgent { return withToolFor(t, "goose") }

func withToolFor(t *testing.T, agent string) *toolAgent {
	return initialized(t, Options{Agent: profileNamed(agent), Tool: ToolAlways}, noForms).open(t, "s1")
}

// open opens a session with the tool.
func (p *proxied) open(t *testing.T, session string) *toolAgent {
	p.editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[{"type":"http","name":"mine","url":"http://x/"}],"_meta":{"a":1}}}`)
	open := p.agent.next()
	require.Equal(t, "mine", open.Get("params.mcpServers.0.name").Str)
	require.Equal(t, `{"a":1}`, open.Get("params._meta").Raw)
	ours := open.Get("params.mcpServers.1")
	require.Contains(t, ours.Get("name").Str, mcp.ServerName)
	require.Equal(t, "http", ours.Get("type").Str)
	a := &toolAgent{proxied: p, url: ours.Get("url").Str}
	a.connect(t)
	p.agent.result(open, `{"sessionId":"`+session+`"}`)
	require.Equal(t, "new", p.editor.reply().Get("id").Str)
	return a
}

// connect opens a connection to the tool.
func (a *toolAgent) connect(t *testing.T) {
	ctx, die := context.WithCancel(context.Background())
	a.die = die
	transport := &http.Transport{DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { c.Close() })
		}
		return c, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	client := sdk.NewClient(&sdk.Implementation{Name: "goose", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: a.url, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true, MaxRetries: -1}, nil) // who died does not come back
	require.NoError(t, err)
	a.client = session
	t.Cleanup(func() {
		session.Close()
		die()
	})
}

// use calls the tool, as the agent's model does.
func (a *toolAgent) use(meta sdk.Meta) <-chan string { return a.useWith(meta, toolQuestions) }

func (a *toolAgent) useWith(meta sdk.Meta, input string) <-chan string {
	got := make(chan string, 1)
	go func() {
		r, err := a.client.CallTool(context.Background(), &sdk.CallToolParams{Meta: meta, Name: mcp.ToolName, Arguments: gjson.Parse(input).Value()})
		if err != nil {
			got <- "error: " + err.Error()
			return
		}
		got <- r.Content[0].(*sdk.TextContent).Text
	}()
	return got
}

func TestQuestionTool(t *testing.T) {
	a := withTool(t)
	got := a.use(sdk.Meta{"agent-tool-call-request-id": "call_7"})
	request := a.editor.until("session/request_permission")
	require.Equal(t, "s1", request.Get("params.sessionId").Str)
	require.Equal(t, "call_7", request.Get("params.toolCall.toolCallId").Str, "the agent's own tool call")
	a.editor.result(request, selected("SQLite"))
	require.Contains(t, <-got, "SQLite")
}

// Gemini does not tell its servers of a cancel.
func TestToolAndSessionCancel(t *testing.T) {
	t.Parallel()
	a := withTool(t)
	got := a.use(nil)
	a.editor.until("session/request_permission")
	a.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	require.Contains(t, <-got, "dismissed")
	require.Equal(t, "session/cancel", a.agent.next().Get("method").Str)
	a.editor.until("$/cancel_request")
}

func TestToolNeedsItsName(t *testing.T) {
	a := withTool(t)
	resp := acptest.Must(http.Post(a.url[:strings.LastIndex(a.url, "/")]+"/guess", "application/json", strings.NewReader("{}")))
	defer resp.Body.Close()
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}

func TestToolUse(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want bool
	}{
		"an agent without questions": {Options{Agent: profileNamed("gemini")}, true},
		"an agent with questions":    {Options{Agent: profileNamed("grok")}, false},
		"forced":                     {Options{Tool: ToolAlways}, true},
		"left out":                   {Options{Agent: profileNamed("gemini"), Tool: ToolNever}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := initialized(t, c.o, noForms)
			for _, method := range []string{"session/new", "session/load", "session/resume"} {
				p.editor.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"cwd":"/x","sessionId":"s","mcpServers":[]}}`)
				require.Equal(t, c.want, p.agent.next().Get("params.mcpServers.0").Exists(), method)
			}
		})
	}
}

// Droid mixes up servers of one name: each session's has its own.
func TestToolServerNames(t *testing.T) {
	p := initialized(t, Options{Agent: profileNamed("droid")}, noForms)
	for _, want := range []string{"acp-bridge", "acp-bridge-2", "acp-bridge-3"} {
		p.editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}`)
		open := p.agent.next()
		require.Equal(t, want, open.Get("params.mcpServers.0.name").Str)
		p.agent.result(open, `{"sessionId":"`+want+`"}`)
		p.editor.reply()
	}
}

// The port is closed when the proxy has ended.
func TestToolPortIsClosed(t *testing.T) {
	a := withTool(t)
	address := strings.TrimPrefix(strings.TrimSuffix(a.url, a.url[strings.LastIndexByte(a.url, '/'):]), "http://")
	require.NoError(t, acptest.Must(net.Dial("tcp", address)).Close())
	a.cancel(nil)
	<-a.ended
	require.Error(t, acptest.Err(net.Dial("tcp", address)))
}
