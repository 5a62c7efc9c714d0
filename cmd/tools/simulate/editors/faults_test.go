//go:build unix

package editors_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/served"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// The moments of a call of two questions: the agent works; the first question
// is in front of the user; a later one is, or its next round; the answers have
// reached the agent; the turn is over.
var moments = []string{"before", "open", "mid", "answered", "after"}

// faultRungs are the ways to ask: as in the soak, and the one on which the user
// takes Other in a request and types in the conversation.
var faultRungs = map[string]struct {
	first adapter.Rung
	caps  string
	// mid says which request or message is the one in the middle; a form has
	// none.
	mid int
	// database is what the user says to the first question.
	database string
}{
	"form":       {0, `{"elicitation":{"form":{}}}`, 0, "SQLite"},
	"permission": {0, `{}`, 3, "SQLite"},
	"message":    {adapter.Conversation, `{}`, 2, "SQLite"},
	"other":      {0, `{}`, 2, "Redis"},
}

// tick is how often a test looks: sixteen of them do, beside what they test.
const tick = 5 * time.Millisecond

// call1 is the call of the two questions, call2 the second one's tool call.
const call1, call2 = "toolu_1", "toolu_1:2"

// Whatever goes wrong, and whenever: no answer is lost or invented, nothing
// hangs, no process is left, and the next prompt works where there is an
// editor. Every fault happens on every rung, half of them behind the proxy, each time
// at another moment.
// ACP_BRIDGE_FAULTS=0 goes through all moments, but not with the race detector, N
// through all of it N times, the heavy faults included.
func TestFaults(t *testing.T) { testFaults(t, backend.Serve, 0) }

// The same with the proxy between the editor and the agent.
func TestFaultsProxied(t *testing.T) { testFaults(t, served.Proxied, 1) }

// faultsAtOnce bounds how many faults happen at a time: most of the time is waiting.
var faultsAtOnce = make(chan struct{}, 16)

func testFaults(t *testing.T, by served.By, half int) {
	t.Parallel()
	text, all := os.LookupEnv("ACP_BRIDGE_FAULTS")
	times := 0
	if all {
		var err error
		times, err = strconv.Atoi(text)
		require.NoError(t, err, "ACP_BRIDGE_FAULTS")
		all = times > 0 || !leaktest.Race
	}
	type one struct {
		fault
		rung, moment string
	}
	cases := make(chan one)
	var workers sync.WaitGroup
	for range cap(faultsAtOnce) {
		workers.Go(func() {
			for c := range cases {
				t.Run(c.name+"/"+c.rung+"/"+c.moment, func(t *testing.T) {
					faultsAtOnce <- struct{}{}
					defer func() { <-faultsAtOnce }()
					for range max(times, 1) {
						newFaulty(t, c.rung, c.moment, c.fault, by).run()
					}
				})
			}
		})
	}
	for i, f := range faults {
		for j, rung := range slices.Sorted(maps.Keys(faultRungs)) {
			at := f.momentsOn(rung, times > 0)
			if !all && (i+j)%2 != half {
				continue
			}
			if !all && len(at) > 0 {
				at = at[(i+j)/2%len(at):][:1]
			}
			for _, moment := range at {
				cases <- one{f, rung, moment}
			}
		}
	}
	close(cases)
	workers.Wait()
}

// momentsOn are those at which the fault can happen on a rung.
func (f fault) momentsOn(rung string, heavy bool) (at []string) {
	for _, moment := range moments {
		switch {
		case f.heavy && !heavy && (moment != "open" || rung != "permission"),
			moment == "mid" && faultRungs[rung].mid == 0,
			f.moments != "" && !strings.Contains(f.moments, moment):
			continue
		}
		at = append(at, moment)
	}
	return at
}

// faulty is one call with a fault.
type faulty struct {
	*testing.T
	fault
	rung, moment string
	e            *acptest.Editor
	cli          *ct.CLI
	session      string
	running      *acptest.Turn    // the last prompt
	queued       *acptest.Turn    // one behind it
	open         *acptest.Request // what the user has to answer
	waits        string           // the tool call that waits for words
	complete     bool             // the user has answered all
	heard        bool             // the agent has the answers
	skip         bool             // what was open is open no more
	then         func()           // what follows on the user's next act
	lastAsked    atomic.Value
	sent         atomic.Int64 // lines to the editor
	wire         served.Wire  // from it
}

