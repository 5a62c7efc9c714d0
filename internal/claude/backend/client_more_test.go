package backend_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// play joins a client that behaves like a row to an agent that asks a question
// in its first turn.
func (r row) play(t *testing.T, questions ...map[string]any) (*client, *ct.CLI) {
	cli := ct.New(t, turns(
		steps{ct.Message(ct.Question("toolu_1", questions...)), ct.Text("Noted.")},
		steps{ct.Message(ct.Question("toolu_2", questions...)), ct.Text("Next.")},
	))
	return r.connect(t, cli, scenario{}), cli
}

// agent-shell's session/cancel may come when the prompt has ended already: it
// must not hit the next one.
func TestSessionCancelBehindTheEndedTurn(t *testing.T) {
	c, cli := row{info: "agent-shell"}.play(t, which)
	first := c.e.Prompt(c.session, "hi")
	dismissed(c, c.e.Asked("Which database?"))
	first.Ends(acp.StopReasonCancelled)
	c.e.Cancel(c.session)
	second := c.e.Prompt(c.session, "again")
	r := c.e.Asked("Which database?")
	c.clock.advance(byHand)
	r.Selects("SQLite")
	second.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_2"))
}

// DeepChat answers cancelled after a minute: where it was told to ask by
// buttons, that dismisses the question.
func TestDeepChatGivesUpAfterAMinute(t *testing.T) {
	c, cli := row{info: "DeepChat", opts: permission}.play(t, which)
	turn := c.e.Prompt(c.session, "hi")
	r := c.e.Asked("Which database?")
	c.clock.advance(time.Minute)
	r.Cancels()
	turn.Ends(acp.StopReasonCancelled)
	require.Contains(t, string(cli.Reply("toolu_1")), "User cancelled the question")
}

// What did not work is not tried again in the session, and is in another one.
func TestRungsThatFailAreRemembered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row   row
		first []string // methods before the answer, in the first turn
		then  []string // in the second
	}{
		"forms":              {row{caps: `{"elicitation":{"form":{}}}`}, []string{"elicitation/create", "session/request_permission"}, []string{"session/request_permission"}},
		"permission":         {row{}, []string{"session/request_permission", "message"}, []string{"message"}},
		"an automatic reply": {row{info: "agent-shell"}, []string{"session/request_permission", "message"}, []string{"message"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, cli := test.row.play(t, which)
			turn := func(prompt string, want []string) {
				t.Helper()
				running := c.e.Prompt(c.session, prompt)
				for i, method := range want {
					if method == "message" {
						running.Ends(acp.StopReasonEndTurn)
						running = c.e.Prompt(c.session, "2")
						continue
					}
					r := c.e.Next()
					require.Equal(t, method, r.Method)
					switch {
					case i == len(want)-1:
						r.Selects("SQLite")
					case name == "an automatic reply":
						r.Selects("PostgreSQL")
					default:
						r.Answer <- acp.NewMethodNotFound(method)
					}
				}
				running.Ends(acp.StopReasonEndTurn)
			}
			turn("hi", test.first)
			turn("again", test.then)
			require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
			require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_2"))
			require.Empty(t, c.e.Requests)
			c.session = c.e.Open(t.TempDir())
			turn("hi", test.first)
		})
	}
}

