package backend_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

func TestTextArrivesOnceAndInOrder(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.ThinkingBlock("hm ", "well"), ct.TextBlock("Hello ", "world")), ct.Text(", again")}))
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "Hello world, again", e.Said(s))
	require.Equal(t, "hm well", e.Text(s, "agent_thought_chunk"))
}

func TestMessagesWithoutDeltasAreShown(t *testing.T) {
	whole := `{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"from a local command"}]},"parent_tool_use_id":null}`
	e, _ := scripted(t, turns(steps{ct.Text("streamed "), ct.Raw(whole)}))
	s := e.Ready()
	e.Prompt(s, "/context").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "streamed from a local command", e.Said(s))
}

func TestBurst(t *testing.T) {
	t.Parallel()
	const n = 20_000
	e, _ := scripted(t, turns(steps{ct.Burst(n)}))
	s := e.Ready()
	e.Prompt(s, "go").Ends(acp.StopReasonEndTurn)
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "%d ", i)
	}
	require.Equal(t, want.String(), e.Said(s))
}

func TestPromptContent(t *testing.T) {
	e, cli := scripted(t, ct.Script{})
	s := e.Ready()
	e.PromptBlocks(s, `[
		{"type":"text","text":"look at"},
		{"type":"resource_link","name":"a.go","uri":"file:///src/a.go"},
		{"type":"resource_link","name":"docs","uri":"https://example.com/docs"},
		{"type":"resource","resource":{"uri":"file:///src/b.go","text":"package b"}},
		{"type":"image","mimeType":"image/png","data":"aGk="}]`).Ends(acp.StopReasonEndTurn)
	var line gjson.Result
	for _, l := range cli.Lines() {
		if gjson.GetBytes(l.Raw, "type").Str == "user" {
			line = gjson.ParseBytes(l.Raw)
		}
	}
	var got []string
	for _, b := range line.Get("message.content").Array() {
		got = append(got, b.Get("type").Str+": "+b.Get("text").Str+b.Get("source.data").Str)
	}
	require.Equal(t, []string{
		"text: look at",
		"text: @/src/a.go",
		"text: [@docs](https://example.com/docs)",
		"text: @/src/b.go",
		"image: aGk=",
		"text: \n<context ref=\"file:///src/b.go\">\npackage b\n</context>",
	}, got)

	for blocks, want := range map[string]string{
		`[{"type":"audio","mimeType":"audio/wav","data":"aGk="}]`: "no audio",
		`[]`: "the prompt is empty",
		`[{"type":"image","mimeType":"image/png","data":""}]`: "an image needs data",
	} {
		e.PromptBlocks(s, blocks).Fails(want)
	}
}

func TestStopReasons(t *testing.T) {
	for name, test := range map[string]struct {
		result *ct.Result
		want   acp.StopReason
	}{
		"end_turn":          {nil, acp.StopReasonEndTurn},
		"max_tokens":        {ct.StopReason("max_tokens"), acp.StopReasonMaxTokens},
		"max_turn_requests": {ct.MaxTurns(), acp.StopReasonMaxTurnRequests},
		"refusal":           {&ct.Result{Subtype: "success", IsError: true, StopReason: "refusal"}, acp.StopReasonRefusal},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := scripted(t, ct.Script{Turns: []ct.Turn{{Steps: steps{ct.Text("x")}, Result: test.result}}})
			e.Prompt(e.Ready(), "hi").Ends(test.want)
		})
	}
}

func TestErrorsAreReadable(t *testing.T) {
	for name, test := range map[string]struct {
		result *ct.Result
		want   string
		code   int
	}{
		"api":       {ct.APIError(529, "server_error", "API Error: Overloaded"), "API Error: Overloaded", -32603},
		"auth":      {ct.AuthError(), "claude /login", -32000},
		"execution": {ct.ExecutionError("[ede_diagnostic] x", "No conversation found"), "No conversation found", -32603},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := scripted(t, ct.Script{Turns: []ct.Turn{{Result: test.result}}})
			s := e.Ready()
			err := e.Prompt(s, "hi").Fails(test.want)
			require.Equal(t, test.code, err.Code)
			require.NotContains(t, err.Message, "ede_diagnostic")
			require.Empty(t, e.Said(s), "an error is shown once")
			e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
		})
	}
}