func newFaulty(t *testing.T, rung, moment string, f fault, by served.By) *faulty {
	request := jsonOf(t, object{"type": "control_request", "request_id": "req-1-" + call1, "request": object{
		"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": call1, "input": object{"questions": qs(which, many)}}})
	var flood [2]steps // before the question, and after
	if f.flood {
		i := 1
		if moment == "before" {
			i = 0
		}
		flood[i] = steps{ct.Wait("flood"), ct.Burst(9_000)}
	}
	plan := append(steps{ct.Text("Let me ask.")}, flood[0]...)
	plan = append(plan, ct.Wait("before"), ct.Raw(string(request)))
	plan = append(plan, flood[1]...)
	plan = append(plan, ct.Wait("answered"), ct.Text("Noted."))
	x := &faulty{T: t, fault: f, rung: rung, moment: moment}
	x.cli = ct.New(t, ct.Script{Turns: []ct.Turn{{Steps: plan}, {Match: "more", Steps: steps{ct.Text("More.")}}}})
	x.e = by.To(t, backend.Options{
		Claude: x.cli.Path, First: faultRungs[rung].first, CancelGrace: 200 * time.Millisecond,
		Trace: func(wire string, dir ndjson.Direction, text []byte) {
			if wire != "editor" || dir == ndjson.In {
				return
			}
			x.sent.Add(1)
			if m := gjson.ParseBytes(text); m.Get("id").Exists() && m.Get("method").Exists() {
				x.lastAsked.Store(m.Get("id").Raw)
			}
		},
	})
	x.e.Initialize(faultRungs[rung].caps)
	x.session = x.e.Open(t.TempDir())
	return x
}

func (x *faulty) write(text string) { require.NoError(x, served.Send(x.e, text)) }

// arrives writes whole lines, and goes on when the agent has read them: what is
// sent before a question is no answer to it then.
func (x *faulty) arrives(lines string) {
	x.write(lines)
	x.e.Call(acp.AgentMethodSessionList, `{}`)
}

// breaks sends a reply that cannot be used. If it is one to what is open, the
// question is asked in another way.
func (x *faulty) breaks(text string) {
	x.arrives(text)
	x.skip = x.open != nil
}

// asked is the id of the agent's last request.
func (x *faulty) asked() string {
	if id, ok := x.lastAsked.Load().(string); ok {
		return id
	}
	return "1"
}

func (x *faulty) pid() int { return x.cli.Starts()[0].Pid }

func (x *faulty) signal(s syscall.Signal) { require.NoError(x, syscall.Kill(x.pid(), s)) }

func (x *faulty) closes(pipe syscall.Signal) { served.ClosePipe(x, x.cli, x.pid(), pipe) }

// stops is the user who cancels what a deaf CLI does; if it does nothing, on the
// next prompt.
func (x *faulty) stops() string {
	if x.moment == "after" {
		return "deaf"
	}
	x.e.Cancel(x.session)
	return "cancelled"
}

func (x *faulty) run() {
	end := x.play()
	switch end {
	case "":
		require.True(x, strings.HasSuffix(x.e.Said(x.session), "Noted."))
	case "dead":
		x.buries()
	case "deaf":
		pid := x.pid()
		gone := func() bool {
			x.running = x.e.Prompt(x.session, "more")
			x.e.Cancel(x.session) // perhaps before it is on its way
			<-x.running.Done
			return syscall.Kill(pid, 0) != nil
		}
		require.Eventually(x, gone, acptest.Patience, tick)
	case "cancelled":
		switch {
		case x.waits != "", x.moment == "after": // no prompt runs
		case strings.Contains(x.name, "answers") && (x.rung == "message" || x.rung == "other"):
			// What waits for words may have come before the cancel.
			if <-x.running.Done; !x.running.Resp.Get("_meta.acp-bridge.waitingFor").Exists() {
				x.running.Ends(acp.StopReasonCancelled)
			}
		default:
			x.running.Ends(acp.StopReasonCancelled)
		}
		// A CLI that honoured the cancel just before it was stopped is still
		// there, and a silent CLI is waited for.
		_ = syscall.Kill(x.pid(), syscall.SIGCONT)
	}
	if end != "left" {
		x.goesOn()
	}
	x.e.Leave()
	for _, start := range x.cli.Starts() {
		require.ErrorIs(x, syscall.Kill(start.Pid, 0), syscall.ESRCH, "a process is left: %s", served.Process(start.Pid))
	}
	reply := gjson.ParseBytes(x.cli.Reply(call1))
	if x.heard || x.complete && end == "" {
		want := jsonOf(x, object{"Which database?": faultRungs[x.rung].database, "Which features?": "Auth, Logs"})
		require.JSONEq(x, string(want), reply.Get("updatedInput.answers").Raw, "the answer is lost")
	} else {
		require.NotEqual(x, "allow", reply.Get("behavior").Str, "an answer is invented: %s", reply.Raw)
	}
}

