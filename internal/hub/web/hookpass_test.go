package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
)

// theCall is what a call is, apart from how it is written: the input is one of passInputs.
type theCall struct {
	device, session, process, agent, tool, dir, prompt, mode string
	input                                                    int
}

// passInputs are different inputs, each in the ways in which the same can be written.
var passInputs = [][]string{
	{`{"command":"make","n":1}`, ` {"n":1, "command":"make"}`},
	{`{"command":"make","n":2}`},
	{`{"command":"make","n":9007199254740993}`}, {`{"command":"make","n":9007199254740992}`},
	{`{"command":"\ud800"}`}, {`{"command":"\udbff"}`},
	{`{"a":[1,2]}`}, {`{"a":[2,1]}`}, {`{"a":[{"b":1,"c":[]}]}`, `{"a":[{"c":[],"b":1}]}`}, {`{"a":[{"b":1},{"c":[]}]}`}, {`{"a":"[[b 1]]"}`},
	{`{"a":1,"a":2}`}, {`{"a":2,"a":1}`}, {`{"a":1,"\u0061":2}`}, {`{"\u0061":2,"a":1}`}, {`{}`}, {`{"":{}}`},
}

func (c theCall) event(t *rapid.T, name, id string) (Device, hook.Event) {
	input := rapid.SampledFrom(passInputs[c.input]).Draw(t, "input")
	return Device{Name: c.device}, hook.Event{
		Name: name, Session: c.session, Process: c.process, Agent: c.agent, Tool: c.tool, Dir: c.dir, Prompt: c.prompt,
		Input: json.RawMessage(input), ToolUse: id, Permits: c.mode, Held: id,
	}
}

// A pass is used once, by the call that was allowed, while it lasts, and by no other: whatever
// calls are made, and whatever ends meanwhile. Nothing else ever lets a call run.
func TestPassIsForOneCall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, playPasses)
}

func playPasses(t *rapid.T) {
	one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	type yes struct {
		theCall
		id    string
		until time.Time
		asked bool // for itself
	}
	var c calls
	var open []yes
	usual := theCall{"d", "s", "1", "", "Bash", "/p", "p1", "auto", 0}
	for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
		call, id := usual, fmt.Sprint("toolu_", n)
		for _, change := range rapid.SliceOfN(rapid.IntRange(0, 22), 0, 2).Draw(t, "changes") {
			to := []*string{&call.device, &call.session, &call.process, &call.agent, &call.tool, &call.dir, &call.prompt, &call.mode}
			if change < len(to) {
				*to[change] = one("other", "", "x", "y")
			} else {
				call.input = change % len(passInputs)
			}
		}
		if len(open) > 0 && rapid.Bool().Draw(t, "again") {
			call = rapid.SampledFrom(open).Draw(t, "of").theCall
		}
		now := time.Now()
		open = slices.DeleteFunc(open, func(y yes) bool { return !now.Before(y.until) })
		what := one("what", "arm", "arm", "ask", hook.PreToolUse, hook.PreToolUse, hook.PreToolUse, hook.PostToolUse, hook.PostToolBatch,
			hook.Stop, hook.UserPromptSubmit, hook.SubagentStop, hook.SessionEnd, hook.TakenBack, "sleep")
		d, e := call.event(t, what, id)
		over := func(y yes) bool { return false }
		switch what {
		case "sleep":
			past := time.Duration(rapid.IntRange(1, 6).Draw(t, "minutes")) * time.Minute
			for i := range open {
				open[i].until = open[i].until.Add(-past)
			}
			for i := range c.passes {
				c.passes[i].until = c.passes[i].until.Add(-past)
			}
			continue
		case "arm":
			e.Name = hook.PermissionDenied
			c.arm(d, e, "anna", now, true)
			open = append(open, yes{call, id, now.Add(passTime), false})
			continue
		case "ask":
			e.Name = hook.PermissionDenied
			c.take(d, e)
			open = slices.DeleteFunc(open, func(y yes) bool {
				o := y.theCall
				o.dir, o.prompt, o.mode = call.dir, call.prompt, call.mode
				return o == call
			})
			continue
		case hook.PreToolUse:
			if len(open) > 0 && !open[0].asked && rapid.IntRange(0, 9).Draw(t, "itself") == 0 {
				e.ToolUse, open[0].asked = open[0].id, true
			}
		case hook.Stop, hook.UserPromptSubmit, hook.SubagentStop:
			over = func(y yes) bool {
				return y.device == call.device && y.session == call.session && y.process == call.process && y.agent == call.agent
			}
		case hook.SessionEnd:
			over = func(y yes) bool {
				return y.device == call.device && y.session == call.session && y.process == call.process
			}
		case hook.TakenBack:
			if len(open) > 0 {
				e.Held = open[0].id
			}
			over = func(y yes) bool { return y.device == call.device && y.session == call.session && y.id == e.Held }
		case hook.PostToolBatch:
			e.Calls = []string{id}
			if len(open) > 0 {
				e.Calls = append(e.Calls, open[0].id)
			}
		}
		said := c.see(d, e)
		open = slices.DeleteFunc(open, over)
		i := slices.IndexFunc(open, func(y yes) bool { return y.theCall == call && y.id != e.ToolUse })
		switch {
		case what == hook.PreToolUse && i >= 0:
			if string(said) != string(hook.Pass("anna", e.Permits)) {
				t.Fatalf("it was allowed, and is told %s", said)
			}
			open = slices.Delete(open, i, i+1)
		case what == hook.PostToolBatch:
			known := slices.ContainsFunc(open, func(y yes) bool {
				return slices.Contains(e.Calls, y.id) && y.device == call.device && y.session == call.session && y.process == call.process && y.agent == call.agent
			})
			if known != (string(said) != "{}") {
				t.Fatalf("the model is told %s", said)
			}
		case string(said) != "{}":
			t.Fatalf("nobody allowed it, and it is told %s", said)
		}
	}
}
