package claude

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// ControlError is the CLI's refusal of a control request.
type ControlError struct {
	Subtype string // of the request
	Message string // the CLI's own words
}

func (e *ControlError) Error() string {
	return fmt.Sprintf("Claude Code refused %s: %s", e.Subtype, e.Message)
}

// conn is the protocol over a pair of streams, without the process.
type conn struct {
	out *outbox
	log *slog.Logger
	// surfaced are the inbound control requests that the caller answers.
	surfaced map[string]bool
	// deliver takes what is for the caller. It may block.
	deliver func(Message)
	// drained, if set, is called before read waits for more.
	drained func()

	errors atomic.Pointer[[]string] // of the last result

	requests proc.Guarded[requests]
}

// requests are the control requests that have no reply yet.
type requests struct {
	pending map[string]chan controlReply // each has room for its reply
	last    uint64
	failed  error
}

type controlReply struct {
	response json.RawMessage
	err      error
}

func newConn(out *outbox, deliver func(Message), log *slog.Logger, surfaced []string) *conn {
	c := &conn{out: out, deliver: deliver, log: log, surfaced: map[string]bool{CanUseTool: true}, requests: proc.Guarded[requests]{Value: requests{pending: map[string]chan controlReply{}}}}
	c.forgetErrors()
	for _, s := range surfaced {
		c.surfaced[s] = true
	}
	return c
}

// read takes lines until the stream ends. It waits for a slow caller.
func (c *conn) read(lines *ndjson.Reader, trace func([]byte)) error {
	for {
		if c.drained != nil && !lines.Ready() {
			c.drained()
		}
		text, err := lines.Next()
		if err != nil && c.tooLong(err) {
			continue
		}
		if len(text) > 0 && (err == nil || err == io.EOF) {
			if trace != nil {
				trace(text)
			}
			c.handle(bytes.Clone(text)) // a message keeps its line
		}
		if err != nil {
			if c.drained != nil {
				c.drained()
			}
			return err
		}
	}
}

// tooLong reports whether err is about a line that is too long, which has been
// skipped then.
func (c *conn) tooLong(err error) bool {
	var over *ndjson.TooLong
	if !errors.As(err, &over) {
		return false
	}
	c.log.Warn("skipped a line of Claude Code that is too long", "bytes", over.Size, "limit", over.Limit)
	c.unreadable(over.Members, over.Error())
	return true
}

func (c *conn) handle(text []byte) {
	m, ok := ParseMessage(text)
	if !ok {
		c.log.Warn("skipped a line of Claude Code that is not a message", "bytes", len(text))
		c.unreadable(ndjson.Skim(text, skimmed...), "the line is not JSON, or nests too deep")
		return
	}
	switch m.Type {
	case typeControlResponse:
		c.resolve(m)
		return
	case TypeControlRequest:
		if !c.surfaced[m.Subtype] {
			c.log.Debug("refused a control request of Claude Code", "subtype", m.Subtype)
			if err := c.replyError(m.RequestID(), "acp-bridge does not support the control request "+strconv.Quote(m.Subtype)); err != nil {
				c.log.Debug("could not refuse a control request", "error", err)
			}
			return
		}
	case TypeResult:
		errs := m.Errors()
		c.errors.Store(&errs)
	}
	c.deliver(m)
}

// skimmed are the members that tell what a line is that cannot be read.
var skimmed = []string{"type", "request_id", "response.request_id"}

// unreadable answers a request that cannot be read, and ends the one that waits
// for a reply that cannot be read: nobody waits for ever.
func (c *conn) unreadable(m ndjson.Members, why string) {
	text := func(path string) string { return gjson.Parse(m[path]).Str }
	switch text("type") {
	case TypeControlRequest:
		if id := text("request_id"); id != "" {
			_ = c.replyError(id, "acp-bridge cannot read the request: "+why)
		}
	case typeControlResponse:
		c.settle(text("response.request_id"), controlReply{err: errors.New("the reply cannot be read: " + why)})
	}
}