// bothCLIs runs a test with a CLI that takes prompts into a running turn, and
// with an old one, for which they have to wait.
func bothCLIs(t *testing.T, script ct.Script, test func(t *testing.T, e *editor, cli *ct.CLI, old bool)) {
	for name, old := range map[string]bool{"handed over": false, "waits for an old CLI": true} {
		t.Run(name, func(t *testing.T) {
			script.Old = old
			e, cli := scripted(t, script)
			test(t, e, cli, old)
		})
	}
}

// reached waits until the CLI has the prompts, or for an old one until the agent
// has them.
func reached(e *editor, session string, cli *ct.CLI, old bool, prompts ...string) {
	e.T.Helper()
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+session+`","modeId":"plan"}`) // behind the last prompt
	if old {
		require.Equal(e.T, prompts[:1], cli.Prompts())
		return
	}
	cli.Await("the prompts", func([]ct.Line) bool { return slices.Equal(cli.Prompts(), prompts) })
}

func TestSecondPrompt(t *testing.T) {
	bothCLIs(t, turns(steps{ct.Text("one "), ct.Wait("go")}, steps{ct.Text("two")}), func(t *testing.T, e *editor, cli *ct.CLI, old bool) {
		s := e.Ready()
		first := e.Prompt(s, "first")
		e.Await(s, "one", func(u gjson.Result) bool { return u.Get("content.text").Str == "one " })
		second := e.Prompt(s, "second")
		reached(e, s, cli, old, "first", "second")
		cli.Release("go")
		first.Ends(acp.StopReasonEndTurn)
		second.Ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"first", "second"}, cli.Prompts())
		require.Equal(t, "one two", e.Said(s))
	})
}

// A prompt that the CLI takes into the turn ends with it.
func TestSecondPromptSteers(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "Bash", object{"command": "ls"}, "", nil)), ct.Text("both")}, steps{ct.Text(" third")}))
	s := e.Ready()
	first := e.Prompt(s, "first")
	r := e.Next()
	second := e.Prompt(s, "second")
	reached(e, s, cli, false, "first", "second")
	r.Selects("allow")
	first.Ends(acp.StopReasonEndTurn)
	second.Ends(acp.StopReasonEndTurn)
	e.Prompt(s, "third").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "both third", e.Said(s))
}

func TestCancel(t *testing.T) {
	bothCLIs(t, turns(steps{ct.Text("working"), ct.Hang()}, steps{ct.Text(" next")}), func(t *testing.T, e *editor, cli *ct.CLI, old bool) {
		s := e.Ready()
		turn, queued := e.Prompt(s, "first"), (*acptest.Turn)(nil)
		e.Await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "working" })
		queued = e.Prompt(s, "queued")
		reached(e, s, cli, old, "first", "queued")
		e.Cancel(s)
		turn.Ends(acp.StopReasonCancelled)
		queued.Ends(acp.StopReasonCancelled)
		e.Prompt(s, "next").Ends(acp.StopReasonEndTurn)
		require.Equal(t, "working next", e.Said(s), "what was cancelled did not run")
		require.Len(t, cli.Starts(), 1)
	})
}

// A CLI that dies takes all prompts along that it had.
func TestDeathWithTwoPrompts(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Text("one"), ct.Wait("go"), ct.Die(1, "oh no")}, steps{ct.Text(" two")}))
	s := e.Ready()
	first := e.Prompt(s, "first")
	e.Await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "one" })
	second := e.Prompt(s, "second")
	reached(e, s, cli, false, "first", "second")
	cli.Release("go")
	first.Fails("oh no")
	second.Fails("oh no")
	e.Prompt(s, "third").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "one two", e.Said(s))
}

// A prompt that comes while a CLI dies was its, or is the next one's.
func TestPromptWhileTheCLIDies(t *testing.T) {
	t.Parallel()
	e, _ := scripted(t, ct.Script{Turns: []ct.Turn{{Match: "die", Steps: steps{ct.Text("x"), ct.Die(1, "oh no")}}}})
	s := e.Ready()
	for i := range 30 {
		first := e.Prompt(s, "die")
		time.Sleep(time.Duration(i) * 200 * time.Microsecond)
		second := e.Prompt(s, "two")
		first.Fails("oh no")
		if second.Failed() {
			second.Fails("oh no")
		}
		e.Prompt(s, "three").Ends(acp.StopReasonEndTurn)
	}
}

// A cancel that comes right behind its prompt is not lost, wherever the prompt
// is by then.
func TestCancelRightBehind(t *testing.T) {
	t.Parallel()
	e, _ := scripted(t, ct.Script{Turns: []ct.Turn{{Match: "hang", Steps: steps{ct.Hang()}}}})
	s := e.Ready()
	for range 50 {
		turn := e.Prompt(s, "hang")
		e.Cancel(s)
		turn.Ends(acp.StopReasonCancelled)
	}
}