// buries sees the prompt fail, or the next one if none runs.
func (x *faulty) buries() {
	switch {
	case x.moment == "after": // it may be seen when a prompt is on its way
		pid := x.pid()
		require.Eventually(x, func() bool {
			if x.running = x.e.Prompt(x.session, "more"); x.running.Failed() {
				require.ErrorContains(x, x.running.Err, "Claude Code")
			}
			return syscall.Kill(pid, 0) != nil
		}, acptest.Patience, tick)
		return
	case x.waits != "":
		failed := func() bool { return x.e.Tool(x.session, x.waits)["status"] == "failed" }
		require.Eventually(x, failed, acptest.Patience, tick)
		x.running = x.e.Prompt(x.session, "more")
	}
	x.running.Fails("Claude Code")
}

// goesOn sends a prompt that has nothing to do with the fault any more.
func (x *faulty) goesOn() {
	next := x.queued
	if next == nil {
		next = x.e.Prompt(x.session, "more")
	}
	x.proceeds()
	next.Ends(acp.StopReasonEndTurn)
	require.True(x, strings.HasSuffix(x.e.Said(x.session), "More."), x.e.Said(x.session))
	for len(x.e.Requests) > 0 {
		select {
		case <-(<-x.e.Requests).Withdrawn:
		default:
			require.Fail(x, "something more is asked")
		}
	}
	for _, id := range []string{call1, call2} {
		if tool := x.e.Tool(x.session, id); len(tool) > 0 {
			require.Contains(x, []string{"completed", "failed"}, tool["status"], "%s stays open", id)
		}
	}
}

// play plays up to the end of the turn, or to what the fault makes of it.
func (x *faulty) play() (end string) {
	x.running = x.e.Prompt(x.session, "begin")
	x.e.Await(x.session, "the text", func(u gjson.Result) bool { return strings.Contains(u.Raw, "Let me ask.") })
	if end = x.strikes("before"); end != "" {
		return end
	}
	x.cli.Release("before")
	x.proceeds()
	for asked := 1; ; {
		switch x.next() {
		case "open":
			moment := map[int]string{1: "open", faultRungs[x.rung].mid: "mid"}[asked]
			asked++
			if end = x.strikes(moment); end != "" {
				return end
			}
			if x.skip {
				x.skip, x.open = false, nil
				break
			}
			x.answers()
			x.proceeds()
		case "heard":
			x.heard = true
			if end = x.strikes("answered"); end != "" {
				return end
			}
			x.cli.Release("answered")
			x.proceeds()
		case "over":
			x.running.Ends(acp.StopReasonEndTurn)
			return x.strikes("after")
		}
	}
}

// next waits until something is open, the answers have been heard, or the turn
// is over.
func (x *faulty) next() (what string) {
	require.Eventually(x, func() bool {
		select {
		case x.open = <-x.e.Requests:
			what = "open"
			return true
		case <-x.running.Done:
			what = "over"
			if x.waits = x.running.Resp.Get("_meta.acp-bridge.waitingFor").Str; x.waits != "" {
				what = "open"
			}
			return true
		default:
		}
		if !x.heard && x.cli.Reply(call1) != nil {
			what = "heard"
		}
		return what != ""
	}, acptest.Patience, tick, "nothing happens")
	return what
}

// strikes lets the fault happen if its moment has come.
func (x *faulty) strikes(moment string) string {
	if x.moment != moment {
		return ""
	}
	end := x.strike(x)
	if end == "left" {
		x.e.Leave()
	}
	return end
}

func (x *faulty) proceeds() {
	if x.then != nil {
		x.then()
		x.then = nil
	}
}

// answers is what the user says to what is open.
func (x *faulty) answers() {
	r, waits, database := x.open, x.waits, faultRungs[x.rung].database
	x.open, x.waits = nil, ""
	switch {
	case waits == call1:
		x.running = x.e.Prompt(x.session, database)
	case waits != "":
		x.running = x.e.Prompt(x.session, "1,3")
		x.complete = true
	case r.Method == acp.ClientMethodElicitationCreate:
		r.Answer <- object{"action": "accept", "content": object{"question_0": database, "question_1": []string{"Auth", "Logs"}}}
		x.complete = true
	case strings.Contains(r.Options(), database):
		r.Selects(database)
	case strings.Contains(r.Options(), "PostgreSQL"):
		r.Selects("__other__")
	case strings.Contains(r.Options(), "Auth="):
		r.Selects("Auth")
	case strings.Contains(r.Options(), "Logs="):
		r.Selects("Logs")
	default:
		r.Selects("__done__")
		x.complete = true
	}
}
