package backend_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	asklife "github.com/acp-bridge/acp-bridge/internal/life"
)

const reopened = "01234567-89ab-4def-8123-456789abcdef"

// saved is a session that the stand-in can resume, of which the CLI wrote this.
type saved struct {
	t         *testing.T
	home, dir string
	cli       *ct.CLI
}

func save(t *testing.T, script ct.Script, lines ...string) *saved {
	s := &saved{t: t, home: t.TempDir(), dir: t.TempDir(), cli: ct.New(t, script)}
	folder := transcript.Dir(filepath.Join(s.home, ".claude"), s.dir)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, reopened+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return s
}

func (s *saved) options() backend.Options {
	return backend.Options{Claude: s.cli.Path, Env: append(os.Environ(), "HOME="+s.home, "CLAUDE_CONFIG_DIR=", "XDG_STATE_HOME="+s.home)}
}

// reopen opens the session in a new process and returns the response.
func (s *saved) reopen(o backend.Options, method, caps string) (*editor, gjson.Result) {
	e := serve(s.t, o)
	e.initialize(caps)
	return e, e.call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, s.dir))
}

// waits waits for the end of what was asked again.
func (e *editor) waits() string {
	return e.call(backend.WaitMethod, `{"sessionId":"`+reopened+`"}`).Get("stopReason").Str
}

const askLine = `{"parentUuid":"u1","type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"AskUserQuestion","input":{"questions":[` +
	`{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":"a"},{"label":"SQLite","description":"b"}]},` +
	`{"question":"Which parts?","header":"Parts","multiSelect":true,"options":[{"label":"Auth","description":"a"},{"label":"Logs","description":"b"}]}]}}]},"uuid":"a1"}`

const (
	promptLine   = `{"parentUuid":null,"type":"user","message":{"role":"user","content":"ask"},"uuid":"u1"}`
	rejectedLine = `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no"}]},"toolUseResult":"User rejected tool use","toolDenialKind":"user-rejected","uuid":"t1"}`
	lostLine     = `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no"}]},"toolDenialKind":"interrupted","uuid":"t1"}`
)

const withForms = `{"elicitation":{"form":{}}}`

// A question that was open when everything was killed is asked again, from its
// first question, and the answers go to the CLI as a prompt that says what was
// asked.
func TestOpenQuestionIsAskedAgain(t *testing.T) {
	for _, lines := range [][]string{{promptLine, askLine}, {promptLine, askLine, lostLine}} {
		for _, method := range []string{acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume} {
			s := save(t, turns(steps{ct.Text("Then SQLite.")}), lines...)
			e, reply := s.reopen(s.options(), method, `{}`)
			require.Equal(t, "toolu_1", reply.Get("_meta.acp-bridge.waitingFor").Str)
			e.asked("Which database?").selects("SQLite")
			e.next().reply(map[string]any{"outcome": "selected", "optionId": "Auth", "_meta": map[string]any{"selectedOptionIds": []string{"Auth", "Logs"}}})
			require.Equal(t, "end_turn", e.waits())
			prompts := s.cli.Prompts()
			require.Len(t, prompts, 1)
			require.Contains(t, prompts[0], "- Which database?\n  SQLite\n- Which parts?\n  Auth, Logs\n")
			require.Contains(t, e.said(reopened), "asked again")
			require.Contains(t, e.said(reopened), "Then SQLite.")
			require.Contains(t, e.text(reopened, "user_message_chunk"), "Which database?", "the editor sees what the agent is told")
			e.leave()
		}
	}
}

func TestOpenQuestionIsAskedAgainAsAForm(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, askLine)
	e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, withForms)
	r := e.next()
	require.Equal(t, acp.ClientMethodElicitationCreate, r.method)
	r.answer <- map[string]any{"action": "accept", "content": map[string]any{"question_0": "SQLite", "question_1": []string{"Logs"}}}
	e.waits()
	require.Contains(t, s.cli.Prompts()[0], "- Which database?\n  SQLite\n- Which parts?\n  Logs\n")
}