func TestCancelThatIsNotHonoured(t *testing.T) {
	cli := ct.New(t, ct.Script{IgnoreInterrupt: true, Turns: []ct.Turn{{Steps: steps{ct.Text("a"), ct.Hang()}}, {Steps: steps{ct.Text("b")}}}})
	e := serve(t, backend.Options{Claude: cli.Path, CancelGrace: 50 * time.Millisecond})
	s := e.Ready()
	turn := e.Prompt(s, "first")
	e.Await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "a" })
	e.Cancel(s)
	turn.Ends(acp.StopReasonCancelled)
	e.Prompt(s, "next").Ends(acp.StopReasonEndTurn)
	starts := cli.Starts()
	require.Len(t, starts, 2)
	require.Contains(t, starts[0].Args, "--session-id")
	require.Contains(t, starts[1].Args, "--resume")
	require.Contains(t, starts[1].Args, s)
}

// A turn may end by itself while the CLI no longer hears the cancel. The next prompt is
// not given to it.
func TestCancelThatIsNotHeard(t *testing.T) {
	t.Parallel()
	cli := ct.New(t, ct.Script{IgnoreInterrupt: true, Turns: []ct.Turn{{Steps: steps{ct.Text("a"), ct.Wait("end")}}, {Steps: steps{ct.Text("b")}}}})
	e := serve(t, backend.Options{Claude: cli.Path, CancelGrace: 2 * time.Second})
	s := e.Ready()
	turn := e.Prompt(s, "first")
	e.Await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "a" })
	e.Cancel(s)
	next := e.Prompt(s, "next")
	require.Eventually(t, func() bool { return len(cli.Controls("interrupt")) > 0 }, time.Minute, time.Millisecond)
	cli.Release("end")
	turn.Ends(acp.StopReasonCancelled)
	next.Ends(acp.StopReasonEndTurn)
	require.Len(t, cli.Starts(), 2)
	require.Equal(t, "ab", e.Said(s))
}

func TestProcessDies(t *testing.T) {
	for name, step := range map[string]ct.Step{
		"exit":          ct.Die(7, "out of cheese"),
		"signal":        ct.DieBy(int(syscall.SIGKILL), "out of cheese"),
		"stdout closed": ct.CloseStdout(),
	} {
		t.Run(name, func(t *testing.T) {
			e, cli := scripted(t, turns(steps{ct.Text("a"), step}, steps{ct.Text("b")}))
			s := e.Ready()
			turn := e.Prompt(s, "first")
			err := turn.Fails("Claude Code")
			if name != "stdout closed" {
				require.Contains(t, err.Message, "out of cheese")
			}
			e.Prompt(s, "second").Ends(acp.StopReasonEndTurn)
			require.Equal(t, "ab", e.Said(s))
			require.Contains(t, cli.Starts()[1].Args, "--resume")
		})
	}
}

// A conversation that cannot be resumed because the CLI breaks down is not begun
// anew: the user is told, and the next prompt resumes it.
func TestResumeThatBreaksDown(t *testing.T) {
	script := turns(steps{ct.Text("a"), ct.Die(7)}, steps{ct.Text("b")})
	e, cli := scripted(t, script)
	s := e.Ready()
	e.Prompt(s, "first").Fails("Claude Code")
	for name, step := range map[string]ct.Step{"exit": ct.Die(3, "out of cheese"), "signal": ct.DieBy(int(syscall.SIGKILL), "out of cheese")} {
		_, err := ct.Install(filepath.Dir(cli.Path), ct.Script{Start: steps{step}})
		require.NoError(t, err)
		require.Contains(t, e.Prompt(s, "second").Fails("Claude Code").Message, "out of cheese", name)
	}
	_, err := ct.Install(filepath.Dir(cli.Path), script)
	require.NoError(t, err)
	e.Prompt(s, "third").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "ab", e.Said(s))
	for _, start := range cli.Starts()[1:] {
		require.Contains(t, start.Args, "--resume")
	}
}

// A CLI that dies between two prompts costs one prompt at most, whenever the
// death is noticed.
func TestProcessDiesWhileIdle(t *testing.T) {
	t.Parallel()
	e, cli := scripted(t, ct.Script{})
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	for range 20 {
		starts := cli.Starts()
		kill(t, starts[len(starts)-1].Pid)
		if first := e.Prompt(s, "hi"); first.Failed() {
			first.Fails("Claude Code was ended by a signal")
		}
		e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	}
}