// Whatever comes back for a form, and when: the right thing happens.
func TestFormReplies(t *testing.T) {
	t.Parallel()
	accept := func(content object) any { return object{"action": "accept", "content": content} }
	for name, test := range map[string]struct {
		reply any
		want  string // in the CLI's reply; empty if it goes to the next rung
		stop  acp.StopReason
	}{
		"picks in any order":       {accept(object{"question_0": "SQLite", "question_1": []string{"Logs", "Auth", "Logs"}}), `"answers":{"Which database?":"SQLite","Which features?":"Auth, Logs"}`, acp.StopReasonEndTurn},
		"a pick and a text":        {accept(object{"question_0": "SQLite", "question_0_custom": " in a file "}), `"annotations":{"Which database?":{"notes":"in a file"}}`, acp.StopReasonEndTurn},
		"picks and a text":         {accept(object{"question_1": []string{"Logs"}, "question_1_custom": "Metrics"}), `"answers":{"Which features?":"Logs, Metrics"}`, acp.StopReasonEndTurn},
		"a text alone":             {accept(object{"question_0_custom": "Redis"}), `"answers":{"Which database?":"Redis"}`, acp.StopReasonEndTurn},
		"nothing":                  {accept(object{}), `"message":"User declined to answer"`, acp.StopReasonEndTurn},
		"no content":               {object{"action": "accept"}, `"message":"User declined to answer"`, acp.StopReasonEndTurn},
		"decline":                  {object{"action": "decline"}, `"message":"User declined to answer"`, acp.StopReasonEndTurn},
		"cancel":                   {object{"action": "cancel"}, `"interrupt":true`, acp.StopReasonCancelled},
		"an unknown action":        {object{"action": "later"}, "", ""},
		"no action":                {object{}, "", ""},
		"null":                     {nil, "", ""},
		"an option never offered":  {accept(object{"question_0": "Oracle"}), "", ""},
		"two options for one":      {accept(object{"question_0": []string{"SQLite", "PostgreSQL"}}), "", ""},
		"a number":                 {accept(object{"question_0": 1}), "", ""},
		"an unknown method":        {acp.NewMethodNotFound("elicitation/create"), "", ""},
		"an error of the client's": {acp.NewInternalError(nil), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, cli := row{caps: `{"elicitation":{"form":{}}}`}.play(t, which, many)
			turn := c.e.Prompt(c.session, "hi")
			c.e.Asked("requestedSchema").Answer <- test.reply
			if test.want != "" {
				turn.Ends(test.stop)
				require.Contains(t, string(cli.AwaitReply("toolu_1")), test.want)
				require.Empty(t, c.e.Requests)
				return
			}
			r := c.e.Asked("Which database?")
			require.Equal(t, "session/request_permission", r.Method)
			r.Selects("SQLite")
			c.e.Asked("Which features?").Types("none")
			turn.Ends(acp.StopReasonEndTurn)
			require.JSONEq(t, `{"Which database?":"SQLite","Which features?":"none"}`, answers(cli, "toolu_1"))
			require.Equal(t, "x", c.e.Tool(c.session, "toolu_1")["drawn"])
		})
	}
}

// A client that never answers a form: the user stops the turn, or goes on
// typing.
func TestFormThatIsNeverAnswered(t *testing.T) {
	for name, end := range map[string]func(*client) *acptest.Turn{
		"session/cancel": func(c *client) *acptest.Turn { c.e.Cancel(c.session); return nil },
		"a new prompt":   func(c *client) *acptest.Turn { return c.e.Prompt(c.session, "something else") },
	} {
		t.Run(name, func(t *testing.T) {
			c, cli := row{caps: `{"elicitation":{"form":{}}}`}.play(t, which)
			turn := c.e.Prompt(c.session, "hi")
			r := c.e.Asked("requestedSchema")
			next := end(c)
			turn.Ends(acp.StopReasonCancelled)
			<-r.Withdrawn
			require.Equal(t, "failed", c.e.Tool(c.session, "toolu_1")["status"])
			require.NotContains(t, string(cli.Reply("toolu_1")), `"allow"`)
			if next == nil {
				next = c.e.Prompt(c.session, "again")
			}
			c.e.Asked("requestedSchema").Answer <- object{"action": "accept", "content": object{"question_0": "SQLite"}}
			next.Ends(acp.StopReasonEndTurn)
			require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_2"))
		})
	}
}

// The log tells how questions are asked, why, and why another way was taken.
func TestLogTellsTheRung(t *testing.T) {
	for name, test := range map[string]struct {
		row  row
		want []string
	}{
		"by capability": {row{caps: `{"elicitation":{"form":{}}}`}, []string{`first=form why="its capabilities"`, `rung=form why="the client refused the form: Method not found`, `question=1 rung=permission`, `rung=permission why="the client refused the request`, `question=1 rung=message`}},
		"by the table":  {row{info: "CodeCompanion.nvim"}, []string{`first=message why="the table of clients: shows neither`, `question=1 rung=message`}},
		"by the flag":   {row{info: "zed", opts: backend.Options{First: adapter.Conversation}}, []string{`first=message why=--ask`}},
		"guard":         {row{info: "agent-shell", replies: always(0, time.Millisecond)}, []string{`first=permission`, `guard=true`, `rung=permission why="the reply came faster than a person`}},
	} {
		t.Run(name, func(t *testing.T) {
			var log syncBuffer
			test.row.opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c, _ := test.row.play(t, which)
			turn := c.e.Prompt(c.session, "hi")
			for waits := true; waits; {
				select {
				case r := <-c.e.Requests:
					if test.row.replies != nil {
						test.row.replies(c, r)
					} else {
						refuses(c, r)
					}
				case <-turn.Done:
					waits = false
				}
			}
			c.e.Prompt(c.session, "2").Ends(acp.StopReasonEndTurn)
			for _, want := range test.want {
				require.Contains(t, log.String(), want)
			}
		})
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