// In the conversation the user's next messages are the answers.
func TestOpenQuestionIsAskedAgainAsAMessage(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, askLine)
	o := s.options()
	o.First = adapter.Conversation
	e, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	e.await(reopened, "the question", func(u gjson.Result) bool { return strings.Contains(u.Get("content.text").Str, "Which database?") })
	e.prompt(reopened, "2").ends(acp.StopReasonEndTurn)
	e.prompt(reopened, "1,2").ends(acp.StopReasonEndTurn)
	e.waits()
	require.Len(t, s.cli.Prompts(), 1)
	require.Contains(t, s.cli.Prompts()[0], "- Which database?\n  SQLite\n- Which parts?\n  Auth, Logs\n")
}

// What the user dismissed is not asked again, when it was asked first or when it
// was asked again.
func TestDismissedQuestionIsNotAskedAgain(t *testing.T) {
	s := save(t, ct.Script{}, promptLine, askLine)
	e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	e.asked("Which database?").cancels()
	require.Equal(t, "cancelled", e.waits())
	e.leave()
	e, reply := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	require.False(t, reply.Get("_meta.acp-bridge").Exists())
	require.Equal(t, "end_turn", e.waits())
	require.Empty(t, s.cli.Prompts())
	e.leave()

	s = save(t, ct.Script{}, promptLine, askLine, rejectedLine)
	_, reply = s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	require.False(t, reply.Get("_meta.acp-bridge").Exists())
}

// Whoever was to ask was killed: the CLI refused the call by itself, and the agent went on
// before it was ended. What was noted while it was open says that nobody answered it.
func TestQuestionOfAKilledBridgeIsAskedAgain(t *testing.T) {
	const (
		refused = `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"the stream is closed"}]},"toolUseResult":"Error: the stream is closed","toolDenialKind":"permission-rule","uuid":"t1"}`
		goesOn  = `{"parentUuid":"t1","type":"assistant","message":{"id":"msg_2","model":"m","content":[{"type":"text","text":"I go on."}]},"uuid":"a2"}`
	)
	s := save(t, turns(steps{ct.Message(ct.Question("toolu_1", question("Which database?", "DB", false, "PostgreSQL", "SQLite"))), ct.Text("Noted.")}), promptLine)
	e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	turn := e.prompt(reopened, "go")
	r := e.asked("Which database?")
	notes := filepath.Join(s.home, "acp-bridge", "reask")
	var path string
	var note []byte
	require.Eventually(t, func() bool {
		if open, _ := os.ReadDir(notes); len(open) == 1 {
			path = filepath.Join(notes, open[0].Name())
			note, _ = os.ReadFile(path)
		}
		return len(note) > 0
	}, patience, 10*time.Millisecond)
	r.selects("SQLite")
	turn.ends(acp.StopReasonEndTurn)
	require.NoFileExists(t, path, "it has its answer")
	e.leave()

	killed := save(t, turns(steps{ct.Text("Then SQLite.")}), promptLine, askLine, refused, goesOn)
	_, reply := killed.reopen(killed.options(), acp.AgentMethodSessionLoad, `{}`)
	require.False(t, reply.Get("_meta.acp-bridge").Exists(), "somebody else refused it")
	path = filepath.Join(killed.home, "acp-bridge", "reask", filepath.Base(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, note, 0o600))
	e, reply = killed.reopen(killed.options(), acp.AgentMethodSessionLoad, `{}`)
	require.Equal(t, "toolu_1", reply.Get("_meta.acp-bridge.waitingFor").Str)
	e.asked("Which database?").selects("SQLite")
	e.next().reply(map[string]any{"outcome": "selected", "optionId": "Auth", "_meta": map[string]any{"selectedOptionIds": []string{"Auth"}}})
	require.Equal(t, "end_turn", e.waits())
	require.Contains(t, killed.cli.Prompts()[0], "Which database?\n  SQLite")
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotEqual(t, note, now, "it is open no more")
}

// One that nobody answers this time either is asked again the next time.
func TestQuestionAskedAgainIsLeftOpen(t *testing.T) {
	s := save(t, ct.Script{}, promptLine, askLine)
	for range 2 {
		e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
		e.asked("Which database?")
		e.leave()
	}
	require.Empty(t, s.cli.Prompts())
}

