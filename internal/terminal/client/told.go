package client

import (
	"cmp"
	"context"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// told is what people are told of the agent and what it asks, here and elsewhere.
type told struct {
	dir string

	proc.Shared
	name, version string
	takesNotes    bool                      // the agent reads what is written beside an answer
	sessions      map[string]*toldSession   // by their ids
	open          map[*about.Asked]*waiting // requests for permission
}

// toldSession is what the agent has shown in a session.
type toldSession struct {
	words  about.Words
	shapes *about.Shapes
}

// maxTold bounds of how many sessions that is known: an agent's sub-agents may
// have their own.
const maxTold = 100

func newTold(dir string) *told {
	return &told{dir: dir, sessions: map[string]*toldSession{}, open: map[*about.Asked]*waiting{}}
}

// in is what is known of a session.
func (t *told) in(session string) *toldSession {
	s := t.sessions[session]
	if s == nil {
		s = &toldSession{shapes: new(about.Shapes)}
		if len(t.sessions) < maxTold {
			s.shapes = about.NewShapes()
			t.sessions[session] = s
		}
	}
	return s
}

// prompt takes what the user writes.
func (t *told) prompt(session, words string) {
	t.Step(func() { t.in(session).words.Prompt(words) })
}

// agent takes what the agent says of itself.
func (t *told) agent(info *acp.Implementation) {
	if info == nil {
		return
	}
	t.Step(func() {
		t.name, t.version = titleOf(info), clean.Line(info.Version)
		t.takesNotes = info.Name == "acp-bridge" // no other does
	})
}

// titleOf is what an agent calls itself.
func titleOf(info *acp.Implementation) string {
	if info.Title != nil && clean.Line(*info.Title) != "" {
		return clean.Line(*info.Title)
	}
	return clean.Line(info.Name)
}

// update takes what the agent shows.
func (t *told) update(session string, u gjson.Result) {
	t.Step(func() {
		switch s := t.in(session); u.Get("sessionUpdate").Str {
		case "agent_message_chunk":
			s.words.Say(u.Get("content.text").Str)
		case "user_message_chunk":
			s.words.Prompt(u.Get("content.text").Str)
		case "session_info_update":
			if title := u.Get("title").Str; title != "" {
				s.words.Name(title)
			}
		case "tool_call", "tool_call_update":
			for _, asked := range s.shapes.Saw(u) { // it is for something else now
				t.describe(t.open[asked])
			}
		}
	})
}

// asked takes a request of the agent, until [told.ended].
func (t *told) asked(a *waiting, params gjson.Result) {
	t.Step(func() {
		a.session, a.again = params.Get("sessionId").Str, params.Get("_meta.acp-bridge-again").Bool()
		if a.permission {
			a.asked = t.in(a.session).shapes.Ask(params)
			t.open[a.asked] = a
			if !t.takesNotes {
				a.reasons = nil
			}
		}
		t.describe(a)
	})
}

func (t *told) ended(a *waiting) {
	t.Step(func() {
		if a.asked != nil {
			a.asked.Over()
			delete(t.open, a.asked)
		}
	})
}

// description is a request as it is now.
type description struct {
	// here is what the user is asked. Signs mark the lines of its text that are lines of
	// a diff; verbatim says that it is shown letter by letter: what a machine is to do. A
	// question and a plan are words for people.
	here     convert.Call
	signs    []byte
	verbatim bool
	// Item is what people elsewhere are told, if it is for them, too.
	desk.Item
	elsewhere bool
	over      chan struct{} // closed when it is another one
}

// another reports whether the request is another one by now: what was said to this one
// does not answer it.
func (d *description) another() bool {
	select {
	case <-d.over:
		return true
	default:
		return false
	}
}

// sameHere reports whether the user sees no difference.
func (d *description) sameHere(e description) bool {
	return d.here.Questions[0].Text == e.here.Questions[0].Text && d.verbatim == e.verbatim
}

// describe describes a request, in place of how it was before. What a person cannot see
// whole, or must not be kept, is for nobody elsewhere.
func (t *told) describe(a *waiting) {
	if over := a.description.over; over != nil {
		close(over)
	}
	d := description{here: a.call, over: make(chan struct{}), elsewhere: !a.secret}
	d.here.Questions = slices.Clone(a.call.Questions)
	d.here.Questions[0].Closed = a.closed || a.call.Questions[0].Closed
	fits := func(answers []convert.Answer) error {
		_, err := a.reply(convert.Outcome{Status: convert.Answered, Answers: answers}, -1)
		return err
	}
	d.Kind, d.Agent, d.Dir, d.Unqueued, d.Again = desk.Question, t.name, t.dir, true, a.again
	d.About.Model = t.version
	t.in(a.session).words.Tell(&d.About)
	var r acp.RequestPermissionRequest
	if a.permission {
		r, d.elsewhere = a.asked.Request()
		d.here.Questions[0].Text, d.signs = approved(r, t.dir, a.asked.Lost())
		d.verbatim = r.ToolCall.Kind == nil || *r.ToolCall.Kind != acp.ToolKindSwitchMode
		d.Kind = desk.Permission
	}
	d.Call = d.here
	if a.permission && d.elsewhere {
		c := about.PermissionCall(r)
		d.Call.Questions, d.Call.Input = c.Questions, c.Input
		d.About.Tool = about.ToolTold(r)
		d.About.NoReason = !t.takesNotes
		fits = d.About.Check(c.Questions[0].Options)
	}
	d.Check = func(answers []convert.Answer) error {
		if d.another() {
			return errAnother
		}
		return fits(answers)
	}
	a.description = d
}

// described is the description of a request as it is now.
func (t *told) described(a *waiting) (d description) {
	t.Step(func() { d = a.description })
	return d
}

// describing is a context for asking the user of this program, in which the request
// is described. It ends when the request is another one.
func (d *description) describing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	go func() {
		select {
		case <-d.over:
			cancel(errAnother)
		case <-stop:
		}
	}()
	ctx = desk.Describing(ctx, func(it *desk.Item) bool {
		it.Agent, it.About, it.Check = d.Agent, d.About, d.Check
		it.Call.Questions, it.Call.Input = d.Call.Questions, d.Call.Input
		return d.elsewhere
	})
	return ctx, func() {
		close(stop)
		cancel(nil)
	}
}

// greeted is the agent's name and version.
func (t *told) greeted() (who string) {
	t.Step(func() { who = strings.TrimSpace(t.name + " " + t.version) })
	return cmp.Or(who, "the agent")
}