func TestGarbageFromTheCLI(t *testing.T) {
	t.Parallel()
	e, _ := scripted(t, turns(steps{
		ct.Raw("not json", `{"no":"type"}`, `[]`, `{"type":"surprise","x":1}`, `{"type":"stream_event"}`, `{"type":"assistant"}`, `{"type":"user","message":7}`, ``),
		ct.BigLine(10 << 20), ct.Text("still here"),
	}))
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "still here", e.Said(s))
}

func TestBadRequests(t *testing.T) {
	e, _ := scripted(t, ct.Script{})
	e.Initialize(`{}`)
	for name, test := range map[string]struct{ method, params, want string }{
		"unknown session":  {acp.AgentMethodSessionPrompt, `{"sessionId":"nope","prompt":[]}`, "no session"},
		"unknown mode":     {acp.AgentMethodSessionSetMode, `{"sessionId":"` + e.Open(t.TempDir()) + `","modeId":"yolo"}`, "unknown mode"},
		"relative cwd":     {acp.AgentMethodSessionNew, `{"cwd":"here","mcpServers":[]}`, "absolute path"},
		"missing cwd":      {acp.AgentMethodSessionNew, `{"cwd":"/no/such/folder","mcpServers":[]}`, "/no/such/folder"},
		"wrong types":      {acp.AgentMethodSessionNew, `{"cwd":7}`, "cwd: expected a string, got number"},
		"a list of them":   {acp.AgentMethodSessionNew, `[1]`, "params: expected an object, got array"},
		"wrong prompt":     {acp.AgentMethodSessionPrompt, `{"sessionId":"x","prompt":"hello"}`, "prompt: expected an array, got string"},
		"unknown method":   {"session/dance", `{}`, "Method not found"},
		"unknown auth":     {acp.AgentMethodAuthenticate, `{"methodId":"magic"}`, "unknown authentication method"},
		"close of nothing": {acp.AgentMethodSessionClose, `{"sessionId":"nope"}`, "no session"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.Try(test.method, test.params)
			var re *acp.RequestError
			require.ErrorAs(t, err, &re)
			require.Contains(t, re.Message, test.want)
		})
	}
}

func TestClaudeIsMissing(t *testing.T) {
	e := serve(t, backend.Options{Claude: "/no/such/claude"})
	e.Initialize(`{}`)
	_, err := e.Try(acp.AgentMethodSessionNew, `{"cwd":"/","mcpServers":[]}`)
	require.ErrorContains(t, err, "/no/such/claude")
}

func TestCloseSession(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Text("a"), ct.Hang()}))
	s := e.Ready()
	turn := e.Prompt(s, "first")
	e.Await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "a" })
	e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
	turn.Ends(acp.StopReasonCancelled)
	requireGone(t, cli.Starts()[0].Pid)
	_, err := e.Try(acp.AgentMethodSessionPrompt, `{"sessionId":"`+s+`","prompt":[{"type":"text","text":"x"}]}`)
	require.ErrorContains(t, err, "no session")
}

func TestEditorLeaves(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Text("a"), ct.Hang()}))
	s := e.Ready()
	e.Prompt(s, "first")
	e.Await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "a" })
	e.Leave()
	requireGone(t, cli.Starts()[0].Pid)
	require.NotEmpty(t, cli.Controls("interrupt"))
}

func TestModesAndCommands(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.SetMode("acceptEdits")}))
	e.Initialize(`{}`)
	resp := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	s := resp.Get("sessionId").Str
	require.Equal(t, "default", resp.Get("modes.currentModeId").Str)
	require.NotContains(t, resp.Raw, "bypassPermissions")
	e.Await(s, "commands", func(u gjson.Result) bool {
		return u.Get("availableCommands.0.name").Str == "code-review" && u.Get("availableCommands.0.input.hint").Str != ""
	})
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
	require.JSONEq(t, `{"subtype":"set_permission_mode","mode":"plan"}`, string(cli.Controls("set_permission_mode")[0]))
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	var modes []string
	for _, u := range e.Updates(s) {
		if u.Get("sessionUpdate").Str == "current_mode_update" {
			modes = append(modes, u.Get("currentModeId").Str)
		}
	}
	require.Equal(t, []string{"acceptEdits"}, modes)
}

