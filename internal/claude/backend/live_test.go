//go:build unix

package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// running is a session whose commands write to files that the test makes.
type running struct {
	*editor
	cli     *ct.CLI
	session string
	tasks   string // folder
}

// withTasks starts a stand-in and opens a session for a client that has terminals or
// none.
func withTasks(t *testing.T, terminals bool, script ct.Script) *running {
	t.Helper()
	tmp := t.TempDir()
	cli := ct.New(t, script)
	e := serve(t, backend.Options{Claude: cli.Path, Env: append(os.Environ(), "CLAUDE_CODE_TMPDIR="+tmp), TrustEditor: true})
	e.Initialize(fmt.Sprintf(`{"_meta":{"terminal_output":%t}}`, terminals))
	r := &running{editor: e, cli: cli, session: e.Open(t.TempDir())}
	r.tasks = filepath.Join(tmp, "claude-"+strconv.Itoa(os.Getuid()), "-some-folder", r.session, "tasks")
	require.NoError(t, os.MkdirAll(r.tasks, 0o700))
	return r
}

// writes appends to the output of a task.
func (r *running) writes(task, text string) {
	r.T.Helper()
	f, err := os.OpenFile(filepath.Join(r.tasks, task+".output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(r.T, err)
	_, err = f.WriteString(text)
	require.NoError(r.T, err)
	require.NoError(r.T, f.Close())
}

// shows waits until a tool call's content, or what its terminal got, holds text.
func (r *running) shows(id, text string) {
	r.T.Helper()
	r.Await(r.session, text, func(u gjson.Result) bool {
		return u.Get("toolCallId").Str == id && (strings.Contains(u.Get("content.0.content.text").Str, text) || strings.Contains(r.printed(id), text))
	})
}

// of returns the updates of a tool call.
func (r *running) of(id string) []gjson.Result {
	var list []gjson.Result
	for _, u := range r.Updates(r.session) {
		if u.Get("toolCallId").Str == id {
			list = append(list, u)
		}
	}
	return list
}

// printed is all that the terminal of a tool call got.
func (r *running) printed(id string) string {
	var b strings.Builder
	for _, u := range r.of(id) {
		out := u.Get("_meta.terminal_output")
		if out.Exists() && out.Get("terminal_id").Str == id {
			b.WriteString(out.Get("data").Str)
		}
	}
	return b.String()
}

// exits are the ends of a tool call's terminal.
func (r *running) exits(id string) []string {
	var list []string
	for _, u := range r.of(id) {
		if exit := u.Get("_meta.terminal_exit"); exit.Exists() && exit.Get("terminal_id").Str == id {
			list = append(list, exit.Get("exit_code").Raw)
		}
	}
	return list
}

func TestOutputWhileItRuns(t *testing.T) {
	t.Parallel()
	command := ct.Command("toolu_1", "b1", "one\ntwo\nthe end", ct.Wait("go"))
	r := withTasks(t, false, turns(steps{ct.Message(command), ct.Text("done")}))
	r.writes("b1", "\x1b[31mone\x1b[0m\n")
	turn := r.Prompt(r.session, "go")
	r.shows("toolu_1", "```console\none\n```")
	r.writes("b1", "two ```\x07\xe2\x82")
	r.shows("toolu_1", "````console\none\ntwo ```\n````")
	r.writes("b1", "\xac\n")
	r.shows("toolu_1", "````console\none\ntwo ```€\n````")
	r.cli.Release("go")
	turn.Ends(acp.StopReasonEndTurn)
	var shown []string
	for _, u := range r.of("toolu_1") {
		if status := u.Get("status").Str; status == "" || status == "pending" {
			continue // of the call itself
		}
		require.Equal(t, "Bash", u.Get("_meta.claudeCode.toolName").Str)
		require.False(t, u.Get("title").Exists())
		shown = append(shown, u.Get("status").Str+" "+u.Get("content.0.content.text").Str)
	}
	require.Equal(t, []string{
		"in_progress ```console\none\n```",
		"in_progress ````console\none\ntwo ```\n````",
		"in_progress ````console\none\ntwo ```€\n````",
		"completed ```console\none\ntwo\nthe end\n```",
	}, shown, "each change once, then the result")
}

func TestOutputInATerminal(t *testing.T) {
	t.Parallel()
	command := ct.Command("toolu_1", "b1", "Exit code 3\n\x1b[31mone\x1b[0m\x1b]52;c;eA==\a\ntwo \x1b[32mgreen€\nall of it\nA note.", ct.Wait("go"))
	command.Failed = true
	r := withTasks(t, true, turns(steps{ct.Message(command), ct.Text("done")}))
	r.writes("b1", "\x1b[31mone\x1b[0m\x1b]52;c;eA==\a\n")
	turn := r.Prompt(r.session, "go")
	r.shows("toolu_1", "one")
	r.writes("b1", "two \x1b[3")
	r.shows("toolu_1", "two ")
	r.writes("b1", "2mgreen\xe2\x82")
	r.shows("toolu_1", "green")
	r.writes("b1", "\xac\nall of it") // perhaps the last look finds it
	r.cli.Release("go")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "\x1b[31mone\x1b[0m\ntwo \x1b[32mgreen€\nall of it\nA note.\n", r.printed("toolu_1"), "nothing is lost, nothing comes twice")
	require.Equal(t, []string{"3"}, r.exits("toolu_1"))

	all := r.of("toolu_1")
	require.Equal(t, "tool_call", all[0].Get("sessionUpdate").Str)
	require.Equal(t, "toolu_1", all[0].Get("_meta.terminal_info.terminal_id").Str)
	first := 0
	for i, u := range all {
		if strings.Contains(u.Get("content").Raw, `"terminal"`) && first == 0 {
			first = i
		}
	}
	require.True(t, all[first].Get("_meta.terminal_output").Exists(), "the terminal is shown when there is output")
	require.Equal(t, "run b1", all[first+1].Get("title").Str, "a terminal that is shown gets its title")
	last := all[len(all)-1]
	require.Equal(t, "failed", last.Get("status").Str)
	require.JSONEq(t, `[{"type":"terminal","terminalId":"toolu_1"}]`, last.Get("content").Raw)
}

// TestTerminalOfAShortCommand is about commands that end before the CLI says that
// they run, and those that do not run.
func TestTerminalOfAShortCommand(t *testing.T) {
	long := "echo " + strings.Repeat("word ", 60)
	denied := ct.AskTool("toolu_3", "Bash", object{"command": "rm x"}, "", nil)
	structured := ct.Tool("toolu_2", "Bash", object{"command": long}, "for the model")
	structured.Detail = []byte(`{"stdout":"out\u001b[2J","stderr":"","interrupted":false}`)
	r := withTasks(t, true, turns(steps{
		ct.Message(ct.Tool("toolu_1", "Bash", object{"command": "echo hi"}, "hi")),
		ct.Message(structured), ct.Message(denied),
		ct.Message(ct.Tool("toolu_4", "Grep", object{"pattern": "x"}, "found")),
	}))
	turn := r.Prompt(r.session, "go")
	request := r.Asked("rm x")
	require.NotContains(t, request.Get("toolCall.content").Raw, "terminal", "a terminal would hide what is asked for")
	request.Selects("reject")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "hi", r.printed("toolu_1"))
	require.Equal(t, []string{"0"}, r.exits("toolu_1"))
	require.Equal(t, "$ "+strings.TrimSpace(long)+"\nout", r.printed("toolu_2"), "a command that the title cuts stands in the terminal")
	require.Empty(t, r.printed("toolu_3"))
	require.Equal(t, []string{"null"}, r.exits("toolu_3"))
	require.Contains(t, r.Tool(r.session, "toolu_3")["content"], "rejected")
	require.NotContains(t, r.Tool(r.session, "toolu_3")["content"], `"terminal"`)
	require.Empty(t, r.exits("toolu_4"))
	require.Contains(t, r.Tool(r.session, "toolu_4")["content"], "found")
}

