//go:build unix

package backend_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// steering is an editor with the real CLI whose lines a test waits for.
type steering struct {
	*editor
	api  *apitest.Server
	s    string // the session
	dir  string
	mu   sync.Mutex
	cond *sync.Cond
	seen []gjson.Result // lines of the CLI
}

func steer(t *testing.T, client string, replies ...apitest.Reply) *steering {
	t.Helper()
	path := realClaude(t)
	x := &steering{api: apitest.New(t), dir: t.TempDir()}
	x.cond = sync.NewCond(&x.mu)
	x.api.Script(replies...)
	x.editor = serve(t, backend.Options{Claude: path, Env: apitest.Env(x.api, t.TempDir()), Args: []string{"--allowedTools", "Bash"}, Trace: func(wire string, dir ndjson.Direction, text []byte) {
		if wire == "editor" || dir == ndjson.Out {
			return
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.seen = append(x.seen, gjson.Parse(string(text)))
		x.cond.Broadcast()
	}})
	x.initializeAs(client, `{}`)
	x.s = x.Open(x.dir)
	return x
}

// queued waits until the CLI has n prompts, or has had them.
func (x *steering) queued(n int) {
	x.T.Helper()
	x.lines("prompts at the CLI", n, func(m gjson.Result) bool {
		return m.Get("type").Str == "command_lifecycle" && m.Get("state").Str == "queued"
	})
}

func (x *steering) lines(what string, n int, is func(gjson.Result) bool) {
	x.T.Helper()
	late := time.AfterFunc(acptest.Patience, x.cond.Broadcast)
	defer late.Stop()
	end := time.Now().Add(acptest.Patience)
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		found := 0
		for _, m := range x.seen {
			if is(m) {
				found++
			}
		}
		if found >= n {
			return
		}
		if time.Now().After(end) {
			require.Fail(x.T, "never came", what)
		}
		x.cond.Wait()
	}
}

// calls waits for the n-th call of the model.
func (x *steering) calls(n int) apitest.Request {
	x.T.Helper()
	main, err := x.api.Await(x.T.Context(), n)
	require.NoError(x.T, err)
	return main[n-1]
}

// open reports whether a prompt is not answered yet.
func open(t *acptest.Turn) bool {
	select {
	case <-t.Done:
		return false
	default:
		return true
	}
}

// command is a reply that runs a command until free is called.
func (x *steering) command(id string) apitest.Reply {
	return apitest.Use(apitest.ToolUse(id, "Bash", object{"command": "while [ ! -e " + id + " ]; do sleep 0.02; done; echo ready", "description": "wait"}))
}

func (x *steering) free(id string) {
	x.T.Helper()
	require.NoError(x.T, os.WriteFile(filepath.Join(x.dir, id), nil, 0o600))
}

// running waits until the command of a call runs.
func (x *steering) running(id string) {
	x.T.Helper()
	x.Await(x.s, "the command", func(u gjson.Result) bool { return u.Get("toolCallId").Str == id && u.Get("rawInput.command").Exists() })
}

// A prompt sent while a command runs is in the model's next request, and both
// prompts end with the turn.
func TestRealSteer(t *testing.T) {
	t.Parallel()
	x := steer(t, "")
	x.api.Script(x.command("toolu_1"), apitest.Say("as you like"), apitest.Say(" next"))
	first := x.Prompt(x.s, "start")
	x.running("toolu_1")
	second := x.Prompt(x.s, "use STEERING please")
	third := x.Prompt(x.s, "and BRAKES")
	x.queued(3)
	require.True(t, open(first) && open(second) && open(third))
	x.free("toolu_1")
	for _, p := range []*acptest.Turn{first, second, third} {
		p.Ends(acp.StopReasonEndTurn)
	}
	require.True(t, x.calls(2).Contains("STEERING"))
	require.True(t, x.calls(2).Contains("BRAKES"))
	x.Prompt(x.s, "on").Ends(acp.StopReasonEndTurn)
	require.Len(t, x.api.Main(), 3, "no prompt was sent twice")
	require.Equal(t, "as you like next", x.Said(x.s))
}

// A prompt sent while the last text streams is a turn of its own, as are two.
// The first prompt ends with its own turn.
func TestRealSteerTooLate(t *testing.T) {
	t.Parallel()
	hold, holdSecond := make(chan struct{}), make(chan struct{})
	one, two := apitest.Say("one"), apitest.Say(" two")
	one.Hold, two.Hold = hold, holdSecond
	x := steer(t, "", one, two, apitest.Say(" three"))
	first := x.Prompt(x.s, "start")
	x.Await(x.s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "one" })
	second := x.Prompt(x.s, "SECOND")
	third := x.Prompt(x.s, "THIRD")
	x.queued(3)
	close(hold)
	first.Ends(acp.StopReasonEndTurn)
	require.True(t, x.calls(2).Contains("SECOND"))
	require.True(t, open(second) && open(third))
	close(holdSecond)
	second.Ends(acp.StopReasonEndTurn)
	third.Ends(acp.StopReasonEndTurn)
	x.Prompt(x.s, "on").Ends(acp.StopReasonEndTurn)
	require.Len(t, x.api.Main(), 3)
	require.Equal(t, "one two three", x.Said(x.s))
}

