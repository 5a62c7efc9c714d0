package backend_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
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
	return s.reopenAs("", o, method, caps)
}

// load is reopen by a client that can do little.
func (s *saved) load(o backend.Options) *editor {
	e, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	return e
}

// reopenAs is reopen in a client of the table.
func (s *saved) reopenAs(name string, o backend.Options, method, caps string) (*editor, gjson.Result) {
	e := serve(s.t, o)
	e.initializeAs(name, caps)
	return e, e.Call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, s.dir))
}

// waits waits for the end of what was asked again.
func (e *editor) waits() string {
	return e.Call(backend.WaitMethod, `{"sessionId":"`+reopened+`"}`).Get("stopReason").Str
}

const askLine = `{"parentUuid":"u1","type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"AskUserQuestion","input":{"questions":[` +
	`{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":"a"},{"label":"SQLite","description":"b"}]},` +
	`{"question":"Which parts?","header":"Parts","multiSelect":true,"options":[{"label":"Auth","description":"a"},{"label":"Logs","description":"b"}]}]}}]},"uuid":"a1"}`

const (
	promptLine   = `{"parentUuid":null,"type":"user","message":{"role":"user","content":"ask"},"uuid":"u1"}`
	rejectedLine = `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no"}]},"toolUseResult":"User rejected tool use","toolDenialKind":"user-rejected","uuid":"t1"}`
	lostLine     = `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no"}]},"toolDenialKind":"interrupted","uuid":"t1"}`
)

// secondLine asks another question behind the first.
var secondLine = strings.NewReplacer("toolu_1", "toolu_2", "Which database?", "Which cloud?", `"u1"`, `"a1"`, `"a1"`, `"a2"`).Replace(askLine)

// askBoth asks a second question beside the first.
var askBoth = strings.Replace(askLine, `]},"uuid":"a1"`, `,{"type":"tool_use","id":"toolu_2","name":"AskUserQuestion","input":{"questions":[{"question":"Which colour?","header":"C","options":[{"label":"Red"},{"label":"Blue"}]}]}}]},"uuid":"a1"`, 1)

const withForms = `{"elicitation":{"form":{}}}`

// It is answered elsewhere: what the agent then asks is asked in the next prompt, with all
// that is to be read before it.
func TestPermissionBetweenPrompts(t *testing.T) {
	plan := ct.AskTool("toolu_2", "ExitPlanMode", object{"plan": "# A plan"}, "", nil)
	s := save(t, turns(steps{ct.Message(plan), ct.Text("Done.")}, steps{ct.Text("Next.")}), promptLine, askLine)
	o := s.options()
	o.Desk = new(desk.Desk)
	asked := make(chan struct{}, 10)
	o.Desk.Watch(func(e desk.Entry) {
		if e.Kind == desk.Permission && e.State == desk.Asking {
			asked <- struct{}{}
		}
	})
	e, _ := s.reopenAs("CodeCompanion.nvim", o, acp.AgentMethodSessionLoad, `{}`)
	e.saying(reopened, "Which database?")
	require.NoError(t, o.Desk.Answer(desk.Ref{Session: reopened, ID: "toolu_1"}, []convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all"}}, "phone"))
	<-asked
	for _, mode := range []string{"plan", "default"} { // what was to be sent is here by now
		e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+reopened+`","modeId":"`+mode+`"}`)
	}
	require.NotContains(t, e.Said(reopened), "# A plan")
	require.Empty(t, e.Requests)
	turn := e.Prompt(reopened, "hello?")
	r := e.Asked("toolu_2")
	require.Contains(t, e.Said(reopened), "# A plan")
	turn.Runs()
	r.Selects("default")
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(reopened), "Done.")
}

// saying waits until a chunk holds a text.
func (e *editor) saying(session, text string) {
	e.T.Helper()
	e.Await(session, text, func(u gjson.Result) bool { return strings.Contains(u.Get("content.text").Str, text) })
}