// Closing a session says no to nothing: what was open is asked again when it is
// opened again, in the same process or in another. So does opening it anew.
func TestQuestionOfAClosedSession(t *testing.T) {
	for _, closes := range []bool{true, false} {
		s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, askLine)
		e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
		r := e.asked("Which database?")
		if closes {
			e.call(acp.AgentMethodSessionClose, `{"sessionId":"`+reopened+`"}`)
			<-r.withdrawn
		}
		reply := e.call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, s.dir))
		require.Equal(t, "toolu_1", reply.Get("_meta.acp-bridge.waitingFor").Str)
		e.asked("Which database?")
		e.leave()
		require.Empty(t, s.cli.Prompts())
	}
}

// A prompt takes the place of a question that is asked again.
func TestPromptInPlaceOfAQuestionAskedAgain(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Something else.")}), promptLine, askLine)
	e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	r := e.asked("Which database?")
	e.prompt(reopened, "something else").ends(acp.StopReasonEndTurn)
	<-r.withdrawn
	e.waits()
	require.Equal(t, []string{"something else"}, s.cli.Prompts())
}

// An answer that was given elsewhere meanwhile is taken without asking.
func TestAnsweredMeanwhile(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, askLine)
	o := s.options()
	taken := make(chan error, 1)
	o.Meanwhile = func(_ context.Context, c convert.Call) backend.Settled {
		require.Equal(t, "toolu_1", c.ID)
		require.Equal(t, reopened, c.Session)
		return byPhone{[]convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all", Note: "soon"}}, taken}
	}
	e, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	require.Equal(t, "end_turn", e.waits())
	require.Contains(t, s.cli.Prompts()[0], "- Which database?\n  SQLite\n- Which parts?\n  all")
	require.Contains(t, e.said(reopened), "answered by phone while the session was closed")
	require.Empty(t, e.requests)
	require.NoError(t, <-taken)
}