func TestTerminalDelta(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Tool("toolu_1", "Bash", object{"command": "echo hi"}, "hi"))}))
	e.Initialize(`{"_meta":{"terminal_output":true,"terminal_output_delta":true}}`)
	s := e.Open(t.TempDir())
	e.Prompt(s, "go").Ends(acp.StopReasonEndTurn)
	e.Await(s, "a delta", func(u gjson.Result) bool { return u.Get("_meta.terminal_output_delta.data").Str == "hi" })
}

func TestOutputOfParallelCommands(t *testing.T) {
	t.Parallel()
	one := ct.Command("toolu_1", "b1", "first\nend", ct.TaskStarted("toolu_2", "b2"), ct.Wait("one"))
	two := ct.Tool("toolu_2", "Bash", object{"command": "two"}, "second\nend")
	two.While = steps{ct.Wait("two")}
	r := withTasks(t, true, turns(steps{ct.Message(one, two), ct.Text("done")}))
	r.writes("b1", "first\n")
	r.writes("b2", "second\n")
	turn := r.Prompt(r.session, "go")
	r.shows("toolu_1", "first")
	r.shows("toolu_2", "second")
	r.writes("b1", "end")
	r.cli.Release("one")
	r.Await(r.session, "the end of one", func(gjson.Result) bool { return len(r.exits("toolu_1")) == 1 })
	r.writes("b2", "more\n")
	r.shows("toolu_2", "more")
	r.cli.Release("two")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "first\nend", r.printed("toolu_1"))
	require.Equal(t, "second\nmore\n", r.printed("toolu_2"))
}