// An editor that does not read slows the CLI down: nothing is lost, and memory
// does not grow with what the CLI has to say.
func TestSlowEditor(t *testing.T) {
	if !alone(t) {
		return
	}
	const n = 60_000 // some 20 MB of lines
	cli := ct.New(t, turns(steps{ct.Burst(n)}))
	pause := make(chan struct{})
	e := serve(t, backend.Options{Claude: cli.Path, Logger: slog.New(slog.DiscardHandler)})
	s := e.Ready()
	e.Await(s, "commands", func(u gjson.Result) bool { return u.Get("availableCommands").Exists() })
	before := heapInUse()
	e.Pause = pause
	turn := e.Prompt(s, "go")
	grown := int64(0)
	for range 100 { // time for a runaway to show
		time.Sleep(5 * time.Millisecond)
		grown = max(grown, heapInUse()-before)
	}
	select {
	case <-turn.Done:
		require.Fail(t, "the turn ended although nobody read")
	default:
	}
	t.Logf("heap grew by %d kB", grown>>10)
	require.Less(t, grown, int64(8<<20)) // what may wait is 4 MiB; some is on its way on both sides of that
	close(pause)
	turn.Ends(acp.StopReasonEndTurn)
	said := e.Said(s)
	require.True(t, strings.HasPrefix(said, "0 1 2 ") && strings.HasSuffix(said, fmt.Sprintf(" %d ", n-1)))
	require.Equal(t, n, strings.Count(said, " "))
}

// alone reports whether a test has a process of its own. Where it has not, it is
// run in one: what other tests keep in memory is none of its business.
func alone(t *testing.T) bool {
	const variable = "ACP_BRIDGE_TEST_ALONE"
	if os.Getenv(variable) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return false
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A turn that the CLI begins by itself is shown and ends no prompt.
func TestTurnOfItsOwn(t *testing.T) {
	bothCLIs(t, ct.Script{Turns: []ct.Turn{
		{Steps: steps{ct.Text("one ")}, After: steps{ct.Text("by itself "), ct.Wait("go")}},
		{Steps: steps{ct.Text("two")}},
	}}, func(t *testing.T, e *editor, cli *ct.CLI, old bool) {
		s := e.Ready()
		e.Prompt(s, "first").Ends(acp.StopReasonEndTurn)
		e.Await(s, "its own turn", func(u gjson.Result) bool { return u.Get("content.text").Str == "by itself " })
		second := e.Prompt(s, "second")
		reached(e, s, cli, old, "first", "second")
		cli.Release("go")
		second.Ends(acp.StopReasonEndTurn)
		require.Equal(t, "one by itself two", e.Said(s))
	})
}

// A prompt that the CLI takes into a turn of its own ends with it.
func TestPromptInATurnOfItsOwn(t *testing.T) {
	e, cli := scripted(t, ct.Script{Turns: []ct.Turn{
		{Steps: steps{ct.Text("one ")}, After: steps{ct.Message(ct.AskTool("toolu_1", "Bash", object{"command": "ls"}, "", nil)), ct.Text("by itself ")}},
		{Steps: steps{ct.Text("three")}},
	}})
	s := e.Ready()
	e.Prompt(s, "first").Ends(acp.StopReasonEndTurn)
	r := e.Next()
	second := e.Prompt(s, "second")
	reached(e, s, cli, false, "first", "second")
	r.Selects("allow")
	second.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "one by itself ", e.Said(s))
	e.Prompt(s, "third").Ends(acp.StopReasonEndTurn)
}

// A result that answers another prompt, one that is over, ends no prompt.
func TestResultOfAnotherPrompt(t *testing.T) {
	e, _ := scripted(t, turns(steps{
		ct.Raw(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["not mine"],"user_message_uuids":["another"]}`),
		ct.Message(ct.TextBlock("my own")),
	}))
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "my own", e.Said(s))
}

// A prompt that the CLI refuses is not sent again, first or while a turn runs.
func TestRefusedPrompt(t *testing.T) {
	e, cli := scripted(t, ct.Script{Refuse: "bad", Turns: []ct.Turn{{Steps: steps{ct.Wait("go"), ct.Text("a")}}, {Steps: steps{ct.Text("b")}}}})
	s := e.Ready()
	e.Prompt(s, "bad from the start").Fails("Claude Code refused the prompt")
	first := e.Prompt(s, "good")
	second := e.Prompt(s, "bad, later")
	cli.Await("three prompts", func([]ct.Line) bool { return len(cli.Prompts()) == 3 })
	cli.Release("go")
	first.Ends(acp.StopReasonEndTurn)
	second.Fails("Claude Code refused the prompt")
	e.Prompt(s, "on").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "ab", e.Said(s))
	require.Len(t, cli.Prompts(), 4)
}
