package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// Defaults of [Options].
const (
	DefaultMaxLine      = 10<<20 - 1 // one byte under what the SDK's reader takes
	DefaultHighWater    = 1 << 20
	DefaultCloseTimeout = 2 * time.Second
)

// lastAnswers bounds how long the reader may go on after a failed write. A peer
// that answers and exits breaks our next write before its answer is read.
const lastAnswers = time.Second

// Options change how a Conn works. The zero value is good.
type Options struct {
	// Logger gets what goes wrong; nil discards it. An ordinary end of the
	// connection is logged at debug level, and so is, truncated, the content of
	// lines that could not be used: at other levels content is never logged.
	Logger *slog.Logger

	// MaxLine is the longest line taken from the peer, in bytes. Longer ones are
	// skipped in bounded memory: a request is refused, a call so answered fails.
	MaxLine int

	// HighWater is the number of bytes waiting to be written above which Call,
	// Notify and answers wait for the peer to read.
	HighWater int

	// CloseTimeout bounds Close.
	CloseTimeout time.Duration

	// Trace sees every line of both directions, in order, except lines over
	// MaxLine. It must not use the Conn.
	Trace ndjson.Trace
}

// Conn is one end of a connection. All methods may be called from any
// goroutine, and inside handlers as far as [Handler] allows.
type Conn struct {
	log     *slog.Logger
	unread  atomic.Bool // the peer said that it could not read a line of ours
	handler Handler
	accept  Acceptor // handler, if it is one
	from    *seen.Inlet
	in      *ndjson.Reader
	out     *writer
	trace   ndjson.Trace
	timeout time.Duration
	peer    seen.Peer

	ctx    context.Context // ends with the connection, its cause wraps ErrClosed
	cancel context.CancelCauseFunc

	closeOnce sync.Once
	closeErr  error

	mu       sync.Mutex
	closed   bool
	declared *acp.ClientCapabilities // by initialize
	lastID   uint64
	pending  map[uint64]*call
	inflight map[string]*inbound
	running  int           // requests not yet answered
	idle     chan struct{} // made by Close, closed when running falls to 0
	last     *time.Timer   // ends the connection after a failed write
}

// call is a request of ours. Whoever removes it from Conn.pending settles it:
// the reader and shut by one send on done, its caller by returning.
type call struct {
	ctx    context.Context
	method string
	done   chan reply // holds one
	// heard is called by the reader in place of a send, if not nil.
	heard func(refused bool)

	showing *seen.Showing // what it shows, nil for nothing
}

type reply struct {
	result json.RawMessage
	err    error
}

// New starts a connection that reads lines from r and writes lines to w. A nil
// h refuses every request and ignores notifications; nil opts are the defaults.
// r and w stay the caller's: Close does not close them, and the goroutines that
// sit in Read and Write return when those do.
//
// A program whose w is os.Stdout should ignore SIGPIPE: without that a peer that
// is gone ends the process at the next write, before the Conn can report it.
func New(r io.Reader, w io.Writer, h Handler, opts *Options) *Conn {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MaxLine = cmp.Or(max(o.MaxLine, 0), DefaultMaxLine)
	o.HighWater = cmp.Or(max(o.HighWater, 0), DefaultHighWater)
	o.CloseTimeout = cmp.Or(max(o.CloseTimeout, 0), DefaultCloseTimeout)
	o.Trace = o.Trace.Tapped("")

	from := seen.NewInlet(r)
	c := &Conn{
		log:      o.Logger,
		handler:  h,
		from:     from,
		in:       ndjson.NewReader(from, o.MaxLine, skimmed...),
		trace:    o.Trace,
		timeout:  o.CloseTimeout,
		pending:  make(map[uint64]*call),
		inflight: make(map[string]*inbound),
	}
	c.accept, _ = h.(Acceptor)
	c.out = newWriter(w, &o, c.writeFailed)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	go c.out.run()
	go c.read()
	return c
}

// Call sends a request and waits for its answer: the raw result, "null" if the
// peer gave none. It blocks until the answer comes, ctx ends or the connection
// does. An answer that has arrived is returned even if one of the others
// happened since. One that arrives after ctx has ended is none: what ended ctx
// may be a message that came before it.
//
// The error is a *acp.RequestError if the peer answered with one, and otherwise
// wraps ErrClosed, ErrProtocol or ctx.Err(). When ctx ends while the peer holds
// the request, the peer is sent $/cancel_request. When ctx has ended before,
// nothing is sent.
func (c *Conn) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := c.prepare(ctx, method, params)
	if err != nil {
		return nil, err
	}
	showing := seen.Of(ctx)
	p := &call{ctx: ctx, method: method, done: make(chan reply, 1), showing: showing}
	id, ok := c.register(p)
	if !ok {
		return nil, c.closedCall(method)
	}
	request := appendRequest(make([]byte, 0, len(body)+len(method)+64), id, method, body)
	if err := c.send(ctx, method, request, showing == nil); err != nil {
		c.take(id)
		return nil, err
	}
	if showing != nil {
		defer c.follow(ctx, showing.Look())()
	}
	select {
	case r := <-p.done:
		return r.result, r.err
	case <-ctx.Done():
	}
	if c.take(id) == nil { // settled: the reply is there, or about to be
		r := <-p.done
		return r.result, r.err
	}
	if c.peer.NoCancel.Load() {
		return nil, cancelledError(ctx, method)
	}
	c.out.force(appendNotification(nil, methodCancelRequest, CancelParams(ctx, strconv.AppendUint(nil, id, 10))))
	return nil, cancelledError(ctx, method)
}