// inBackground is a command whose call ends before it does.
func inBackground() ct.Block {
	b := ct.Command("toolu_1", "b1", "Command running in background")
	b.Detail = []byte(`{"stdout":"","stderr":"","interrupted":false,"backgroundTaskId":"b1"}`)
	return b
}

func TestOutputInTheBackground(t *testing.T) {
	t.Parallel()
	for name, terminals := range map[string]bool{"terminal": true, "content": false} {
		t.Run(name, func(t *testing.T) {
			r := withTasks(t, terminals, turns(
				steps{ct.Message(inBackground()), ct.Wait("one")},
				steps{ct.Wait("two"), ct.TaskEnded("toolu_1", "b1", "completed")},
			))
			r.writes("b1", "one\n")
			turn := r.Prompt(r.session, "go")
			r.shows("toolu_1", "one")
			r.Await(r.session, "the result", func(u gjson.Result) bool { return u.Get("status").Str == "completed" })
			r.writes("b1", "two\n")
			r.shows("toolu_1", "two")
			r.cli.Release("one")
			turn.Ends(acp.StopReasonEndTurn)
			before := len(r.of("toolu_1"))
			r.writes("b1", "three\n")
			time.Sleep(600 * time.Millisecond) // what must not happen needs time to happen
			require.Len(t, r.of("toolu_1"), before, "nothing comes while no turn runs")
			turn = r.Prompt(r.session, "go on")
			r.shows("toolu_1", "three")
			r.writes("b1", "four\n")
			r.cli.Release("two")
			turn.Ends(acp.StopReasonEndTurn)
			r.shows("toolu_1", "four")
			if terminals {
				require.Equal(t, "one\ntwo\nthree\nfour\n", r.printed("toolu_1"))
				require.Equal(t, []string{"null"}, r.exits("toolu_1"), "nobody knows the exit code")
				return
			}
			content := r.Tool(r.session, "toolu_1")["content"]
			require.Contains(t, content, `one\ntwo\nthree\nfour`)
			require.Contains(t, content, "Ran in the background as b1: completed.")
		})
	}
}

