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
