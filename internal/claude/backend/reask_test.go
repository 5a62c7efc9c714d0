package backend_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	require.NoError(t, o.Desk.Answer(o.Desk.List()[0].Name, []convert.Answer{{Selected: []string{"SQLite"}}, {Text: "all"}}, "phone"))
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
		if open, _ := os.ReadDir(notes); len(open) == 1 && filepath.Ext(open[0].Name()) == "" { // not one that is being written
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
	require.Contains(t, reply.Get("_meta.acp-bridge.waitingFor").Str, "toolu_1-", "the CLI says so")
	e.Leave()

	killed := save(t, turns(steps{ct.Text("Then SQLite.")}), promptLine, askLine, refused, goesOn)
	_, reply = killed.reopen(killed.options(), acp.AgentMethodSessionLoad, `{}`)
	require.False(t, reply.Get("_meta.acp-bridge").Exists(), "somebody else refused it")
	path = filepath.Join(killed.home, "acp-bridge", "reask", filepath.Base(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, note, 0o600))
	e, reply = killed.reopen(killed.options(), acp.AgentMethodSessionLoad, `{}`)
	require.Contains(t, reply.Get("_meta.acp-bridge.waitingFor").Str, "toolu_1-", "as it is shown now")
	e.Asked("Which database?").Selects("SQLite")
	e.Next().Reply(map[string]any{"outcome": "selected", "optionId": "Auth", "_meta": map[string]any{"selectedOptionIds": []string{"Auth"}}})
	require.Equal(t, "end_turn", e.waits())
	require.Equal(t, "completed", e.Tool(reopened, reply.Get("_meta.acp-bridge.waitingFor").Str)["status"])
	require.Equal(t, "failed", e.Tool(reopened, "toolu_1")["status"], "as it ended then")
	require.Contains(t, killed.cli.Prompts()[0], "Which database?\n  SQLite")
	require.NotEqual(t, note, acptest.Must(os.ReadFile(path)), "it is open no more")
}

// Our own client has a question at its hub by the id of its call: there it is the same.
func TestAskedAgainInChat(t *testing.T) {
	s := save(t, turns(steps{ct.Text("Noted.")}), promptLine, askLine)
	e, _ := s.reopenAs("acp-bridge-chat", s.options(), acp.AgentMethodSessionLoad, `{}`)
	require.Equal(t, "toolu_1", e.Asked("Which database?").Get("toolCall.toolCallId").Str)
}

// noted says when all that is noted was noted.
func (s *saved) noted(at time.Time) {
	notes := acptest.Must(filepath.Glob(filepath.Join(s.home, "acp-bridge", "reask", "*")))
	require.NotEmpty(s.t, notes)
	for _, path := range notes {
		require.NoError(s.t, os.Chtimes(path, at, at))
	}
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