// TestHugeOutput follows a file of a gigabyte, at no cost.
func TestHugeOutput(t *testing.T) {
	for name, terminals := range map[string]bool{"terminal": true, "content": false} {
		t.Run(name, func(t *testing.T) {
			r := withTasks(t, terminals, turns(steps{ct.Message(ct.Command("toolu_1", "b1", "short", ct.Wait("go"))), ct.Text("done")}))
			file := filepath.Join(r.tasks, "b1.output")
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			require.NoError(t, os.Truncate(file, 1<<30)) // a hole
			r.writes("b1", "\nthe last line\n")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			turn := r.Prompt(r.session, "go")
			r.shows("toolu_1", "the last line")
			r.shows("toolu_1", "… 1073.7 MB left out …")
			r.cli.Release("go")
			turn.Ends(acp.StopReasonEndTurn)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
		})
	}
}

// TestOutputThatIsNotThere runs commands whose output cannot be followed.
func TestOutputThatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]string{"no file": "b9", "a link": "link", "a way out": "../../../../secret", "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			r := withTasks(t, false, turns(steps{ct.Message(ct.Command("toolu_1", task, "the result", ct.Wait("go"))), ct.Text("done")}))
			secret := filepath.Join(r.tasks, "../../../..", "secret.output")
			require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
			require.NoError(t, os.Symlink(secret, filepath.Join(r.tasks, "link.output")))
			turn := r.Prompt(r.session, "go")
			r.cli.Release("go")
			turn.Ends(acp.StopReasonEndTurn)
			require.Contains(t, r.Tool(r.session, "toolu_1")["content"], "the result")
			for _, u := range r.of("toolu_1") {
				require.NotContains(t, u.Raw, "secret\\n")
				require.NotEqual(t, "in_progress", u.Get("status").Str)
			}
		})
	}
}

// TestOutputOfACommandThatIsCutOff ends with what was written last.
func TestOutputOfACommandThatIsCutOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		last ct.Step
		how  func(*running)
	}{
		"the CLI dies":       {ct.Die(1), func(r *running) { r.cli.Release("go") }},
		"the turn is ended":  {ct.Hang(), func(r *running) { r.Cancel(r.session) }},
		"the session closes": {ct.Hang(), func(r *running) { r.Call(acp.AgentMethodSessionClose, fmt.Sprintf(`{"sessionId":%q}`, r.session)) }},
	} {
		t.Run(name, func(t *testing.T) {
			wait := ct.Wait("go")
			r := withTasks(t, true, turns(steps{ct.Message(ct.Command("toolu_1", "b1", "never", wait, test.last))}))
			r.writes("b1", "one\n")
			turn := r.Prompt(r.session, "go")
			r.shows("toolu_1", "one")
			r.writes("b1", "two\n")
			test.how(r)
			turn.Failed()
			require.Equal(t, "one\ntwo\n", r.printed("toolu_1"))
			require.Equal(t, []string{"null"}, r.exits("toolu_1"))
			require.Equal(t, "failed", r.Tool(r.session, "toolu_1")["status"])
		})
	}
}