// Whoever was to ask was killed: the CLI refused the call by itself, and the agent went on
// before it was ended. What was noted while it was open says that nobody answered it.
func TestQuestionOfAKilledBridgeIsAskedAgain(t *testing.T) {
	const (
		refused = `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"the stream is closed"}]},"toolUseResult":"Error: the stream is closed","toolDenialKind":"permission-rule","uuid":"t1"}`
		goesOn  = `{"parentUuid":"t1","type":"assistant","message":{"id":"msg_2","model":"m","content":[{"type":"text","text":"I go on."}]},"uuid":"a2"}`
	)
	s := save(t, turns(steps{ct.Message(ct.Question("toolu_1", question("Which database?", "DB", false, "PostgreSQL", "SQLite"))), ct.Text("Noted.")}), promptLine)
	e := s.load(s.options())
	turn := e.Prompt(reopened, "go")
	r := e.Asked("Which database?")
	notes := filepath.Join(s.home, "acp-bridge", "reask")
	var path string
	var note []byte
	require.Eventually(t, func() bool {
		if open, _ := os.ReadDir(notes); len(open) == 1 {
			path = filepath.Join(notes, open[0].Name())
			note, _ = os.ReadFile(path)
		}
		return len(note) > 0
	}, acptest.Patience, 10*time.Millisecond)
	r.Selects("SQLite")
	turn.Ends(acp.StopReasonEndTurn)
	require.NoFileExists(t, path, "it has its answer")
	e.Leave()

	says := strings.Replace(refused, `"uuid"`, `"toolDenialUnanswered":"stream-closed","uuid"`, 1)
	told := save(t, turns(), promptLine, askLine, says, goesOn)
	e, reply := told.reopen(told.options(), acp.AgentMethodSessionLoad, `{}`)
	require.Equal(t, "toolu_1", reply.Get("_meta.acp-bridge.waitingFor").Str, "the CLI says so")
	e.Leave()

	killed := save(t, turns(steps{ct.Text("Then SQLite.")}), promptLine, askLine, refused, goesOn)
	_, reply = killed.reopen(killed.options(), acp.AgentMethodSessionLoad, `{}`)
	require.False(t, reply.Get("_meta.acp-bridge").Exists(), "somebody else refused it")
	path = filepath.Join(killed.home, "acp-bridge", "reask", filepath.Base(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, note, 0o600))
	e, reply = killed.reopen(killed.options(), acp.AgentMethodSessionLoad, `{}`)
	require.Equal(t, "toolu_1", reply.Get("_meta.acp-bridge.waitingFor").Str)
	e.Asked("Which database?").Selects("SQLite")
	e.Next().Reply(map[string]any{"outcome": "selected", "optionId": "Auth", "_meta": map[string]any{"selectedOptionIds": []string{"Auth"}}})
	require.Equal(t, "end_turn", e.waits())
	require.Contains(t, killed.cli.Prompts()[0], "Which database?\n  SQLite")
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotEqual(t, note, now, "it is open no more")
}

// An answer that was given elsewhere meanwhile is taken without asking.
func TestAnsweredMeanwhile(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, askLine)
	o := s.options()
	taken := make(chan error, 1)
	o.Meanwhile = byPhone{taken: taken}.meanwhile
	e := s.load(o)
	require.Equal(t, "end_turn", e.waits())
	require.Contains(t, s.cli.Prompts()[0], "- Which database?\n  SQLite\n- Which parts?\n  all")
	require.Contains(t, e.Said(reopened), "answered by phone while the session was closed")
	require.Empty(t, e.Requests)
	require.NoError(t, <-taken)
}

