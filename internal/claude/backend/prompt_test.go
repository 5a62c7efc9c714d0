package backend_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

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

// An editor that does not read slows the CLI down: nothing is lost, and memory
// does not grow with what the CLI has to say.
func TestSlowEditor(t *testing.T) {
	if !alone(t) {
		return
	}
	const n = 60_000 // some 20 MB of lines
	cli := ct.New(t, turns(steps{ct.Burst(n)}))
	e := serve(t, backend.Options{Claude: cli.Path, Logger: slog.New(slog.DiscardHandler)})
	s := e.Ready()
	e.Await(s, "commands", func(u gjson.Result) bool { return u.Get("availableCommands").Exists() })
	before := heapInUse()
	e.Gate.Close()
	turn := e.Prompt(s, "go")
	grown := int64(0)
	for range 100 { // time for a runaway to show
		time.Sleep(5 * time.Millisecond)
		grown = max(grown, heapInUse()-before)
	}
	turn.Runs()
	t.Logf("heap grew by %d kB", grown>>10)
	require.Less(t, grown, int64(8<<20)) // what may wait is 4 MiB; some is on its way on both sides of that
	e.Gate.Open()
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