// A slash command is one, also when it is typed while a turn runs.
func TestRealSteerCommand(t *testing.T) {
	t.Parallel()
	x := steer(t, "")
	x.api.Script(x.command("toolu_1"), apitest.Say("done"))
	first := x.Prompt(x.s, "start")
	x.running("toolu_1")
	second := x.Prompt(x.s, "/context")
	x.queued(2)
	x.free("toolu_1")
	first.Ends(acp.StopReasonEndTurn)
	second.Ends(acp.StopReasonEndTurn)
	require.Len(t, x.api.Main(), 2)
	require.False(t, x.calls(2).Contains("/context"))
	require.Contains(t, x.Said(x.s), "Context Usage")
}

// session/cancel ends all prompts, wherever they are, and none of them runs.
func TestRealSteerCancel(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"in a command": false, "while the last text streams": true} {
		t.Run(name, func(t *testing.T) {
			x := steer(t, "")
			text := apitest.Say("text")
			text.Hold = make(chan struct{})
			if late {
				x.api.Script(text, apitest.Say(" next"))
			} else {
				x.api.Script(x.command("toolu_1"), apitest.Say("text next"))
			}
			first := x.Prompt(x.s, "start")
			if late {
				x.Await(x.s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "text" })
			} else {
				x.running("toolu_1")
			}
			second := x.Prompt(x.s, "SECOND")
			third := x.Prompt(x.s, "THIRD")
			x.queued(3)
			x.Cancel(x.s)
			for _, p := range []*acptest.Turn{first, second, third} {
				p.Ends(acp.StopReasonCancelled)
			}
			x.Prompt(x.s, "on").Ends(acp.StopReasonEndTurn)
			require.Len(t, x.api.Main(), 2, "what was cancelled did not run")
			require.Equal(t, "text next", x.Said(x.s))
		})
	}
}

// A cancel at any moment ends two prompts, and the next one runs.
func TestRealSteerCancelAtAnyMoment(t *testing.T) {
	t.Parallel()
	x := steer(t, "")
	for i := range 12 {
		id, start := "toolu_"+strconv.Itoa(i), "start "+strconv.Itoa(i)+"."
		x.api.When(func(r apitest.Request) bool { return strings.Contains(r.LastUser().Raw, start) }, x.command(id))
		first := x.Prompt(x.s, start)
		x.running(id)
		second := x.Prompt(x.s, "second")
		x.free(id)
		time.Sleep(time.Duration(i) * 8 * time.Millisecond)
		x.Cancel(x.s)
		for _, p := range []*acptest.Turn{first, second} {
			<-p.Done
			require.NoError(t, p.Err)
		}
	}
	x.Prompt(x.s, "on").Ends(acp.StopReasonEndTurn)
}

