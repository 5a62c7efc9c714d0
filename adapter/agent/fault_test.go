package agent_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/agent"
	ct "github.com/acp-bridge/acp-bridge/adapter/claude/claudetest"
)

// fault is what goes wrong, once, at some moment of a question.
type fault struct {
	name string
	// step is what the CLI does by itself.
	step *ct.Step
	// strike does the rest, and says how the turn ends: "" goes on as if nothing
	// had been, dead, cancelled, left.
	strike func(*faulty) string
	// heavy ones are tried at one moment only, unless all is asked for.
	heavy bool
}

// The moments of a question: the agent works, the question is in front of the
// user, the answer has reached the agent.
var moments = []string{"before", "open", "answered"}

var faults = []fault{
	{name: "the CLI is killed", strike: func(x *faulty) string { x.signal(syscall.SIGKILL); return "dead" }},
	{name: "the CLI is stopped, then goes on", strike: func(x *faulty) string {
		x.stop()
		x.then = func() { x.signal(syscall.SIGCONT) }
		return ""
	}},
	{name: "the CLI is stopped, then killed", strike: func(x *faulty) string {
		x.stop()
		x.signal(syscall.SIGKILL)
		return "dead"
	}},
	{name: "the CLI is stopped, the user cancels", strike: func(x *faulty) string {
		x.stop()
		x.e.cancel(x.session)
		return "cancelled"
	}},
	{name: "the CLI closes its output", step: new(ct.CloseStdout()), strike: func(*faulty) string { return "dead" }},
	{name: "the CLI closes its input, the user cancels", step: new(ct.CloseStdin()), strike: func(x *faulty) string {
		x.cli.Await("the end of the input", func(lines []ct.Line) bool { return lines[len(lines)-1].EOF })
		x.e.cancel(x.session)
		return "cancelled"
	}},
	{name: "the editor leaves", strike: func(x *faulty) string { return "left" }},
	{name: "the editor leaves in the middle of a line", strike: func(x *faulty) string {
		x.write(`{"jsonrpc":"2.0","id":` + x.asked() + `,"result":{"outcome":{"outcome":"selected","optionId":"PostgreSQL"}`)
		return "left"
	}},
	{name: "the editor sends garbage", strike: sends("garbage\n\xff\xfe\x00\n{\"jsonrpc\"\n42\nnull\n")},
	{name: "the editor sends half a line", strike: sends(`{"jsonrpc":"2.0","method":"session/can` + "\n")},
	{name: "the editor uses an id twice", strike: sends(strings.Repeat(`{"jsonrpc":"2.0","id":"twice","method":"session/list","params":{}}`+"\n", 2))},
	{name: "the editor answers what was not asked", strike: func(x *faulty) string {
		for _, id := range []string{"424242", `"x"`, "null", "-1", `{}`} {
			x.write(x.answer(id) + "\n")
		}
		return ""
	}},
	{name: "the editor sends a batch", strike: func(x *faulty) string {
		x.write("[" + x.answer(x.asked()) + "]\n")
		return ""
	}},
	{name: "the editor sends a line that is too long", heavy: true, strike: func(x *faulty) string {
		x.write(`{"jsonrpc":"2.0","id":"long","method":"session/list","params":{"cursor":"` + strings.Repeat("x", 64<<20) + `"}}` + "\n")
		return ""
	}},
}

func sends(text string) func(*faulty) string {
	return func(x *faulty) string {
		x.write(text)
		return ""
	}
}

// Whatever goes wrong, and whenever: no answer is lost or invented, nothing
// hangs, no process is left, and the next prompt works where there is an
// editor. ACP_BRIDGE_FAULTS=N does all of it N times.
func TestFaults(t *testing.T) {
	times, all := 1, false
	if text := os.Getenv("ACP_BRIDGE_FAULTS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err, "ACP_BRIDGE_FAULTS")
		times, all = n, true
	}
	for _, f := range faults {
		for rung := range soakRungs {
			for _, moment := range moments {
				if f.heavy && !all && (moment != "open" || rung != "permission") {
					continue
				}
				t.Run(f.name+"/"+rung+"/"+moment, func(t *testing.T) {
					t.Parallel()
					for range times {
						newFaulty(t, rung, moment, f).run()
					}
				})
			}
		}
	}
}

// faulty is one question with a fault.
type faulty struct {
	*testing.T
	fault
	rung, moment string
	e            *editor
	cli          *ct.CLI
	session      string
	running      *turn    // nil while the question waits in the conversation
	open         *request // nil in the conversation
	lastAsked    atomic.Value
	then         func() // what follows on the user's next act
	given        bool
}

func newFaulty(t *testing.T, rung, moment string, f fault) *faulty {
	request := jsonOf(t, object{"type": "control_request", "request_id": "req-1-toolu_1", "request": object{
		"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", "input": object{"questions": qs(which)}}})
	plan := steps{ct.Text("Let me ask."), ct.Wait("before")}
	struck := steps{}
	if f.step != nil {
		struck = steps{ct.Wait("strike"), *f.step, ct.Hang()}
	}
	if moment == "before" {
		plan = append(plan, struck...)
		struck = nil
	}
	plan = append(plan, ct.Raw(string(request)))
	plan = append(plan, struck...)
	plan = append(plan, ct.Wait("answered"), ct.Text("Noted."))
	x := &faulty{T: t, fault: f, rung: rung, moment: moment}
	x.cli = ct.New(t, turns(plan, steps{ct.Text("More.")}, steps{ct.Text("More.")}))
	x.e = serve(t, agent.Options{
		Claude: x.cli.Path, First: soakRungs[rung].first, CancelGrace: 200 * time.Millisecond,
		Trace: func(wire string, in bool, line []byte) {
			if id := gjson.GetBytes(line, "id"); !in && id.Exists() && gjson.GetBytes(line, "method").Exists() {
				x.lastAsked.Store(id.Raw)
			}
		},
	})
	x.e.initialize(soakRungs[rung].caps)
	x.session = x.e.open(t.TempDir())
	return x
}