// An answer that the model did not get is still there for whoever loads the session
// next: the session is closed while another question is open, or the CLI dies.
func TestAnsweredMeanwhileAndNotHeard(t *testing.T) {
	second := strings.NewReplacer("toolu_1", "toolu_2", "Which database?", "Which cloud?", `"u1"`, `"a1"`, `"a1"`, `"a2"`).Replace(askLine)
	for name, lines := range map[string][]string{
		"the session is closed": {promptLine, askLine, second},
		"the CLI dies":          {promptLine, askLine},
	} {
		t.Run(name, func(t *testing.T) {
			script := turns(steps{ct.Die(1)})
			script.Old = true // it does not say what the model has seen
			s := save(t, script, lines...)
			o := s.options()
			taken := make(chan error, 1)
			o.Meanwhile = func(_ context.Context, c convert.Call) backend.Settled {
				if c.ID != "toolu_1" {
					return nil
				}
				return byPhone{[]convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all"}}, taken}
			}
			var used atomic.Bool
			o.Desk = new(desk.Desk)
			o.Desk.WatchReceipts(func(desk.Ref, error) { used.Store(true) })
			e, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
			if len(lines) > 2 {
				e.asked("Which cloud?")
				e.call(acp.AgentMethodSessionClose, `{"sessionId":"`+reopened+`"}`)
			}
			require.Error(t, <-taken)
			require.False(t, used.Load())
			e.leave()
			o.Meanwhile = nil
			e, _ = s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
			e.asked("Which database?")
		})
	}
}

// Two processes load a session at once, of which a question was answered meanwhile. One
// of them gives the answer to the agent. The other, and one that has read the transcript
// before that is in there, learns that, and does not ask again.
func TestAnsweredMeanwhileForOne(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, askLine)
	o := s.options()
	taken, hold := make(chan error, 2), make(chan struct{})
	o.Meanwhile = func(context.Context, convert.Call) backend.Settled {
		return heldBack{byPhone{[]convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all"}}, taken}, hold}
	}
	one, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	one.await(reopened, "the answer", func(u gjson.Result) bool {
		return strings.Contains(u.Get("content.text").Str, "while the session was closed")
	})
	const learns = "Another acp-bridge that has this session open gives it to the agent"
	two, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	require.Equal(t, "end_turn", two.waits())
	require.Contains(t, two.said(reopened), learns)
	require.Empty(t, s.cli.Prompts())
	close(hold)
	require.Equal(t, "end_turn", one.waits())
	s.noted(time.Now().Add(time.Hour))
	for _, stillThere := range []bool{true, false} { // the hub may not know yet
		if !stillThere {
			o.Meanwhile = nil
		}
		three, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
		require.Equal(t, "end_turn", three.waits())
		require.Contains(t, three.said(reopened), learns)
		require.Empty(t, three.requests)
	}
	require.Len(t, s.cli.Prompts(), 1)
	require.NoError(t, <-taken)
	require.Empty(t, taken)
	s.noted(time.Now().Add(-time.Hour))
	four, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	four.asked("Which database?") // the transcript would have it by now
}

// The same on two machines: the hub says that another one gives the answer to the agent.
// What was asked again here is given all the same.
func TestAnsweredMeanwhileForAnotherMachine(t *testing.T) {
	const second = `,{"type":"tool_use","id":"toolu_2","name":"AskUserQuestion","input":{"questions":[{"question":"Which colour?","header":"C","options":[{"label":"Red"},{"label":"Blue"}]}]}}`
	for _, both := range []bool{false, true} {
		line := askLine
		if both {
			line = strings.Replace(line, `]},"uuid":"a1"`, second+`]},"uuid":"a1"`, 1)
		}
		s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, line)
		o := s.options()
		o.Meanwhile = func(_ context.Context, c convert.Call) backend.Settled {
			if c.ID == "toolu_2" {
				return nil
			}
			return takenThere{byPhone{[]convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all"}}, nil}}
		}
		e, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
		if both {
			e.asked("Which colour?").selects("Blue")
		}
		require.Equal(t, "end_turn", e.waits())
		require.Contains(t, e.said(reopened), "Another acp-bridge that has this session open gives it to the agent: Which database?")
		prompts := strings.Join(s.cli.Prompts(), "\n")
		require.Equal(t, both, strings.Contains(prompts, "Blue"))
		require.NotContains(t, prompts, "SQLite")
		require.Empty(t, e.requests)
	}
}

// takenThere is handed over by another process.
type takenThere struct{ byPhone }

func (takenThere) Deliver(func() error) error { return asklife.ErrTaken }

// An editor opens a session anew while an answer that was given meanwhile is on its way
// to the agent. It is not lost, nor told as that of another process.
func TestAnsweredMeanwhileAndLoadedAgain(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, askLine)
	o := s.options()
	taken, hold := make(chan error, 2), make(chan struct{})
	o.Meanwhile = func(context.Context, convert.Call) backend.Settled {
		return heldBack{byPhone{[]convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all"}}, taken}, hold}
	}
	e, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	e.await(reopened, "the answer", func(u gjson.Result) bool {
		return strings.Contains(u.Get("content.text").Str, "while the session was closed")
	})
	e.call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, s.dir))
	close(hold)
	require.Equal(t, "end_turn", e.waits())
	require.Error(t, <-taken)
	require.NoError(t, <-taken)
	require.NotContains(t, e.said(reopened), "Another acp-bridge")
	require.Len(t, s.cli.Prompts(), 1)
}

// noted says when all that is noted was noted.
func (s *saved) noted(at time.Time) {
	notes, err := filepath.Glob(filepath.Join(s.home, "acp-bridge", "reask", "*"))
	require.NoError(s.t, err)
	require.NotEmpty(s.t, notes)
	for _, path := range notes {
		require.NoError(s.t, os.Chtimes(path, at, at))
	}
}

// heldBack is handed over when it is let go.
type heldBack struct {
	byPhone
	hold <-chan struct{}
}

func (h heldBack) Deliver(use func() error) error {
	<-h.hold
	return h.byPhone.Deliver(use)
}

// Of two questions that were left open the first is answered elsewhere. The model does
// not have that before the second is answered, whatever else it is told meanwhile.
func TestUsedOnceTheModelHasIt(t *testing.T) {
	second := strings.NewReplacer("toolu_1", "toolu_2", "Which database?", "Which cloud?", `"u1"`, `"a1"`, `"a1"`, `"a2"`).Replace(askLine)
	s := save(t, turns(steps{ct.Text("Then so.")}), promptLine, askLine, second)
	o := s.options()
	o.Desk = new(desk.Desk)
	used, settled := make(chan string, 10), make(chan string, 10)
	o.Desk.WatchReceipts(func(r desk.Ref, _ error) { used <- r.Session + " " + r.ID })
	o.Desk.Watch(func(e desk.Entry) {
		if e.State == desk.Settled {
			settled <- e.Call.ID
		}
	})
	e, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	e.asked("Which database?")
	require.NoError(t, o.Desk.Answer(desk.Ref{Session: reopened, ID: "toolu_1"}, []convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all"}}, "phone"))
	require.Equal(t, "toolu_1", <-settled)
	cloud := e.asked("Which cloud?")
	require.Empty(t, used)
	cloud.selects("SQLite")
	e.asked("Which parts?").types("all")
	require.Equal(t, "end_turn", e.waits())
	require.ElementsMatch(t, []string{reopened + " toolu_1", reopened + " toolu_2"}, []string{<-used, <-used})
	require.Empty(t, used)
}

// byPhone is a question that was answered elsewhere, and says when it was taken.
type byPhone struct {
	answers []convert.Answer
	taken   chan<- error
}

func (b byPhone) By() string { return "phone" }
func (b byPhone) Wait() (convert.Outcome, error) {
	return convert.Outcome{Status: convert.Answered, Answers: b.answers}, nil
}
func (b byPhone) Deliver(use func() error) error {
	err := use()
	b.taken <- err
	return err
}

// The real CLI, with a question that is open at each of these ends.
func TestRealOpenQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"the editor leaves", "the CLI is killed", "acp-bridge is stopped"} {
		home, dir := t.TempDir(), t.TempDir()
		path, api := realClaude(t), apitest.New(t)
		ask := asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))
		api.Script(apitest.Say("Hello."), apitest.Use(ask), apitest.Say("SQLite it is."))
		o := backend.Options{Claude: path, Env: append(apitest.Env(api, home), "XDG_STATE_HOME="+home)}
		ctx, stop := contextWithCancel(t)
		e := serveWith(t, o, func(_ context.Context, r io.Reader, w io.Writer, o backend.Options) error {
			return backend.Serve(ctx, r, w, o)
		})
		e.initialize(`{}`)
		s := e.open(dir)
		e.prompt(s, "first").ends(acp.StopReasonEndTurn)
		turn := e.prompt(s, "second")
		e.asked("Which database?")
		switch end {
		case "the CLI is killed":
			awaitLine(t, home, s, dir, "toolu_1")
			killClaude(t, s)
			turn.failed()
		case "acp-bridge is stopped":
			stop()
		}
		e.leave()

		e = serve(t, o)
		e.initialize(`{}`)
		e.call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
		e.asked("Which database?").selects("SQLite")
		require.Equal(t, "end_turn", e.call(backend.WaitMethod, `{"sessionId":"`+s+`"}`).Get("stopReason").Str)
		require.Contains(t, e.said(s), "SQLite it is.")
		all := api.Main()
		require.Contains(t, string(all[len(all)-1].Body), `- Which database?\n  SQLite`)
		e.leave()

		// It is answered: nothing is asked any more.
		e = serve(t, o)
		e.initialize(`{}`)
		reply := e.call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
		require.False(t, reply.Get("_meta.acp-bridge").Exists())
		e.leave()
	}
}

// The real CLI: a question that the user dismissed is not asked again.
func TestRealDismissedQuestionIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	path, api := realClaude(t), apitest.New(t)
	api.Script(apitest.Say("Hello."), apitest.Use(asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))))
	o := backend.Options{Claude: path, Env: append(apitest.Env(api, home), "XDG_STATE_HOME="+home)}
	e := serve(t, o)
	e.initialize(`{}`)
	s := e.open(dir)
	e.prompt(s, "first").ends(acp.StopReasonEndTurn)
	turn := e.prompt(s, "second")
	e.asked("Which database?").cancels()
	turn.ends(acp.StopReasonCancelled)
	e.leave()
	e = serve(t, o)
	e.initialize(`{}`)
	reply := e.call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
	require.False(t, reply.Get("_meta.acp-bridge").Exists())
	e.leave()
}

// awaitLine waits until the CLI has written something into its transcript, which
// it does some time after it has happened.
func awaitLine(t *testing.T, home, session, dir, what string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		if path, err := transcript.Find(filepath.Join(home, ".claude"), session, dir); err == nil {
			if data, _ := os.ReadFile(path); strings.Contains(string(data), what) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-end:
			require.Fail(t, "the transcript does not have it", what)
		}
	}
}