// Notify sends a notification. It returns once that is queued, and blocks while
// more than HighWater bytes are, until ctx or the connection ends. The error
// wraps ErrClosed or ctx.Err(); then nothing was sent.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	body, err := c.prepare(ctx, method, params)
	if err != nil {
		return err
	}
	return c.notify(ctx, method, body, true)
}

// Queue is Notify for what something else is sent right behind, or Flush is
// called: it may wait for that and go out in the same write. params is JSON on
// one line, which is not checked.
func (c *Conn) Queue(ctx context.Context, method string, params json.RawMessage) error {
	return c.notify(ctx, method, params, false)
}

// Send is Notify, or Queue if it is not urgent, of a notification that is encoded
// already. It is not checked.
func (c *Conn) Send(ctx context.Context, method string, notification []byte, urgent bool) error {
	if ctx.Err() != nil {
		return cancelledError(ctx, method)
	}
	return c.send(ctx, method, notification, urgent)
}

// Offer is Send of what is not urgent, without waiting for a peer that does not
// read: then nothing was sent, and full is closed when there may be room.
func (c *Conn) Offer(method string, notification []byte) (full <-chan struct{}, err error) {
	if c.ctx.Err() != nil {
		return nil, c.closedCall(method)
	}
	return c.out.offer(notification, false)
}

// Flush sends what Queue has kept. It does not wait.
func (c *Conn) Flush() { c.out.flush() }

func (c *Conn) notify(ctx context.Context, method string, body []byte, urgent bool) error {
	return c.Send(ctx, method, appendNotification(make([]byte, 0, len(body)+len(method)+48), method, body), urgent)
}

// Done is closed when the connection has ended: the peer closed it, or Close
// was called. Calls whose answers arrived before return them all the same.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err says why the connection ended, nil before Done. It wraps ErrClosed and
// the cause: io.EOF when the peer closed it, or the error of a read or write.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Close ends the connection. Pending calls fail, the contexts of handlers are
// cancelled, and what they still answer and what was sent before is written
// out, within CloseTimeout for all of it: a handler that calls Close itself
// makes it take that long. The error says that not everything was written.
func (c *Conn) Close() error {
	c.closeOnce.Do(func() {
		c.shut(errClosedHere)
		ctx, cancel := proc.Context(context.Background(), c.timeout)
		defer cancel()
		c.waitHandlers(ctx)
		c.closeErr = c.out.drain(ctx)
		c.out.stop(closedError(errClosedHere))
	})
	return c.closeErr
}

// prepare encodes params, unless ctx has ended.
func (c *Conn) prepare(ctx context.Context, method string, params any) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, cancelledError(ctx, method)
	}
	if params == nil {
		return nil, nil
	}
	body, err := Encode(params)
	if err != nil {
		return nil, fmt.Errorf("%s: encode params: %w", method, err)
	}
	return body, nil
}

func (c *Conn) send(ctx context.Context, method string, text []byte, urgent bool) error {
	if c.ctx.Err() != nil {
		return c.closedCall(method)
	}
	err := c.out.send(ctx, c.ctx.Done(), text, urgent)
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return c.closedCall(method)
	case ctx.Err() != nil:
		return cancelledError(ctx, method)
	default:
		return fmt.Errorf("%s: %w", method, err)
	}
}

func (c *Conn) closedCall(method string) error {
	<-c.ctx.Done() // which comes a moment after closed is set
	return fmt.Errorf("%s: %w", method, c.Err())
}

func (c *Conn) register(p *call) (id uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, false
	}
	c.lastID++
	c.pending[c.lastID] = p
	return c.lastID, true
}

// take removes a pending call, nil if it is settled already.
func (c *Conn) take(id uint64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	delete(c.pending, id)
	return p
}

// shut ends the connection for everybody but the writer, which goes on until
// Close so that answers still get out.
func (c *Conn) shut(cause error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	pending := c.pending
	c.pending = nil
	if c.last != nil {
		c.last.Stop()
	}
	c.mu.Unlock()

	err := closedError(cause)
	for _, p := range pending {
		if p.heard != nil {
			continue
		}
		p.done <- reply{err: fmt.Errorf("%s: %w", p.method, err)}
	}
	c.log.Debug("connection closed", "cause", cause)
	c.cancel(err)
}

// writeFailed leaves the end to the reader, which may be about to find answers,
// then the end of the stream.
func (c *Conn) writeFailed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.last = time.AfterFunc(lastAnswers, func() { c.shut(err) })
	}
}

func (c *Conn) waitHandlers(ctx context.Context) {
	c.mu.Lock()
	if c.running == 0 {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.idle = idle
	c.mu.Unlock()
	select {
	case <-idle:
	case <-c.out.dead:
	case <-ctx.Done():
	}
}
