package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// asking is a request of the agent that is answered here, and the editor as package
// adapter sees it for that.
type asking struct {
	*machine.Asker // its Ctx ends with the proxy, too
	p              *proxy
	id             string // as the agent knows it
	// in is the session in which a person types the answer: among its questions it
	// has its turn.
	in    *session
	asker *adapter.Adapter

	hide  func() // ends the showing that is
	again bool   // it was shown in a view that is gone
	// announced is the tool call that was shown for it.
	announced []byte
	name      string // at the desk
	asksAgain bool   // that of [desk.Item]
}

// maxOpen is how many questions may be open at a time; further ones are refused.
const maxOpen = 1000

// enter makes a question one of those that are open. What is entered must be left.
func (p *proxy) enter(id, name string, apart bool, ask poster) (*asking, error) {
	key := idKey([]byte(id))
	switch {
	case p.asker == nil:
		return nil, errors.New("the editor has not said yet what it can do")
	case p.open[key] != nil:
		return nil, fmt.Errorf("request %s is open already", id)
	case len(p.open) >= maxOpen:
		return nil, fmt.Errorf("%d questions are open", maxOpen)
	case p.over, p.ctx.Err() != nil: // nobody waits for one more at the end
		return nil, errStopped
	}
	in := p.session(p.typedIn(name))
	q := &asking{Asker: in.state.NewAsker(p.ctx, name), p: p, id: id, in: in, hide: func() {}, name: life.Mint()}
	q.asker = p.asker.With(q)
	q.Again = func() { q.again = true; q.hide() }
	if ask != nil {
		q.Post = func() { q.asks(ask) }
	}
	p.open[key] = q
	p.asking.Add(1)
	p.apply(q.in, machine.RequestCame{Key: q.Key, Apart: apart || q.in.id != name}, nil)
	return q, nil
}

// asks puts the question into its session's queue, and asks it in a goroutine of
// its own.
func (q *asking) asks(ask poster) {
	wait := ask(q)
	go func() { q.leave(q.p.wait(q.id, wait)) }()
}

// leave takes a question off the list, and tells the agent, if there is something
// to tell.
func (q *asking) leave(line []byte) {
	p, tells := q.p, line != nil
	var gone error
	defer p.asking.Done()
	p.Step(func() {
		p.apply(q.in, machine.RequestSettled{Key: q.Key}, nil)
		if gone = q.Gone(); tells && gone != nil {
			line, tells = errorLine(q.id, ndjson.Cancelled, "Cancelled"), false
		}
		delete(p.open, idKey([]byte(q.id)))
		if line != nil {
			p.agent.post(line)
		}
		p.apply(q.in, q.Replied(), nil)
	})
	switch {
	case tells:
		p.used(q.name)
	case line != nil && p.opts.Desk != nil:
		p.opts.Desk.Receipt(q.name, gone)
	}
}

// used says that the agent has the answer to what was asked, once it is written.
func (p *proxy) used(name string) {
	if p.agent.settle(); p.opts.Desk != nil && p.agent.err.Load() == nil {
		p.opts.Desk.Receipt(name, nil)
	}
}

// shows lets show do its part of a step in which the question is shown, and returns
// the context of that showing; nil if it may not be shown. While the editor opens
// the session anew, what was asked before waits for that; a request waits until the
// editor shows what it is sent. Step makes the step.
func (q *asking) shows(ctx context.Context, step func(func()), request bool, show func() bool) (view context.Context) {
	for {
		var wait <-chan struct{}
		step(func() {
			if q.Key <= q.in.shownBefore {
				wait = q.in.opens()
			}
			if wait == nil && request {
				wait = q.in.state.Attended()
			}
			if wait != nil {
				return
			}
			if q.again && q.announced != nil {
				q.p.editor.post(bytes.Clone(q.announced))
			}
			q.again = false
			view, q.hide = context.WithCancel(ctx)
			if !show() {
				q.hide()
				view = nil
			}
		})
		if wait == nil {
			return view
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil
		}
	}
}

// admit asks whether the question may go on.
func (q *asking) admit(ev machine.Event) bool {
	q.p.apply(q.in, ev, nil)
	return q.Admitted() // it is there
}

// AskInConversation shows a question in the conversation, ends the prompt that
// runs, and waits for the words of the next one.
func (q *asking) AskInConversation(ctx context.Context, m adapter.Message) (string, error) {
	return q.Converse(ctx, m.Text, m.Means, machine.Parking{
		Show: func(text string) (context.Context, func()) {
			view := q.park(ctx, m.ToolCallID, text)
			if view != nil {
				q.p.watch(view, q.Showing)
			}
			return view, q.hide
		},
		Tell: func(remark string) { q.p.say(q.in.id, remark) },
	})
}

// watch looks for evidence that the editor has come to all that was sent so far:
// behind the end of a prompt an editor sends those that it kept back.
func (p *proxy) watch(ctx context.Context, s *seen.Showing) {
	if s != nil {
		look := s.Look()
		look.From(p.from)
		p.editor.watch(ctx, look)
		p.calls.askBehind(look)
	}
}

// park makes a question the one that the next prompt answers, behind all that the
// agent has said so far. It returns the context of that showing, nil if there is
// none.
func (q *asking) park(ctx context.Context, toolCall, text string) (view context.Context) {
	p := q.p
	behind := func(do func()) {
		p.passing.Enter()
		defer p.passing.Leave()
		p.Step(do)
	}
	return q.shows(ctx, behind, false, func() bool {
		if !q.admit(machine.RequestParks{Key: q.Key}) {
			return false
		}
		p.say(q.in.id, "\n\n"+text)
		p.hold(q.in)
		return q.admit(machine.RequestParked{Key: q.Key, ToolCall: toolCall})
	})
}

// say puts a text of ours into the conversation, in a step or outside of one.
func (p *proxy) say(session, text string) {
	p.editor.post(textLine(session, text))
}

func textLine(session, text string) []byte {
	return notificationLine(acp.ClientMethodSessionUpdate, clean.JSON(map[string]any{
		"sessionId": session,
		"update": map[string]any{
			"sessionUpdate": "agent_message_chunk",
			"content":       map[string]any{"type": "text", "text": text},
			"messageId":     life.UUID(),
		},
	}))
}

// quote is s as a JSON string.
func quote(s string) []byte { return clean.JSON(s) }
