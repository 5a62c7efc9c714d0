package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// calls are requests of our own to a peer. Call and askBehind are no parts of a step.
type calls struct {
	p      *proxy
	to     *outlet
	prefix string
	peer   seen.Peer

	last    int
	pending map[string]*pending
	closed  error
}

// pending is a call that has no answer yet.
type pending struct {
	ctx    context.Context
	method string
	answer chan reply // holds one
	// heard is called in place of a send, if not nil.
	heard func(refused bool)

	showing *seen.Showing // what it shows, nil for nothing
}

type reply struct {
	result json.RawMessage
	err    error
}

func (c *calls) init(to *outlet, p *proxy) {
	c.p, c.to, c.prefix, c.pending = p, to, unique(), map[string]*pending{}
}

// call sends a request and waits for its answer. When ctx ends before, the peer
// is told, and the error wraps that of ctx.
func (c *calls) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("%s: encode params: %w", method, err)
	}
	var answer chan reply
	c.p.Step(func() { answer, err = c.send(ctx, method, body) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if showing := seen.Of(ctx); showing != nil {
		watch, stop := context.WithCancel(ctx)
		defer stop()
		c.p.watch(watch, showing)
	}
	select {
	case r := <-answer:
		return r.result, r.err
	case <-ctx.Done():
	}
	c.p.Step(c.giveUp)
	r := <-answer // also one that came at the same moment
	return r.result, r.err
}

// giveUp tells the peer, before it returns, of all calls whose contexts have ended.
func (c *calls) giveUp() {
	for id, p := range c.pending {
		if p.ctx.Err() != nil {
			delete(c.pending, id)
			if !c.peer.NoCancel.Load() {
				c.to.post(notificationLine(cancelMethod, conn.CancelParams(p.ctx, quote(id))))
			}
			p.answer <- reply{err: p.ended()}
		}
	}
}

// ended is the error of a call whose context has.
func (p *pending) ended() error { return fmt.Errorf("%s: %w", p.method, p.ctx.Err()) }

// send posts a request.
func (c *calls) send(ctx context.Context, method string, params []byte) (answer chan reply, err error) {
	if err := cmp.Or(c.closed, ctx.Err()); err != nil {
		return nil, err
	}
	answer = make(chan reply, 1)
	c.post(&pending{ctx: ctx, method: method, answer: answer, showing: seen.Of(ctx)}, params)
	return answer, nil
}

// post sends the request of a call.
func (c *calls) post(p *pending, params []byte) {
	c.last++
	id := c.prefix + strconv.Itoa(c.last)
	c.pending[id] = p
	c.to.post([]byte(`{"jsonrpc":"2.0","id":"` + id + `","method":"` + p.method + `","params":` + string(params) + `}`))
}

// askBehind sends the peer what it answers when it has come to all that was sent
// before. It does not wait.
func (c *calls) askBehind(l seen.Look) {
	c.peer.Ask(l, func(heard func(refused bool)) {
		c.p.Step(func() {
			if c.closed == nil {
				c.post(&pending{ctx: context.Background(), method: seen.Method, heard: heard}, seen.Params)
			}
		})
	})
}

// settle hands on an answer, and reports whether it is one to a call of ours.
// That counts also for calls that have been given up. What comes after the end of
// a call's context answers nothing: what ended it may be a message that came
// before.
func (c *calls) settle(m *message) bool {
	if len(m.id) < len(c.prefix)+2 || string(m.id[1:1+len(c.prefix)]) != c.prefix {
		return false
	}
	id := string(m.id[1 : len(m.id)-1])
	p := c.pending[id]
	delete(c.pending, id)
	if p != nil {
		p.showing.Came()
	}
	switch {
	case p == nil:
	case p.heard != nil:
		p.heard(given(m.err))
	case p.ctx.Err() != nil:
		p.answer <- reply{err: p.ended()}
	case given(m.err):
		p.answer <- reply{err: conn.PeerError(gjson.ParseBytes(m.err))}
	default:
		p.answer <- reply{result: json.RawMessage(cmp.Or(string(m.result), "null"))}
	}
	return true
}

// close fails all calls, also those to come.
func (c *calls) close(err error) {
	if c.closed != nil {
		return
	}
	c.closed = fmt.Errorf("%w: %w", conn.ErrClosed, err)
	for _, p := range c.pending {
		if p.heard == nil {
			p.answer <- reply{err: c.closed}
		}
	}
	c.pending = nil
}

// The lines of our own, without line ends.

func notificationLine(method string, params []byte) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + string(params) + `}`)
}

func resultLine(id string, result []byte) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":` + string(result) + `}`)
}

func errorLine(id string, code int, message string) []byte {
	body, _ := json.Marshal(acp.RequestError{Code: code, Message: message})
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"error":` + string(body) + `}`)
}
