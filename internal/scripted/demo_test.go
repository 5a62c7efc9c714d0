package scripted_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	_ "github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const patience = 5 * time.Minute

// editor is a client that a test answers for.
type editor struct {
	t        *testing.T
	conn     *conn.Conn
	requests chan *request
	pings    chan struct{} // nil, or lets it answer what is sent behind a question

	mu   sync.Mutex
	said map[string]string // by session
}

type request struct {
	gjson.Result
	method    string
	answer    chan string
	withdrawn <-chan struct{}
}

func join(t *testing.T, capabilities string) *editor {
	agentIn, out := io.Pipe()
	in, agentOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- scripted.ServeDemo(context.Background(), agentIn, agentOut, scripted.DemoOptions{Version: "test"})
	}()
	e := &editor{t: t, requests: make(chan *request, 10), said: map[string]string{}}
	e.conn = conn.New(in, out, e, &conn.Options{Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		out.Close()
		require.NoError(t, <-served)
		in.Close()
		e.conn.Close()
	})
	raw, err := e.conn.Call(t.Context(), "initialize", json.RawMessage(`{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`))
	require.NoError(t, err)
	require.Equal(t, "acp-bridge-demo", gjson.GetBytes(raw, "agentInfo.name").Str)
	return e
}

func (e *editor) Notify(_ context.Context, _ string, params json.RawMessage) {
	p := gjson.ParseBytes(params)
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.Get("update.sessionUpdate").Str == "agent_message_chunk" {
		e.said[p.Get("sessionId").Str] += p.Get("update.content.text").Str
	}
}

func (e *editor) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if method == "_acp-bridge/ping" {
		if e.pings != nil {
			<-e.pings
		}
		return nil, acp.NewMethodNotFound(method)
	}
	r := &request{gjson.ParseBytes(params), method, make(chan string, 1), ctx.Done()}
	e.requests <- r
	select {
	case a := <-r.answer:
		return json.RawMessage(a), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *editor) session() acp.SessionId {
	s, err := e.conn.NewSession(e.t.Context(), acp.NewSessionRequest{Cwd: "/", McpServers: []acp.McpServer{}})
	require.NoError(e.t, err)
	return s.SessionId
}

// prompt sends a prompt; its end comes over the channel.
func (e *editor) prompt(s acp.SessionId, words string) <-chan acp.PromptResponse {
	done := make(chan acp.PromptResponse, 1)
	go func() {
		r, err := e.conn.Prompt(context.Background(), acp.PromptRequest{SessionId: s, Prompt: []acp.ContentBlock{acp.TextBlock(words)}})
		if err == nil {
			done <- r
		}
	}()
	return done
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		require.Fail(t, "nothing came")
	}
	return v
}

func (e *editor) heard(s acp.SessionId) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.said[string(s)]
}

const got = "- Database: SQLite\n- Features: Auth, Logs\n- Service name: shop\n"

func TestForm(t *testing.T) {
	e := join(t, `{"elicitation":{"form":{}}}`)
	for range 2 { // each prompt starts again
		s := e.session()
		turn := e.prompt(s, "go")
		r := await(t, e.requests)
		require.Equal(t, "elicitation/create", r.method)
		require.Equal(t, string(s), r.Get("sessionId").Str)
		r.answer <- `{"action":"accept","content":{"question_0":"SQLite","question_1":["Auth","Logs"],"question_2":"shop"}}`
		require.Equal(t, acp.StopReasonEndTurn, await(t, turn).StopReason)
		require.Contains(t, e.heard(s), got)
		require.Contains(t, e.heard(s), `{"Which database should we use?":"SQLite","Which features do you want?":"Auth, Logs","What should we name this service?":"shop"}`)
	}
}

// An editor with nothing but permission requests: rounds for several picks, and
// the text comes as the next prompt.
func TestPermissionThenConversation(t *testing.T) { synctest.Test(t, permissionThenConversation) }