func (x *faulty) write(text string) {
	require.NoError(x, x.e.wire.send(text))
}

// asked is the id of the agent's last request.
func (x *faulty) asked() string {
	if id, ok := x.lastAsked.Load().(string); ok {
		return id
	}
	return "1"
}

// answer is a reply that no user gave.
func (x *faulty) answer(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"question_0":"PostgreSQL"},"outcome":{"outcome":"selected","optionId":"PostgreSQL"}}}`, id)
}

func (x *faulty) signal(s syscall.Signal) {
	require.NoError(x, syscall.Kill(x.cli.Starts()[0].Pid, s))
}

// stop stops the CLI and waits until it stands: all its threads take a moment.
func (x *faulty) stop() {
	x.signal(syscall.SIGSTOP)
	stat := fmt.Sprintf("/proc/%d/stat", x.cli.Starts()[0].Pid)
	stands := func() bool {
		text, err := os.ReadFile(stat)
		return err != nil || strings.Contains(string(text), ") T ") // there is no /proc, or it says so
	}
	require.Eventually(x, stands, patience, time.Millisecond)
}

func (x *faulty) run() {
	end := x.question()
	switch end {
	case "":
		x.running.ends(acp.StopReasonEndTurn)
		require.True(x, strings.HasSuffix(x.e.said(x.session), "Noted."))
	case "dead":
		if x.running == nil {
			x.running = x.e.prompt(x.session, "more")
		}
		x.running.fails("Claude Code")
	case "cancelled":
		if x.running != nil {
			x.running.ends(acp.StopReasonCancelled)
		}
		// A CLI that honoured the cancel just before it was stopped is still
		// there, and a silent CLI is waited for.
		_ = syscall.Kill(x.cli.Starts()[0].Pid, syscall.SIGCONT)
	}
	if end != "left" {
		x.e.prompt(x.session, "more").ends(acp.StopReasonEndTurn)
		require.True(x, strings.HasSuffix(x.e.said(x.session), "More."), x.e.said(x.session))
		require.Empty(x, x.e.requests, "nothing more is asked")
	}
	x.e.leave()
	for _, start := range x.cli.Starts() {
		require.ErrorIs(x, syscall.Kill(start.Pid, 0), syscall.ESRCH, "a process is left")
	}
	reply := gjson.ParseBytes(x.cli.Reply("toolu_1"))
	if end == "dead" && x.rung == "message" && x.moment == "open" && reply.Get("updatedInput.answers.Which database?").Str == "more" {
		return // the prompt was there before the death was seen, and is an answer
	}
	if x.given && (end == "" || x.moment == "answered") {
		require.JSONEq(x, `{"Which database?":"SQLite"}`, reply.Get("updatedInput.answers").Raw, "the answer is lost")
	} else {
		require.NotEqual(x, "allow", reply.Get("behavior").Str, "an answer is invented: %s", reply.Raw)
	}
}

// question plays up to the end of the turn, or to what the fault makes of it.
func (x *faulty) question() (end string) {
	x.running = x.e.prompt(x.session, "begin")
	x.e.await(x.session, "the text", func(u gjson.Result) bool { return strings.Contains(u.Raw, "Let me ask.") })
	if end = x.strikes("before"); end != "" {
		return end
	}
	x.cli.Release("before")
	x.proceeds()
	if x.rung == "message" {
		x.running.ends(acp.StopReasonEndTurn)
		require.Equal(x, "toolu_1", x.running.resp.Get("_meta.acp-bridge.waitingFor").Str)
		x.running = nil
	} else {
		x.open = x.e.next()
	}
	if end = x.strikes("open"); end != "" {
		return end
	}
	x.answers()
	x.proceeds()
	x.cli.AwaitReply("toolu_1")
	if end = x.strikes("answered"); end != "" {
		return end
	}
	x.cli.Release("answered")
	x.proceeds()
	return ""
}

// strikes lets the fault happen if its moment has come.
func (x *faulty) strikes(moment string) string {
	if x.moment != moment {
		return ""
	}
	if x.step != nil {
		x.cli.Release("before")
		x.cli.Release("strike")
	}
	end := x.strike(x)
	if end == "left" {
		x.e.leave()
	}
	return end
}

func (x *faulty) proceeds() {
	if x.then != nil {
		x.then()
		x.then = nil
	}
}

// answers is what the user says: SQLite.
func (x *faulty) answers() {
	x.given = true
	switch {
	case x.open == nil:
		x.running = x.e.prompt(x.session, "2")
	case x.open.method == acp.ClientMethodElicitationCreate:
		x.open.answer <- object{"action": "accept", "content": object{"question_0": "SQLite"}}
	default:
		x.open.selects("SQLite")
	}
}
