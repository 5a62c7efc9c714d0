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
)

// ErrWithdrawn is the cause with which a request's context ends when the input
// ends.
var ErrWithdrawn = errors.New("the input ended before the question was answered")

var errNobody = errors.New("pipe: a Server needs a Resolver, or Ask: nobody would answer")

// Server answers requests. Resolver or Ask is needed, the rest is not.
type Server struct {
	// Resolver answers requests: one at a time, in order of arrival, and a
	// [Poster] side by side.
	Resolver adapter.Resolver
	// Ask takes the place of a Resolver for answers that others may use, too:
	// they are used once, see [Reply]. It is called for one request at a time, in
	// order of arrival, also for those that were waiting when the input
	// ended, with a context that has ended. With such a context it returns
	// Cancelled without a reason, or the answers if it has them. With a reason it
	// was the user who cancelled.
	Ask func(ctx context.Context, c convert.Call) Reply
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

// Poster is a [adapter.Resolver] that gives calls their places at once and waits
// for them side by side, as [adapter.Adapter] does.
type Poster interface {
	adapter.Resolver
	// Post returns how to wait; wait must be called, once.
	Post(ctx context.Context, c convert.Call) (wait func() (convert.Outcome, error))
}

// Reply is how a request ended, or how to wait for that.
type Reply struct {
	dialect.Reply
	// Later, if not nil, waits for the reply. It runs beside later requests,
	// and the rest of this Reply does not count.
	Later func(ctx context.Context) Reply
	// Use, if not nil, writes the response of an answer that others may want to
	// use, too: it calls write while they cannot. A Reply that it returns stands
	// in place of this one, which was not written then.
	Use func(write func() error) *Reply
	// Done, if not nil, is called once: with true when the response was
	// written, with false when it was not or when it says that the request
	// was withdrawn.
	Done func(delivered bool)
}

// Serve reads requests from in and writes responses, and nothing else, to out.
// It returns nil at the end of the input and the cause of ctx when that ends;
// in both cases after a response to everything that was open, see Wait. When ctx ends, a
// Read of in may be left behind.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if s.Resolver == nil && s.Ask == nil {
		return errNobody
	}
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &session{Server: s, out: out, queue: newQueue(), end: end, open: map[string]bool{}}
	go func() {
		defer c.queue.close()
		if err := c.read(in); !s.Wait || !errors.Is(err, ErrWithdrawn) {
			end(err)
		}
	}()
	defer context.AfterFunc(inner, c.queue.close)()
	for {
		req, ok := c.queue.pop()
		if !ok {
			break
		}
		c.finish(inner, req, s.ask(inner, req.Call))
	}
	c.later.Wait()
	if err := context.Cause(inner); !errors.Is(err, ErrWithdrawn) {
		return err
	}
	return nil
}

// ask asks whoever answers here.
func (s *Server) ask(ctx context.Context, c convert.Call) Reply {
	if s.Ask != nil {
		return s.Ask(ctx, c)
	}
	if p, ok := s.Resolver.(Poster); ok {
		wait := p.Post(ctx, c)
		return Reply{Later: func(ctx context.Context) Reply {
			o, err := wait()
			return replyOf(ctx, c, o, err)
		}}
	}
	o, err := s.Resolver.Ask(ctx, c)
	return replyOf(ctx, c, o, err)
}

// replyOf is the reply with what a resolver returned. When the context has ended,
// it was nobody's choice.
func replyOf(ctx context.Context, c convert.Call, o convert.Outcome, err error) Reply {
	o, _ = adapter.Settle(c, o, err)
	if ctx.Err() != nil && o.Status != convert.Answered && o.Status != convert.Disconnected {
		o = convert.Outcome{Status: convert.Cancelled}
	}
	return Reply{Reply: dialect.Reply{Outcome: o, AnsweredAt: time.Now(), Mode: "rpc"}}
}

// session is one run of a server.
type session struct {
	*Server
	queue *queue
	end   context.CancelCauseFunc
	later sync.WaitGroup

	mu  sync.Mutex
	out io.Writer
	// open has the ids of requests that have no response yet. A response to one of
	// two with the same id would be taken for the other's.
	open map[string]bool
}

// finish responds to a request, now or when its answer has come.
func (c *session) finish(ctx context.Context, req request, r Reply) {
	if r.Later != nil {
		c.later.Go(func() { c.finish(ctx, req, r.Later(ctx)) })
		return
	}
	withdrawn := ctx.Err() != nil && r.Outcome.Status == convert.Cancelled && r.Outcome.Reason == ""
	if withdrawn { // by whoever ended the context, not by the user
		r.Reply = dialect.Reply{Outcome: convert.Outcome{Status: convert.Failed, Reason: "withdrawn: " + adapter.Words(context.Cause(ctx))}}
	}
	var err error
	write := func() error {
		err = c.respond(req, dialect.Encode(req.Request, r.Reply).Body)
		return err
	}
	if r.Use == nil || withdrawn {
		_ = write()
	} else if again := r.Use(write); again != nil {
		c.finish(ctx, req, *again)
		return
	}
	if r.Done != nil {
		r.Done(err == nil && !withdrawn)
	}
}

// respond writes the response of a request. Its id may be used again then.
func (c *session) respond(req request, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, req.id)
	return c.writeLocked(body)
}

// write writes a line.
func (c *session) write(body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked(body)
}

// writeLocked writes a line. After an error nobody reads any more.
func (c *session) writeLocked(body []byte) error {
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
			return ErrWithdrawn
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
		c.queue.push(req)
	case problem == nil: // an empty line
	case problem.response != nil:
		_ = c.write(problem.response)
	default:
		c.report(n, problem.text)
	}
}

// accept notes that a request is open. One with the id of another that is open is
// refused: whoever sent both could not tell their answers apart.
func (c *session) accept(req request) *problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[req.id] {
		return req.refuse("a request with this id is open")
	}
	c.open[req.id] = true
	return nil
}

func (c *session) report(line int, problem string) {
	if c.Report != nil {
		c.Report(fmt.Sprintf("line %d: %s", line, problem))
	}
}

// queue is requests that wait their turn.
type queue struct {
	mu     sync.Mutex
	some   *sync.Cond
	list   []request
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.some = sync.NewCond(&q.mu)
	return q
}

// push adds a request; after close it is lost, as is whatever was not read.
func (q *queue) push(r request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.list = append(q.list, r)
	}
	q.some.Signal()
}

// pop waits for a request; there is none when the queue is closed and empty.
func (q *queue) pop() (request, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 && !q.closed {
		q.some.Wait()
	}
	if len(q.list) == 0 {
		return request{}, false
	}
	r := q.list[0]
	q.list = q.list[1:]
	return r, true
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.some.Broadcast()
}