// forgetErrors is called when a new turn begins: the errors of the last one say
// nothing about it.
func (c *conn) forgetErrors() { c.errors.Store(new([]string)) }

func (c *conn) resolve(m Message) {
	r := m.Get("response")
	id := r.Get("request_id").String()
	if r.Get("subtype").String() != "success" {
		c.settle(id, controlReply{err: errors.New(cmp.Or(r.Get("error").String(), "no reason given"))})
		return
	}
	var response json.RawMessage
	if v := r.Get("response"); v.Exists() {
		response = json.RawMessage(v.Raw)
	}
	c.settle(id, controlReply{response: response})
}

func (c *conn) settle(id string, reply controlReply) {
	if ch := c.forget(id); ch != nil {
		ch <- reply
	} else {
		c.log.Debug("a control response that nobody waits for", "request_id", id)
	}
}

// control sends a control request and waits for its reply.
func (c *conn) control(ctx context.Context, subtype string, fields map[string]any) (json.RawMessage, error) {
	request := map[string]any{}
	maps.Copy(request, fields)
	request["subtype"] = subtype

	ch := make(chan controlReply, 1)
	var id string
	var err error
	c.requests.Step(func(r *requests) {
		if err = r.failed; err == nil {
			r.last++
			id = "acp-bridge-" + strconv.FormatUint(r.last, 10)
			r.pending[id] = ch
		}
	})
	if err != nil {
		return nil, err
	}
	err = c.send(map[string]any{"type": TypeControlRequest, "request_id": id, "request": request})
	var broken <-chan time.Time
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, errInputClosed): // it ends: how is known in a moment
		broken = time.After(brokenGrace)
	case err != nil:
		c.forget(id)
		return nil, err
	}
	select {
	case <-broken:
		c.forget(id)
		return nil, err
	case r := <-ch:
		if r.err != nil && !errors.Is(r.err, ErrExited) {
			return nil, &ControlError{Subtype: subtype, Message: r.err.Error()}
		}
		return r.response, r.err
	case <-ctx.Done():
		c.forget(id)
		return nil, ctx.Err()
	}
}

// brokenGrace is how long the exit of a CLI that has closed its input is waited for. It
// is known when what the CLI had written is read.
const brokenGrace = 2 * readGrace

// forget returns what has waited for the reply, if anything has.
func (c *conn) forget(id string) (waits chan controlReply) {
	c.requests.Step(func(r *requests) {
		waits = r.pending[id]
		delete(r.pending, id)
	})
	return waits
}

// fail ends all pending control requests, and all to come, with err.
func (c *conn) fail(err error) {
	c.requests.Step(func(r *requests) {
		if r.failed != nil {
			return
		}
		r.failed = err
		for id, ch := range r.pending {
			delete(r.pending, id)
			ch <- controlReply{err: err}
		}
	})
}

// send queues one message. After fail it returns fail's error, which says
// more than a broken pipe.
func (c *conn) send(v any) error {
	text, err := encodeLine(v)
	if err != nil {
		return err
	}
	return c.sendLine(text)
}

func (c *conn) sendLine(text []byte) error {
	var failed error
	if c.requests.Step(func(r *requests) { failed = r.failed }); failed != nil {
		return failed
	}
	return c.out.send(text)
}

// reply answers a request. A result that cannot be encoded is an error for the
// CLI, too: it must not wait for ever.
func (c *conn) reply(id string, result any) error {
	text, err := encodeLine(map[string]any{"type": typeControlResponse, "response": map[string]any{
		"subtype": "success", "request_id": id, "response": result,
	}})
	if err != nil {
		return errors.Join(err, c.replyError(id, "acp-bridge cannot encode the answer: "+err.Error()))
	}
	return c.sendLine(text)
}

func (c *conn) replyError(id, message string) error {
	return c.send(map[string]any{"type": typeControlResponse, "response": map[string]any{
		"subtype": "error", "request_id": id, "error": message,
	}})
}