// TestOutputOfAStoppedCommand stays: the result is for the model alone.
func TestOutputOfAStoppedCommand(t *testing.T) {
	for name, test := range map[string]struct {
		terminals bool
		more      string // is written while it is stopped
		content   string
	}{
		"terminal":            {true, "two\n", `[{"terminalId":"toolu_1","type":"terminal"},{"content":{"text":"Interrupted before it ended.","type":"text"},"type":"content"}]`},
		"all of it was shown": {false, "", `[{"content":{"text":"` + "```console\\none\\n```" + `","type":"text"},"type":"content"},{"content":{"text":"Interrupted before it ended.","type":"text"},"type":"content"}]`},
		"content":             {false, "two\n", `[{"content":{"text":"` + "```console\\none\\ntwo\\n```" + `","type":"text"},"type":"content"},{"content":{"text":"Interrupted before it ended.","type":"text"},"type":"content"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			r := withTasks(t, test.terminals, turns(steps{ct.Message(ct.Command("toolu_1", "b1", "never", ct.Hang()))}))
			r.writes("b1", "one\n")
			turn := r.Prompt(r.session, "go")
			r.shows("toolu_1", "one")
			r.writes("b1", test.more)
			r.Cancel(r.session)
			turn.Ends(acp.StopReasonCancelled)
			state := r.Tool(r.session, "toolu_1")
			require.Equal(t, "failed", state["status"])
			require.JSONEq(t, test.content, state["content"])
			if test.terminals {
				require.Equal(t, "one\ntwo\n", r.printed("toolu_1"))
				require.Equal(t, []string{"null"}, r.exits("toolu_1"))
			}
		})
	}
}

// TestBackgroundEndsWithTheCLI shows the last of a command when no turn runs.
func TestBackgroundEndsWithTheCLI(t *testing.T) {
	t.Parallel()
	r := withTasks(t, true, turns(steps{ct.Message(inBackground())}))
	r.writes("b1", "one\n")
	r.Prompt(r.session, "go").Ends(acp.StopReasonEndTurn)
	r.writes("b1", "two\n")
	r.Call(acp.AgentMethodSessionClose, fmt.Sprintf(`{"sessionId":%q}`, r.session))
	require.Equal(t, "one\ntwo\n", r.printed("toolu_1"))
	require.Equal(t, []string{"null"}, r.exits("toolu_1"))
}

// TestNoOutputWhileAQuestionWaits: no prompt runs then to show it in.
func TestNoOutputWhileAQuestionWaits(t *testing.T) {
	t.Parallel()
	r := withTasks(t, true, turns(steps{
		ct.Message(inBackground()),
		ct.Message(ct.Question("toolu_q", ct.Q("Which?", "H", false, "a", "b"))),
		ct.Wait("go"),
	}))
	r.writes("b1", "one\n")
	turn := r.Prompt(r.session, "go")
	r.Asked("Which?").Selects("__other__") // the client cannot send a text: the next prompt does
	turn.Ends(acp.StopReasonEndTurn)
	before := r.printed("toolu_1")
	for _, line := range []string{"two\n", "three\n"} {
		r.writes("b1", line)
		time.Sleep(600 * time.Millisecond) // what must not happen needs time to happen
	}
	require.Equal(t, before, r.printed("toolu_1"))
	turn = r.Prompt(r.session, "a")
	r.shows("toolu_1", "three")
	r.cli.Release("go")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "one\ntwo\nthree\n", r.printed("toolu_1"))
	r.Await(r.session, "both lines in one, as nothing was kept for later", func(u gjson.Result) bool {
		return strings.HasSuffix(u.Get("_meta.terminal_output.data").Str, "two\nthree\n")
	})
}

// An editor that gives the CLI another folder for its files sees output, too.
func TestOutputInAFolderOfTheSession(t *testing.T) {
	t.Parallel()
	r := withTasks(t, false, turns(steps{ct.Message(ct.Command("toolu_1", "b1", "one", ct.Wait("go"))), ct.Text("done")}))
	tmp := t.TempDir()
	r.session = r.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":{"claudeCode":{"options":{"env":{"CLAUDE_CODE_TMPDIR":%q}}}}}`, t.TempDir(), tmp)).Get("sessionId").Str
	r.tasks = filepath.Join(tmp, "claude-"+strconv.Itoa(os.Getuid()), "-some-folder", r.session, "tasks")
	require.NoError(t, os.MkdirAll(r.tasks, 0o700))
	r.writes("b1", "one\n")
	turn := r.Prompt(r.session, "go")
	r.shows("toolu_1", "```console\none\n```")
	r.cli.Release("go")
	turn.Ends(acp.StopReasonEndTurn)
}
