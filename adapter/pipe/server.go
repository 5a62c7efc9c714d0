package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// errInputEnded is the cause with which a request's context ends when the input
// ends. It wraps [convert.ErrWithdrawn].
var errInputEnded error = inputEnded{}

var errNobody = errors.New("pipe: a Server needs a Resolver: nobody would answer")

type inputEnded struct{}

// Error implements error.
func (inputEnded) Error() string { return "the input ended before the question was answered" }

// Unwrap returns [convert.ErrWithdrawn].
func (inputEnded) Unwrap() error { return convert.ErrWithdrawn }

// Server answers requests. Resolver is needed, the rest is not.
type Server struct {
	// Resolver answers requests: one at a time, in order of arrival, and an
	// [adapter.Poster] side by side. It is asked also for those that were waiting
	// when the input ended, with a context that has ended: its answers count, and
	// so does a user's cancel.
	Resolver adapter.Resolver
	// Wait answers what is open after the input has ended, instead of withdrawing
	// it.
	Wait bool
	// Dialect is "pi" or "opal" to take requests of that kind only.
	Dialect string
	// Report is told of lines that cannot be answered. It must not block.
	Report func(problem string)
	// Else, if not nil, gets the lines that are neither pi's request nor Opal's,
	// in place of Report and of an error response. It must not block.
	Else func(line []byte)
}

// Serve reads requests from in and writes responses, and nothing else, to out.
// It returns nil at the end of the input and the cause of ctx when that ends;
// in both cases after a response to everything that was open, see Wait. When ctx ends, a
// Read of in may be left behind.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if s.Resolver == nil {
		return errNobody
	}
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &session{Server: s, out: out, queue: proc.NewQueue[request](), end: end, open: map[string]bool{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		if err := c.read(in); !s.Wait || !errors.Is(err, errInputEnded) {
			end(err)
		}
	}()
	for open := true; open; {
		select {
		case <-c.queue.Ready:
		case <-read:
			open = false
		case <-inner.Done():
			open = false
		}
		for _, req := range c.queue.Take() {
			c.ask(inner, req)
		}
	}
	c.later.Wait()
	if ctx.Err() != nil { // also if the input has ended since
		return context.Cause(ctx)
	}
	if err := context.Cause(inner); !errors.Is(err, errInputEnded) {
		return err
	}
	return nil
}

// session is one run of a server.
type session struct {
	*Server
	queue *proc.Queue[request]
	end   context.CancelCauseFunc
	later sync.WaitGroup

	proc.Shared // has what follows
	out         io.Writer
	// open has the ids of requests that have no response yet. A response to one of
	// two with the same id would be taken for the other's.
	open map[string]bool
}

// ask asks whoever answers here, and responds now or when the answer has come.
func (c *session) ask(ctx context.Context, req request) {
	asking := adapter.Post(ctx, c.Resolver, req.Call)
	ready, _ := asking.(interface{ Ready() bool })
	if _, ok := c.Resolver.(adapter.Poster); ok && (ready == nil || !ready.Ready()) {
		c.later.Go(func() { c.finish(ctx, req, asking) })
		return
	}
	c.finish(ctx, req, asking)
}

// finish responds to a request when its outcome is there. One that is withdrawn
// gets a response, too, which takes nothing.
func (c *session) finish(ctx context.Context, req request, asking adapter.Asking) {
	o, err := asking.Wait()
	if o, _ = adapter.Settle(req.Call, o, err); endedWith(ctx, asking, o) {
		o = convert.Outcome{Status: convert.Failed, Reason: "withdrawn: " + adapter.Words(context.Cause(ctx))}
		_ = c.respond(req, dialect.Encode(req.Request, dialect.Reply{Outcome: o}).Body)
		return
	}
	reply := dialect.Reply{Outcome: o, AnsweredAt: time.Now(), Mode: "rpc"}
	if dated, ok := asking.(interface{ At() time.Time }); ok && o.Status == convert.Answered {
		reply.AnsweredAt = dated.At()
	}
	responded := false
	err = asking.Deliver(func() error {
		responded = true
		return c.respond(req, dialect.Encode(req.Request, reply).Body)
	})
	if !responded { // there is nothing to hand over any more
		reply.Outcome, _ = adapter.Settle(req.Call, convert.Outcome{}, err)
		_ = c.respond(req, dialect.Encode(req.Request, reply).Body)
	}
}

// endedWith reports whether a call ended because its context did: not if the user
// cancelled it, and not if it could not be asked in the first place.
func endedWith(ctx context.Context, asking adapter.Asking, o convert.Outcome) bool {
	if a, ok := asking.(interface{ Err() error }); ok && a.Err() != nil {
		return false
	}
	return ctx.Err() != nil && !o.Status.ByPerson() && o.Status != convert.Disconnected
}

// respond writes the response of a request. Its id may be used again then.
func (c *session) respond(req request, body []byte) (err error) {
	c.Step(func() {
		delete(c.open, req.id)
		err = c.write(body)
	})
	return err
}

// write writes a line, in a step. After an error nobody reads any more.
func (c *session) write(body []byte) error {
	_, err := c.out.Write(append(body, '\n'))
	if err != nil {
		err = fmt.Errorf("writing a response: %w", err)
		c.end(err)
	}
	return err
}

// maxLine bounds a request: it is kilobytes.
const maxLine = 16 << 20

// read takes lines until the input ends, and says why it ended.
func (c *session) read(in io.Reader) error {
	lines := ndjson.NewReader(in, maxLine)
	for n := 1; ; n++ {
		line, err := lines.Next()
		if errors.As(err, new(*ndjson.TooLong)) {
			c.report(n, fmt.Sprintf("longer than %d MiB", maxLine>>20))
			continue
		}
		c.take(n, line)
		switch {
		case errors.Is(err, io.EOF):
			return errInputEnded
		case err != nil:
			return fmt.Errorf("reading requests: %w", err)
		}
	}
}

func (c *session) take(n int, line []byte) {
	if c.Else != nil && !isRequest(line) {
		if len(line) > 0 {
			c.Else(line)
		}
		return
	}
	req, problem := c.decode(line)
	if problem == nil && req.Dialect != "" {
		problem = c.accept(req)
	}
	switch {
	case problem == nil && req.Dialect != "":
		c.queue.Put(req)
	case problem == nil: // an empty line
	case problem.response != nil:
		c.Step(func() { _ = c.write(problem.response) })
	default:
		c.report(n, problem.text)
	}
}

// accept notes that a request is open. One with the id of another that is open is
// refused: whoever sent both could not tell their answers apart.
func (c *session) accept(req request) (p *problem) {
	c.Step(func() {
		if c.open[req.id] {
			p = req.refuse("a request with this id is open")
		}
		c.open[req.id] = true
	})
	return p
}

func (c *session) report(line int, problem string) {
	if c.Report != nil {
		c.Report(fmt.Sprintf("line %d: %s", line, problem))
	}
}