// An answer that the model did not get is still there for whoever loads the session
// next: the session is closed while another question is open, or the CLI dies.
func TestAnsweredMeanwhileAndNotHeard(t *testing.T) {
	for name, lines := range map[string][]string{
		"the session is closed": {promptLine, askLine, secondLine},
		"the CLI dies":          {promptLine, askLine},
	} {
		t.Run(name, func(t *testing.T) {
			script := turns(steps{ct.Die(1)})
			script.Old = true // it does not say what the model has seen
			s := save(t, script, lines...)
			o := s.options()
			taken := make(chan error, 1)
			o.Meanwhile = byPhone{taken: taken}.meanwhile
			var used atomic.Bool
			o.Desk = new(desk.Desk)
			o.Desk.WatchReceipts(func(desk.Ref, error) { used.Store(true) })
			e := s.load(o)
			if len(lines) > 2 {
				e.Asked("Which cloud?")
				e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+reopened+`"}`)
			}
			require.Error(t, <-taken)
			require.False(t, used.Load())
			e.Leave()
			o.Meanwhile = nil
			e = s.load(o)
			e.Asked("Which database?")
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
	o.Meanwhile = byPhone{taken: taken, hold: hold}.meanwhile
	one := s.load(o)
	one.saying(reopened, "while the session was closed")
	const learns = "Another acp-bridge that has this session open gives it to the agent"
	two := s.load(o)
	require.Equal(t, "end_turn", two.waits())
	require.Contains(t, two.Said(reopened), learns)
	require.Empty(t, s.cli.Prompts())
	close(hold)
	require.Equal(t, "end_turn", one.waits())
	s.noted(time.Now().Add(time.Hour))
	for _, stillThere := range []bool{true, false} { // the hub may not know yet
		if !stillThere {
			o.Meanwhile = nil
		}
		three := s.load(o)
		require.Equal(t, "end_turn", three.waits())
		require.Contains(t, three.Said(reopened), learns)
		require.Empty(t, three.Requests)
	}
	require.Len(t, s.cli.Prompts(), 1)
	require.NoError(t, <-taken)
	require.Empty(t, taken)
	s.noted(time.Now().Add(-time.Hour))
	four := s.load(o)
	four.Asked("Which database?") // the transcript would have it by now
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
		o.Meanwhile = byPhone{there: true}.meanwhile
		e := s.load(o)
		if both {
			e.Asked("Which colour?").Selects("Blue")
		}
		require.Equal(t, "end_turn", e.waits())
		require.Contains(t, e.Said(reopened), "Another acp-bridge that has this session open gives it to the agent: Which database?")
		prompts := strings.Join(s.cli.Prompts(), "\n")
		require.Equal(t, both, strings.Contains(prompts, "Blue"))
		require.NotContains(t, prompts, "SQLite")
		require.Empty(t, e.Requests)
	}
}

// An editor opens a session anew while an answer that was given meanwhile is on its way
// to the agent. It is not lost, nor told as that of another process.
func TestAnsweredMeanwhileAndLoadedAgain(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Thanks.")}), promptLine, askLine)
	o := s.options()
	taken, hold := make(chan error, 2), make(chan struct{})
	o.Meanwhile = byPhone{taken: taken, hold: hold}.meanwhile
	e := s.load(o)
	e.saying(reopened, "while the session was closed")
	e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, s.dir))
	close(hold)
	require.Equal(t, "end_turn", e.waits())
	require.Error(t, <-taken)
	require.NoError(t, <-taken)
	require.NotContains(t, e.Said(reopened), "Another acp-bridge")
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

// Of two questions that were left open the first is answered elsewhere. The model does
// not have that before the second is answered, whatever else it is told meanwhile.
func TestUsedOnceTheModelHasIt(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Then so.")}), promptLine, askLine, secondLine)
	o := s.options()
	o.Desk = new(desk.Desk)
	used, settled := make(chan string, 10), make(chan string, 10)
	o.Desk.WatchReceipts(func(r desk.Ref, _ error) { used <- r.Session + " " + r.ID })
	o.Desk.Watch(func(e desk.Entry) {
		if e.State == desk.Settled {
			settled <- e.Call.ID
		}
	})
	e := s.load(o)
	e.Asked("Which database?")
	require.NoError(t, o.Desk.Answer(desk.Ref{Session: reopened, ID: "toolu_1"}, []convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all"}}, "phone"))
	require.Equal(t, "toolu_1", <-settled)
	cloud := e.Asked("Which cloud?")
	require.Empty(t, used)
	cloud.Selects("SQLite")
	e.Asked("Which parts?").Types("all")
	require.Equal(t, "end_turn", e.waits())
	require.ElementsMatch(t, []string{reopened + " toolu_1", reopened + " toolu_2"}, []string{<-used, <-used})
	require.Empty(t, used)
}

// byPhone is the answer to toolu_1 that was given elsewhere.
type byPhone struct {
	taken chan<- error    // says what came of it
	hold  <-chan struct{} // if there, it is handed over once this is closed
	there bool            // another process hands it over
}

func (b byPhone) meanwhile(_ context.Context, c convert.Call) backend.Settled {
	if c.ID != "toolu_1" || c.Session != reopened {
		return nil
	}
	return b
}

func (byPhone) By() string { return "phone" }
func (byPhone) Wait() (convert.Outcome, error) {
	return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all", Note: "soon"}}}, nil
}
func (b byPhone) Deliver(use func() error) error {
	if b.there {
		return asklife.ErrTaken
	}
	if b.hold != nil {
		<-b.hold
	}
	err := use()
	b.taken <- err
	return err
}
