package backend_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// inPlan is a session whose model has made a plan, which is asked. Each step of going on
// with it in a clear context waits for its release.
type inPlan struct {
	*editor
	cli  *ct.CLI
	s    string
	turn *acptest.Turn
	plan *acptest.Request
	sent acptest.Written // to the CLI
}

const planned = "Implement the following plan:\n\n1. do it"

func planning(t *testing.T) *inPlan { return planningWith(t, ct.Script{SlowMode: "mode"}) }

func planningWith(t *testing.T, script ct.Script) *inPlan {
	script.Turns = []ct.Turn{
		{Match: "go", Steps: steps{ct.Message(ct.AskTool("toolu_1", "ExitPlanMode", object{"plan": "1. do it"}, "", nil)), ct.Text("never said")}},
		{Match: "/clear", Steps: steps{ct.Wait("clear")}},
		{Match: planned, Steps: steps{ct.Text("begun"), ct.Wait("plan"), ct.Text(", done")}},
		{Match: "next", Steps: steps{ct.Text("something else")}},
	}
	p := &inPlan{cli: ct.New(t, script)}
	p.editor = serve(t, backend.Options{Claude: p.cli.Path, Trace: func(wire string, dir ndjson.Direction, line []byte) {
		if wire != "editor" && dir == ndjson.Out {
			_, _ = p.sent.Write(line)
		}
	}})
	p.s = p.Ready()
	p.turn = p.Prompt(p.s, "go")
	p.plan = p.Asked("1. do it")
	return p
}

// reaches waits until the CLI is at a step.
func (p *inPlan) reaches(step string) {
	p.T.Helper()
	p.cli.Await(step, func([]ct.Line) bool {
		switch step {
		case "clear":
			return slices.Contains(p.cli.Prompts(), "/clear")
		case "mode":
			return len(p.cli.Controls("set_permission_mode")) == 1
		}
		return strings.Contains(p.Said(p.s), "begun")
	})
}

func (p *inPlan) releases(steps ...string) {
	for _, s := range steps {
		p.cli.Release(s)
	}
}

// next is a prompt behind it all, which gets its own answer.
func (p *inPlan) next() {
	p.T.Helper()
	before := p.Said(p.s)
	p.Prompt(p.s, "next").Ends(acp.StopReasonEndTurn)
	require.Equal(p.T, "something else", strings.TrimPrefix(p.Said(p.s), before))
}

// A plan of a turn that no prompt began is gone on with, too, and in the mode of the yes.
func TestPlanInClearContextUnprompted(t *testing.T) {
	t.Parallel()
	e, cli := scripted(t, ct.Script{Turns: []ct.Turn{
		{Match: "go", Steps: steps{ct.Text("later")}, After: steps{ct.Message(ct.AskTool("toolu_1", "ExitPlanMode", object{"plan": "1. do it"}, "", nil))}},
		{Match: "/clear"},
		{Match: planned, Steps: steps{ct.Text("done")}},
		{Match: "next", Steps: steps{ct.Text("something else")}},
	}})
	p := &inPlan{editor: e, cli: cli, s: e.Ready()}
	p.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+p.s+`","modeId":"plan"}`)
	p.Prompt(p.s, "go").Ends(acp.StopReasonEndTurn)
	e.Asked("1. do it").Selects("clear_auto")
	e.saying(p.s, "done")
	require.Equal(t, "auto", p.modeNow(p.s, gjson.Result{}), "it was chosen last")
	p.next()
	require.Len(t, cli.Prompts(), 4)
}

// What a mode is that the CLI refuses: the plan has not begun in another one.
func TestPlanInClearContextWithoutItsMode(t *testing.T) {
	t.Parallel()
	p := planningWith(t, ct.Script{NoMode: true})
	p.plan.Selects("clear_auto")
	p.releases(clearSteps...)
	p.turn.Fails("the plan was not begun, because the mode could not be changed")
	p.next()
	require.NotContains(t, p.Said(p.s), "begun")
}