func permissionThenConversation(t *testing.T) {
	e := join(t, `{}`)
	s := e.session()
	turn := e.prompt(s, "go")
	for _, id := range []string{"SQLite", "Logs", "Auth", "__done__", "__other__"} {
		r := await(t, e.requests)
		require.Equal(t, "session/request_permission", r.method)
		require.True(t, r.Get(`options.#(optionId=="`+id+`")`).Exists(), "%s in %s", id, r.Raw)
		r.answer <- `{"outcome":{"outcome":"selected","optionId":"` + id + `"}}`
	}
	first := await(t, turn)
	require.Equal(t, acp.StopReasonEndTurn, first.StopReason)
	require.Contains(t, first.Meta, "acp-bridge")
	require.Contains(t, e.heard(s), "What should we name this service?")
	time.Sleep(time.Second) // a person reads it
	require.Equal(t, acp.StopReasonEndTurn, await(t, e.prompt(s, "shop")).StopReason)
	require.Contains(t, e.heard(s), got)
}

// A prompt that was typed before the question can have been seen does not answer it.
func TestPromptBeforeTheQuestionIsSeen(t *testing.T) { synctest.Test(t, promptBeforeTheQuestionIsSeen) }

func promptBeforeTheQuestionIsSeen(t *testing.T) {
	e := join(t, `{},"clientInfo":{"name":"CodeCompanion.nvim","version":"1"}`)
	e.pings = make(chan struct{})
	s := e.session()
	await(t, e.prompt(s, "go"))
	require.Equal(t, acp.StopReasonEndTurn, await(t, e.prompt(s, "2")).StopReason)
	require.NotContains(t, e.heard(s), "Which features do you want?")
	close(e.pings)
	time.Sleep(time.Second)
	require.Equal(t, acp.StopReasonEndTurn, await(t, e.prompt(s, "2")).StopReason)
	require.Contains(t, e.heard(s), "Which features do you want?")
}

func TestCancel(t *testing.T) {
	e := join(t, `{}`)
	s, other := e.session(), e.session()
	turn, untouched := e.prompt(s, "go"), e.prompt(other, "go")
	a, b := await(t, e.requests), await(t, e.requests)
	if a.Get("sessionId").Str != string(s) {
		a, b = b, a
	}
	require.NoError(t, e.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: s}))
	await(t, a.withdrawn)
	require.Equal(t, acp.StopReasonCancelled, await(t, turn).StopReason)
	require.True(t, strings.HasSuffix(e.heard(s), "I have no answers."), e.heard(s))
	b.answer <- `{"outcome":{"outcome":"cancelled"}}`
	require.Equal(t, acp.StopReasonCancelled, await(t, untouched).StopReason)
}

// A prompt while a question is open takes its place.
func TestPromptSupersedes(t *testing.T) {
	e := join(t, `{"elicitation":{"form":{}}}`)
	s := e.session()
	first := e.prompt(s, "go")
	open := await(t, e.requests)
	second := e.prompt(s, "something else")
	await(t, open.withdrawn)
	require.Equal(t, acp.StopReasonCancelled, await(t, first).StopReason)
	await(t, e.requests).answer <- `{"action":"decline"}`
	require.Equal(t, acp.StopReasonEndTurn, await(t, second).StopReason)
	require.Contains(t, e.heard(s), "I have no answers: User declined to answer.")
}

// The end of the client ends a question that waits in the conversation.
func TestLeaveWhileParked(t *testing.T) {
	e := join(t, `{}`)
	s := e.session()
	turn := e.prompt(s, "go")
	await(t, e.requests).answer <- `{"outcome":{"outcome":"selected","optionId":"__other__"}}`
	require.Equal(t, acp.StopReasonEndTurn, await(t, turn).StopReason)
	require.NoError(t, e.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: s}))
	e.prompt(s, "go") // a new turn, no answer
	require.Equal(t, "Database", await(t, e.requests).Get("toolCall.title").Str)
}

func TestRefusals(t *testing.T) {
	e := join(t, `{}`)
	for method, params := range map[string]string{
		"session/prompt":   `{"sessionId":"nobody","prompt":[]}`,
		"session/load":     `{}`,
		"session/set_mode": `{}`,
	} {
		_, err := e.conn.Call(t.Context(), method, json.RawMessage(params))
		require.ErrorAs(t, err, new(*acp.RequestError), method)
	}
}