// Prompts that wait in the CLI do not run when nobody is there to see it.
func TestRealSteerLeave(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*steering){
		"the editor goes":       func(x *steering) { x.Leave() },
		"the session is closed": func(x *steering) { x.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+x.s+`"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			x := steer(t, "")
			x.api.Script(x.command("toolu_1"), apitest.Say("never"))
			x.Prompt(x.s, "start")
			x.running("toolu_1")
			x.Prompt(x.s, "SECOND")
			x.Prompt(x.s, "THIRD")
			x.queued(3)
			leave(x)
			require.Equal(t, 1, len(x.api.Main()), "what waited did not run")
		})
	}
}

// A CLI that dies with two prompts fails both; the next one starts it again.
func TestRealSteerDeath(t *testing.T) {
	t.Parallel()
	x := steer(t, "")
	x.api.Script(apitest.Use(apitest.ToolUse("toolu_1", "Bash", object{"command": "while [ ! -e toolu_1 ]; do sleep 0.02; done; kill -9 $PPID", "description": "die"})), apitest.Say("alive"))
	first := x.Prompt(x.s, "start")
	x.running("toolu_1")
	second := x.Prompt(x.s, "SECOND")
	x.queued(2)
	x.free("toolu_1")
	first.Fails("Claude Code")
	second.Fails("Claude Code")
	x.Prompt(x.s, "on").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "alive", x.Said(x.s))
}

// A prompt typed before a question was there is no answer to it. Where the next
// prompt would be the answer, the question is dismissed and the prompt runs.
func TestRealSteerBeforeAMessage(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	asking := apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b")))
	asking.Hold, asking.HoldFirst = hold, true
	x := steer(t, "CodeCompanion.nvim", asking, apitest.Say("second turn"))
	first := x.Prompt(x.s, "start")
	x.calls(1)
	x.lines("init", 1, func(m gjson.Result) bool { return m.Get("subtype").Str == "init" })
	second := x.Prompt(x.s, "SECOND")
	x.queued(2)
	close(hold)
	first.Ends(acp.StopReasonCancelled)
	second.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "failed", x.Tool(x.s, "toolu_1")["status"])
	require.Len(t, x.api.Main(), 2)
	require.True(t, x.calls(2).Contains("SECOND"))
	require.Equal(t, "second turn", x.Said(x.s))
}

// Elsewhere the question is asked. Its answer comes to the model with the
// prompt; dismissed, it ends the first prompt and not the second.
func TestRealSteerBeforeAQuestion(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]bool{"answered": true, "dismissed": false} {
		t.Run(name, func(t *testing.T) {
			hold := make(chan struct{})
			asking := apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b")))
			asking.Hold, asking.HoldFirst = hold, true
			x := steer(t, "", asking, apitest.Say("second"), apitest.Say(" third"))
			first := x.Prompt(x.s, "start")
			x.calls(1)
			second := x.Prompt(x.s, "SECOND")
			x.queued(2)
			close(hold)
			r := x.Asked("Which?")
			if answer {
				r.Selects("b")
				first.Ends(acp.StopReasonEndTurn)
				require.Contains(t, told(t, x.api, "toolu_1").Text, `"Which?"="b"`)
			} else {
				r.Cancels()
				first.Ends(acp.StopReasonCancelled)
			}
			second.Ends(acp.StopReasonEndTurn)
			require.True(t, x.calls(2).Contains("SECOND"))
			x.Prompt(x.s, "on").Ends(acp.StopReasonEndTurn)
			require.Len(t, x.api.Main(), 3)
			require.Equal(t, "second third", x.Said(x.s))
		})
	}
}

// A prompt that the model knows of when it asks in the conversation waits with
// the first one, and the next one is the answer.
func TestRealSteerThenAMessage(t *testing.T) {
	t.Parallel()
	x := steer(t, "CodeCompanion.nvim")
	x.api.Script(x.command("toolu_1"), apitest.Use(asks("toolu_2", question("Which?", "H", false, "a", "b"))), apitest.Say("noted"), apitest.Say(" next"))
	first := x.Prompt(x.s, "start")
	x.running("toolu_1")
	second := x.Prompt(x.s, "SECOND")
	x.queued(2)
	x.free("toolu_1")
	for _, p := range []*acptest.Turn{first, second} {
		p.Ends(acp.StopReasonEndTurn)
		require.Equal(t, "toolu_2", p.Resp.Get("_meta.acp-bridge.waitingFor").Str)
	}
	x.Prompt(x.s, "b").Ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, x.api, "toolu_2").Text, `"Which?"="b"`)
	x.Prompt(x.s, "on").Ends(acp.StopReasonEndTurn)
	require.Contains(t, x.Said(x.s), "noted next")
	require.Len(t, x.api.Main(), 4)
}

// A prompt sent while a permission is asked for comes to the model with what
// the command did.
func TestRealSteerWhileAPermissionIsOpen(t *testing.T) {
	t.Parallel()
	x := steer(t, "", apitest.Use(apitest.ToolUse("toolu_1", "Write", object{"file_path": "a.txt", "content": "x"})), apitest.Say("done"))
	first := x.Prompt(x.s, "start")
	r := x.Asked("a.txt")
	second := x.Prompt(x.s, "SECOND")
	x.queued(2)
	r.Selects("allow")
	first.Ends(acp.StopReasonEndTurn)
	second.Ends(acp.StopReasonEndTurn)
	require.True(t, x.calls(2).Contains("SECOND"))
	require.Len(t, x.api.Main(), 2)
}

// Prompts at any moment, and cancels: each is answered, what was answered came
// to the model once, and what was cancelled once at most.
func TestRealSteerAtRandom(t *testing.T) {
	t.Parallel()
	x := steer(t, "")
	seed := *steerSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	t.Logf("-steer.seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 400 {
		if random.IntN(2) == 0 {
			x.api.Script(apitest.Use(apitest.ToolUse("toolu_"+strconv.Itoa(i), "Bash", object{"command": "true; sleep 0.03", "description": "wait"})))
		} else {
			reply := apitest.Say("text")
			reply.Delay = time.Duration(random.IntN(30)) * time.Millisecond
			x.api.Script(reply)
		}
	}
	var sent []*acptest.Turn
	for i := range 60 {
		sent = append(sent, x.Prompt(x.s, "P"+strconv.Itoa(i)+"."))
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		if random.IntN(8) == 0 {
			x.Cancel(x.s)
		}
		if random.IntN(4) == 0 {
			<-sent[random.IntN(len(sent))].Done
		}
	}
	for _, p := range sent {
		<-p.Done
		require.NoError(t, p.Err)
	}
	x.Prompt(x.s, "LAST").Ends(acp.StopReasonEndTurn)
	heard := lastBody(x.api).Get("messages").Raw
	for i, p := range sent {
		n := strings.Count(heard, "P"+strconv.Itoa(i)+".")
		if p.Resp.Get("stopReason").Str == string(acp.StopReasonEndTurn) {
			require.Equal(t, 1, n, "P%d", i)
		} else {
			require.LessOrEqual(t, n, 1, "P%d", i)
		}
	}
}