// A mode that the user chooses while the context is cleared is the plan's.
func TestPlanInClearContextInAnotherMode(t *testing.T) {
	t.Parallel()
	p := planning(t)
	p.plan.Selects("clear_auto")
	p.reaches("clear")
	p.releases("mode")
	p.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+p.s+`","modeId":"default"}`)
	p.releases("clear", "plan")
	p.turn.Ends(acp.StopReasonEndTurn)
	for _, c := range p.cli.Controls("set_permission_mode") {
		require.Equal(t, "default", gjson.GetBytes(c, "mode").Str)
	}
}

// sets changes the mode, which the CLI takes when that is released.
func (p *inPlan) sets(mode string) {
	p.T.Helper()
	before := p.sent.Count(`"mode":"` + mode + `"`)
	go func() { _, _ = p.Try(acp.AgentMethodSessionSetMode, `{"sessionId":"`+p.s+`","modeId":"`+mode+`"}`) }()
	p.tells(`"mode":"`+mode+`"`, before+1)
}

// tells waits until the CLI was sent so many lines with a text.
func (p *inPlan) tells(text string, times int) {
	p.T.Helper()
	require.Eventually(p.T, func() bool { return p.sent.Count(text) >= times }, acptest.Patience, time.Millisecond, text)
}

// So it is when they choose it before, while the turn of the plan ends.
func TestPlanInClearContextInAnotherModeBefore(t *testing.T) {
	t.Parallel()
	p := planning(t)
	p.sets("plan") // until it has that, the CLI reads nothing
	p.plan.Selects("clear_auto")
	p.tells(`"behavior":"deny"`, 1)
	p.sets("default")
	p.releases(clearSteps...)
	p.turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "default", p.modeNow(p.s, gjson.Result{}))
	require.Zero(t, p.sent.Count(`"mode":"auto"`))
}

// A cancel takes back none that they have chosen.
func TestPlanInClearContextCancelledInAnotherMode(t *testing.T) {
	t.Parallel()
	p := planning(t)
	p.plan.Selects("clear_auto")
	p.releases("clear")
	p.reaches("mode")
	p.sets("acceptEdits")
	p.Cancel(p.s)
	p.Call(acp.AgentMethodSessionList, `{}`) // it is known
	p.releases(clearSteps...)
	p.turn.Ends(acp.StopReasonCancelled)
	p.next()
	require.Equal(t, "acceptEdits", p.modeNow(p.s, gjson.Result{}))
	require.Zero(t, p.sent.Count(`"mode":"plan"`))
}

var clearSteps = []string{"clear", "mode", "plan"}

// It is one prompt for the editor, and ends with the new context's turn. What the user
// sends meanwhile comes behind the plan.
func TestPlanInClearContext(t *testing.T) {
	t.Parallel()
	p := planning(t)
	early := p.Prompt(p.s, "next, early")
	p.cli.Await("the early prompt", func([]ct.Line) bool { return len(p.cli.Prompts()) == 2 })
	p.plan.Selects("clear_auto")
	p.reaches("clear")
	late := p.Prompt(p.s, "next, late")
	for _, step := range clearSteps {
		p.reaches(step)
		p.turn.Runs()
		p.releases(step)
	}
	p.turn.Ends(acp.StopReasonEndTurn)
	early.Ends(acp.StopReasonEndTurn)
	late.Ends(acp.StopReasonEndTurn)
	prompts := p.cli.Prompts()
	require.Equal(t, []string{"go", "next, early", "/clear"}, prompts[:3])
	require.True(t, strings.HasPrefix(prompts[3], planned))
	require.Equal(t, []string{"next, early", "next, late"}, prompts[4:])
	require.NotContains(t, p.Said(p.s), "never said")
	require.Contains(t, p.Said(p.s), "begun, done")
	require.Equal(t, "completed", p.Tool(p.s, "toolu_1")["status"])
	require.Equal(t, "auto", p.modeNow(p.s, gjson.Result{}))
	require.Equal(t, "deny", gjson.GetBytes(p.cli.Reply("toolu_1"), "behavior").Str)
}

