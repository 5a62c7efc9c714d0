package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

const methodCancelRequest = "$/cancel_request"

// maxRunning is how many requests of the peer may be unanswered at a time;
// further ones are refused.
const maxRunning = 10_000

// Handler answers what the peer sends. params is nil where the message had
// none, and is the handler's to keep. A panic of a handler is logged and
// answered with an internal error; nothing else comes of it.
type Handler interface {
	// Request returns the result of a request, which is encoded as JSON. It runs
	// in its own goroutine and may block and use the Conn. ctx ends when the peer
	// withdraws the request ($/cancel_request), with [CancelCause] as its cause, and
	// when the connection ends; the request is answered all the same, and ctx ends
	// with that, too. An error that is (or wraps) a *acp.RequestError is the answer as
	// it is. Others become -32603, and context.Canceled after ctx ended becomes -32800.
	Request(ctx context.Context, method string, params json.RawMessage) (any, error)

	// Notify takes a notification. Nothing that arrived later is looked at until
	// it returns, so it must not block, and must not Call: the answer would be
	// behind it. ctx ends with the connection. $/cancel_request is not passed on.
	Notify(ctx context.Context, method string, params json.RawMessage)
}

// Acceptor is a Handler that takes note of requests in the order in which they
// arrive. Accept and Notify are never called at the same time, and what Accept
// did is done when either is called for anything that arrived later: a prompt
// that Accept enqueues is found by the session/cancel behind it.
type Acceptor interface {
	Handler

	// Accept is called for every request, with what Request would get, and must
	// not block. The Answer it returns runs in its own goroutine in place of
	// Request; nil leaves the request to Request.
	Accept(ctx context.Context, method string, params json.RawMessage) Answer
}

// Answer returns what [Handler].Request would.
type Answer func() (any, error)

// inbound is a request of the peer that is being answered.
type inbound struct {
	id     string // raw
	key    string
	method string
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (c *Conn) handleRequest(m message) {
	req, ok := c.begin(m)
	if !ok {
		c.log.Warn("request refused: too many unanswered", "limit", maxRunning)
		c.reply(m.id.Raw, &acp.RequestError{Code: ndjson.Internal, Message: fmt.Sprintf("more than %d requests unanswered", maxRunning)})
		return
	}
	params := rawParams(m)
	if req.method == acp.AgentMethodInitialize {
		c.declare(params)
	}
	answer := Answer(func() (any, error) {
		if c.handler == nil {
			return nil, acp.NewMethodNotFound(req.method)
		}
		return c.handler.Request(req.ctx, req.method, params)
	})
	if c.accept != nil {
		accepted := Answer(func() (any, error) { return nil, notReturned(req.method) }) // stands after a panic
		c.guard(req.method, func() { accepted = c.accept.Accept(req.ctx, req.method, params) })
		if accepted != nil {
			answer = accepted
		}
	}
	go c.serve(req, answer)
}

func (c *Conn) begin(m message) (*inbound, bool) {
	req := &inbound{id: m.id.Raw, key: requestKey(m.id), method: m.method.Str}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running >= maxRunning {
		return nil, false
	}
	c.running++
	req.ctx, req.cancel = context.WithCancelCause(c.ctx)
	c.inflight[req.key] = req
	return req, true
}

// Then is a result of a request with something to do once it is on its way:
// what f sends comes behind the answer. f runs in the request's goroutine.
func Then(result any, f func()) any { return then{result, f, false} }

// Sent is Then for something to do only if the peer was there to get the result.
func Sent(result any, f func()) any { return then{result, f, true} }

type then struct {
	result any
	f      func()
	sent   bool
}

func (c *Conn) serve(req *inbound, answer Answer) {
	var line []byte
	var after then
	defer func() {
		if line == nil { // answer did not return: a panic or runtime.Goexit
			line = errorLine(req.id, notReturned(req.method))
		}
		err := c.out.send(context.Background(), nil, line, true) // fails if nobody is there to read it
		ended := c.Err()
		if there := err == nil && (ended == nil || errors.Is(ended, errClosedHere)); after.f != nil && (there || !after.sent) {
			c.guard(req.method, after.f)
		}
		c.end(req)
	}()
	c.guard(req.method, func() {
		result, err := answer()
		if t, ok := result.(then); ok {
			result, after = t.result, t
		}
		if err == nil {
			var body []byte
			if body, err = json.Marshal(result); err == nil {
				line = resultLine(req.id, body)
				return
			}
		}
		line = errorLine(req.id, replyError(req.ctx, err))
	})
}

func (c *Conn) end(req *inbound) {
	req.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inflight[req.key] == req {
		delete(c.inflight, req.key)
	}
	if c.running--; c.running == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

func (c *Conn) handleNotification(m message) {
	if m.method.Str == methodCancelRequest {
		c.cancelRequest(gjson.Get(m.params.Raw, "requestId"), CancelCause([]byte(m.params.Raw)))
		return
	}
	if c.handler != nil {
		c.guard(m.method.Str, func() { c.handler.Notify(c.ctx, m.method.Str, rawParams(m)) })
	}
}

func (c *Conn) cancelRequest(id gjson.Result, why error) {
	if !answerable(id) {
		c.log.Warn("cancel of no request ignored", "method", methodCancelRequest)
		return
	}
	c.mu.Lock()
	req := c.inflight[requestKey(id)]
	c.mu.Unlock()
	if req != nil {
		req.cancel(why)
	}
}

// handleResponse settles the call that m answers. Answers to nothing are usual:
// the call was cancelled, or the peer answers twice.
func (c *Conn) handleResponse(m message) {
	id, ok := callID(m.id)
	p := (*call)(nil)
	if ok {
		p = c.take(id)
	}
	if p != nil {
		p.showing.Came()
	}
	switch {
	case p == nil && m.id.Type == gjson.Null && m.err.Exists():
		level := slog.LevelWarn
		if c.unread.Swap(true) {
			level = slog.LevelDebug // a client that does not know an update says so each time
		}
		c.log.Log(context.Background(), level, "the peer could not read a line of ours", "code", PeerError(m.err).Code)
	case p == nil:
		c.log.Debug("answer to no pending call ignored", "id", clip(m.id.Raw))
	case p.heard != nil:
		p.heard(given(m.err))
	case p.ctx.Err() != nil:
		p.done <- reply{err: cancelledError(p.ctx, p.method)}
	case given(m.err):
		p.done <- reply{err: PeerError(m.err)}
	case !m.result.Exists():
		p.done <- reply{result: json.RawMessage("null")}
	default:
		p.done <- reply{result: json.RawMessage(m.result.Raw)}
	}
}

// guard runs f and logs its panic.
func (c *Conn) guard(method string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("handler panicked", "method", clip(method), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}

func notReturned(method string) *acp.RequestError {
	return acp.NewInternalError(map[string]any{"error": "the handler of " + clip(method) + " failed"})
}

func rawParams(m message) json.RawMessage {
	if !m.params.Exists() {
		return nil
	}
	return json.RawMessage(m.params.Raw)
}

// clip bounds what the peer gets into a log or message through us.
func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}
