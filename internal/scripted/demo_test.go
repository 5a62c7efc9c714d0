package scripted_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// join joins an editor that has these capabilities to the demo.
func join(t *testing.T, capabilities string) *acptest.Editor {
	e := acptest.NewEditor(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return scripted.ServeDemo(ctx, in, out, scripted.DemoOptions{Version: "test"})
	})
	require.Equal(t, "acp-bridge-demo", e.Initialize(capabilities).Get("agentInfo.name").Str)
	return e
}

// accepts accepts a form.
func accepts(content string) json.RawMessage {
	return json.RawMessage(`{"action":"accept","content":` + content + `}`)
}

const got = "- Database: SQLite\n- Features: Auth, Logs\n- Service name: shop\n"

func TestForm(t *testing.T) {
	e := join(t, `{"elicitation":{"form":{}}}`)
	for range 2 { // each prompt starts again
		s := e.Open("/")
		turn := e.Prompt(s, "go")
		r := e.Next()
		require.Equal(t, "elicitation/create", r.Method)
		require.Equal(t, s, r.Get("sessionId").Str)
		r.Answer <- accepts(`{"question_0":"SQLite","question_1":["Auth","Logs"],"question_2":"shop"}`)
		turn.Ends(acp.StopReasonEndTurn)
		require.Contains(t, e.Said(s), got)
		require.Contains(t, e.Said(s), `{"Which database should we use?":"SQLite","Which features do you want?":"Auth, Logs","What should we name this service?":"shop"}`)
	}
}

// An editor with nothing but permission requests: rounds for several picks, and
// the text comes as the next prompt.
func TestPermissionThenConversation(t *testing.T) { synctest.Test(t, permissionThenConversation) }

func permissionThenConversation(t *testing.T) {
	e := join(t, `{}`)
	s := e.Open("/")
	turn := e.Prompt(s, "go")
	for _, id := range []string{"SQLite", "Logs", "Auth", "__done__", "__other__"} {
		r := e.Next()
		require.Equal(t, "session/request_permission", r.Method)
		require.True(t, r.Get(`options.#(optionId=="`+id+`")`).Exists(), "%s in %s", id, r.Raw)
		r.Selects(id)
	}
	turn.Ends(acp.StopReasonEndTurn)
	require.True(t, turn.Resp.Get("_meta.acp-bridge").Exists())
	require.Contains(t, e.Said(s), "What should we name this service?")
	time.Sleep(time.Second) // a person reads it
	e.Prompt(s, "shop").Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), got)
}

// A prompt that was typed before the question can have been seen does not answer it.
func TestPromptBeforeTheQuestionIsSeen(t *testing.T) { synctest.Test(t, promptBeforeTheQuestionIsSeen) }

func promptBeforeTheQuestionIsSeen(t *testing.T) {
	e := join(t, `{},"clientInfo":{"name":"CodeCompanion.nvim","version":"1"}`)
	e.Pings = make(chan struct{})
	s := e.Open("/")
	e.Prompt(s, "go").Ends(acp.StopReasonEndTurn)
	e.Prompt(s, "2").Ends(acp.StopReasonEndTurn)
	require.NotContains(t, e.Said(s), "Which features do you want?")
	close(e.Pings)
	time.Sleep(time.Second)
	e.Prompt(s, "2").Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "Which features do you want?")
}

func TestCancel(t *testing.T) {
	e := join(t, `{}`)
	s, other := e.Open("/"), e.Open("/")
	turn, untouched := e.Prompt(s, "go"), e.Prompt(other, "go")
	a, b := e.Next(), e.Next()
	if a.Get("sessionId").Str != s {
		a, b = b, a
	}
	e.Cancel(s)
	<-a.Withdrawn
	turn.Ends(acp.StopReasonCancelled)
	require.True(t, strings.HasSuffix(e.Said(s), "I have no answers."), e.Said(s))
	b.Cancels()
	untouched.Ends(acp.StopReasonCancelled)
}

// A prompt while a question is open takes its place.
func TestPromptSupersedes(t *testing.T) {
	e := join(t, `{"elicitation":{"form":{}}}`)
	s := e.Open("/")
	first := e.Prompt(s, "go")
	open := e.Next()
	second := e.Prompt(s, "something else")
	<-open.Withdrawn
	first.Ends(acp.StopReasonCancelled)
	e.Next().Answer <- json.RawMessage(`{"action":"decline"}`)
	second.Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "I have no answers: User declined to answer.")
}

// The end of the client ends a question that waits in the conversation.
func TestLeaveWhileParked(t *testing.T) {
	e := join(t, `{}`)
	s := e.Open("/")
	turn := e.Prompt(s, "go")
	e.Next().Selects("__other__")
	turn.Ends(acp.StopReasonEndTurn)
	e.Cancel(s)
	e.Prompt(s, "go") // a new turn, no answer
	require.Equal(t, "Database (1 of 3): Which database should we use?", e.Next().Get("toolCall.title").Str)
}

func TestRefusals(t *testing.T) {
	e := join(t, `{}`)
	for method, params := range map[string]string{
		"session/prompt":   `{"sessionId":"nobody","prompt":[]}`,
		"session/load":     `{}`,
		"session/set_mode": `{}`,
	} {
		require.ErrorAs(t, acptest.Err(e.Try(method, params)), new(*acp.RequestError), method)
	}
}