// A cancel at each step ends the prompt as cancelled. Nothing more of it comes, but what became
// of the context, and until the plan has begun the session stays in its mode.
func TestPlanInClearContextCancelled(t *testing.T) {
	t.Parallel()
	for _, step := range clearSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := planning(t)
			p.plan.Selects("clear_auto")
			for _, s := range clearSteps[:slices.Index(clearSteps, step)] {
				p.releases(s)
			}
			p.reaches(step)
			p.Cancel(p.s)
			p.Call(acp.AgentMethodSessionList, `{}`) // it is known
			if step == "mode" {                      // the CLI ends the others by itself
				p.releases(step)
			}
			p.turn.Ends(acp.StopReasonCancelled)
			p.releases(clearSteps...)
			require.Equal(t, step == "clear", strings.Contains(p.Said(p.s), "The plan was not begun: the context was not cleared."))
			require.Equal(t, step == "mode", strings.Contains(p.Said(p.s), "The plan was not begun: the context is clear."))
			p.next()
			require.Equal(t, step == "plan", strings.Contains(strings.Join(p.cli.Prompts(), "|"), planned))
			if step != "plan" {
				p.cli.Await("the mode from before", func([]ct.Line) bool {
					modes := p.cli.Controls("set_permission_mode")
					return len(modes) == 0 || gjson.GetBytes(modes[len(modes)-1], "mode").Str == "plan"
				})
			}
		})
	}
}

// Cancelled at any moment: the prompt ends as cancelled, or was through.
func TestPlanInClearContextCancelledAtAnyMoment(t *testing.T) {
	t.Parallel()
	for i := range 30 {
		p := planning(t)
		p.releases(clearSteps...)
		p.plan.Selects("clear_auto")
		time.Sleep(time.Duration(i) * 500 * time.Microsecond)
		p.Cancel(p.s)
		<-p.turn.Done
		if p.turn.Resp.Get("stopReason").Str != string(acp.StopReasonEndTurn) {
			p.turn.Ends(acp.StopReasonCancelled)
		}
		p.next()
		p.Leave()
	}
}

// A prompt that comes behind the cancel is not begun in the mode of the plan.
func TestPlanInClearContextCancelledThenPrompted(t *testing.T) {
	t.Parallel()
	p := planning(t)
	p.plan.Selects("clear_auto")
	p.releases("clear")
	p.reaches("mode")
	p.Cancel(p.s)
	p.Call(acp.AgentMethodSessionList, `{}`) // it is known
	next := p.Prompt(p.s, "next")
	p.Call(acp.AgentMethodSessionList, `{}`) // it is known
	p.releases(clearSteps...)
	p.turn.Ends(acp.StopReasonCancelled)
	next.Ends(acp.StopReasonEndTurn)
	mode := ""
	for _, l := range p.cli.Lines() {
		m := gjson.ParseBytes(l.Raw)
		if m.Get("request.subtype").Str == "set_permission_mode" {
			mode = m.Get("request.mode").Str
		}
		if m.Get("type").Str == "user" && m.Get("message.content.0.text").Str == "next" {
			require.Equal(t, "plan", mode)
		}
	}
	require.Equal(t, "plan", mode)
}

// A prompt that the model has seen before its plan ends with it, and nobody has cancelled it.
func TestPlanInClearContextSteered(t *testing.T) {
	t.Parallel()
	read := ct.Tool("toolu_0", "Read", object{"file_path": "/x"}, "text")
	read.While = steps{ct.Wait("read")}
	e, cli := scripted(t, ct.Script{Turns: []ct.Turn{
		{Match: "go", Steps: steps{ct.Message(read), ct.Message(ct.AskTool("toolu_1", "ExitPlanMode", object{"plan": "1. do it"}, "", nil))}},
		{Match: "/clear"},
		{Match: planned, Steps: steps{ct.Text("done")}},
	}})
	s := e.Ready()
	turn := e.Prompt(s, "go")
	cli.Await("the first prompt", func([]ct.Line) bool { return len(cli.Prompts()) == 1 })
	e.Await(s, "the call", func(gjson.Result) bool { return len(e.Tool(s, "toolu_0")) > 0 })
	more := e.Prompt(s, "also this")
	cli.Await("the second prompt", func([]ct.Line) bool { return len(cli.Prompts()) == 2 })
	cli.Release("read")
	e.Asked("1. do it").Selects("clear_auto")
	more.Ends(acp.StopReasonEndTurn)
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "done")
}
