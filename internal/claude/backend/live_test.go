//go:build unix

package backend_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

func TestOutputOfParallelCommands(t *testing.T) {
	t.Parallel()
	one := command("toolu_1", "b1", "first\nend", taskStarted("toolu_2", "b2"), ct.Wait("one"))
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

func TestOutputInTheBackground(t *testing.T) {
	t.Parallel()
	for name, terminals := range map[string]bool{"terminal": true, "content": false} {
		t.Run(name, func(t *testing.T) {
			r := withTasks(t, terminals, turns(
				steps{ct.Message(inBackground()), ct.Wait("one")},
				steps{ct.Wait("two"), ct.Raw(`{"type":"system","subtype":"task_notification","task_id":"b1","tool_use_id":"toolu_1","status":"completed","output_file":"","summary":"x"}`)},
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
			r := withTasks(t, terminals, turns(steps{ct.Message(command("toolu_1", "b1", "short", ct.Wait("go"))), ct.Text("done")}))
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
			r := withTasks(t, false, turns(steps{ct.Message(command("toolu_1", task, "the result", ct.Wait("go"))), ct.Text("done")}))
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
