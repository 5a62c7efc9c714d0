package client

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// told is what people elsewhere are told of the agent and what it asks.
type told struct {
	dir string

	mu            sync.Mutex
	name, version string
	takesNotes    bool                      // the agent reads what is written beside an answer
	sessions      map[string]*toldSession   // by their ids
	open          map[*waiting]gjson.Result // requests for permission
	minted        map[string]int            // names, by the agent's
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
	return &told{dir: dir, sessions: map[string]*toldSession{}, open: map[*waiting]gjson.Result{}, minted: map[string]int{}}
}

// in is what is known of a session.
func (t *told) in(session string) *toldSession {
	s := t.sessions[session]
	if s == nil {
		s = &toldSession{shapes: about.NewShapes()}
		if len(t.sessions) < maxTold {
			t.sessions[session] = s
		}
	}
	return s
}

// prompt takes what the user writes.
func (t *told) prompt(session, words string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in(session).words.Prompt(words)
}

// agent takes what the agent says of itself.
func (t *told) agent(info *acp.Implementation) {
	if info == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name, t.version = titleOf(info), clean.Line(info.Version)
	t.takesNotes = info.Name == "acp-bridge" // no other does
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
	t.mu.Lock()
	defer t.mu.Unlock()
	switch words := &t.in(session).words; u.Get("sessionUpdate").Str {
	case "agent_message_chunk":
		words.Say(u.Get("content.text").Str)
	case "user_message_chunk":
		words.Prompt(u.Get("content.text").Str)
	case "session_info_update":
		if title := u.Get("title").Str; title != "" {
			words.Name(title)
		}
	case "tool_call", "tool_call_update":
		t.shape(session, u)
	}
}

// shape takes what the agent shows of a tool call. A permission for it is described
// anew, if that is another one now.
func (t *told) shape(session string, call gjson.Result) {
	if !t.in(session).shapes.Saw(call) {
		return
	}
	for a, params := range t.asking(session, call) {
		close(a.description.over)
		t.describe(a, a.description.Call, params)
	}
}

// asking are the open requests for permission for a tool call.
func (t *told) asking(session string, call gjson.Result) iter.Seq2[*waiting, gjson.Result] {
	return func(yield func(*waiting, gjson.Result) bool) {
		for a, params := range t.open {
			if params.Get("sessionId").Str == session && params.Get("toolCall.toolCallId").Str == call.Get("toolCallId").Str && !yield(a, params) {
				return
			}
		}
	}
}

// asked takes a request of the agent, until [told.ended].
func (t *told) asked(a *waiting, params gjson.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.approval != nil {
		session, call := params.Get("sessionId").Str, params.Get("toolCall")
		if t.in(session).shapes.Saw(call) { // what is asked for is another thing, beside the first
			for other, params := range t.asking(session, call) {
				close(other.description.over)
				other.here = true
				t.describe(other, other.description.Call, params)
			}
		}
		t.open[a] = params
		if !t.takesNotes {
			a.reasons = nil
		}
	}
	t.describe(a, a.asksFor(), params)
}

func (t *told) ended(a *waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, a)
}

// description is what people elsewhere are told of a request.
type description struct {
	desk.Item
	elsewhere bool          // it is for them, too
	over      chan struct{} // closed when it is another one
}

// describe describes a request. What a person cannot see whole, or must not be kept,
// is for nobody elsewhere.
func (t *told) describe(a *waiting, call convert.Call, params gjson.Result) {
	d := description{over: make(chan struct{}), elsewhere: !a.secret}
	d.Check = func(answers []convert.Answer) error {
		_, err := a.reply(convert.Outcome{Status: convert.Answered, Answers: answers}, -1)
		return err
	}
	d.Kind, d.Call, d.Agent, d.Dir, d.Unqueued = desk.Question, call, t.name, t.dir, true
	d.Call.ID = t.mint(a.call.ID)
	d.About.Model = t.version
	in := t.in(params.Get("sessionId").Str)
	in.words.Tell(&d.About)
	if _, ok := t.open[a]; ok {
		var r acp.RequestPermissionRequest
		if r, d.elsewhere = in.shapes.Request(params); a.here {
			d.elsewhere = false
		}
		d.Kind, d.Check = desk.Permission, about.OneOption
		if d.elsewhere {
			c := about.PermissionCall(r)
			d.Call.Questions, d.Call.Input = c.Questions, c.Input
			d.About.Tool = about.ToolOf(r)
			d.About.Text, d.About.NoReason = about.TextOf(r), !t.takesNotes
		}
	}
	a.description = d
}

// mint is a name that nothing had before: an agent may ask for several things under
// one id, and for another one than before.
func (t *told) mint(id string) string {
	t.minted[id]++
	if n := t.minted[id]; n > 1 || id == "" {
		return fmt.Sprintf("%s:%d", cmp.Or(id, "form"), n)
	}
	return id
}

// described is the description of a request as it is now.
func (t *told) described(a *waiting) description {
	t.mu.Lock()
	defer t.mu.Unlock()
	return a.description
}

// describing is a context for asking the user of this program, in which the request
// is described. It ends when the request is another one.
func (t *told) describing(ctx context.Context, a *waiting) (context.Context, context.CancelFunc) {
	d := t.described(a)
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
func (t *told) greeted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return firstOf(strings.TrimSpace(t.name+" "+t.version), "the agent")
}
