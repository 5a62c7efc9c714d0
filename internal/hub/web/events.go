package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// beatTime is how often a stream that has nothing to say says so.
const beatTime = 15 * time.Second

// events streams changes: what waits now first, then everything that changes, or
// what has changed since the event that the client saw last.
func (s *Server) events(w http.ResponseWriter, r *http.Request, d Device) error {
	sees, err := s.streamed(r, d)
	if err != nil {
		return err
	}
	begun, to := s.board.Revision(), ""
	if d.Can == CanAsk {
		to = d.id()
	}
	after := cmp.Or(r.Header.Get("Last-Event-ID"), r.Form.Get("after"))
	return s.follow(w, r, d, feed{
		reader: s.reader(r, d, after),
		beat:   beatTime,
		change: func(out *stream, c *hub.Record) {
			then := func() *hub.Record { return s.then(c, d) }
			switch {
			case !sees(c):
			case !c.Open() && c.Revision <= begun: // it was told before, when something else may have waited
				out.Write(s.frames.encode(c, then()))
			default:
				out.Write(s.frames.event(c, to, then))
			}
		},
		turns: s.told(sees),
	})
}

// eventID names a change of this store.
func (s *Server) eventID(revision uint64) string {
	return fmt.Sprintf("%s-%d", s.board.Name(), revision)
}

// after reads what changes after an event of this store: what is none is from the beginning.
// One that was told before the store was opened may have been something else.
func (s *Server) after(id string) *hub.Reader {
	name, number, _ := strings.Cut(id, "-")
	was, _, _ := strings.Cut(name, ".")
	if is, _, _ := strings.Cut(s.board.Name(), "."); was != is {
		number = ""
	}
	revision, _ := strconv.ParseUint(number, 10, 64)
	reader := s.board.Read(revision)
	reader.AndOpen = name != s.board.Name()
	return reader
}

// feed is what a stream of changes says.
type feed struct {
	reader *hub.Reader
	beat   time.Duration
	change func(*stream, *hub.Record)
	// turns writes how turns have ended, and returns what is closed when there is more
	// of it.
	turns func(*stream) <-chan struct{}
}

// follow streams changes until the client, the device or the hub is gone.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, d Device, f feed) error {
	if err := s.enter(d); err != nil {
		return err
	}
	defer s.leave(d)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.access.being(d.login()), cancel)()
	defer context.AfterFunc(s.serving, cancel)()
	w.Header().Set("Content-Type", "text/event-stream")
	out := stream{w: w, long: func(p []byte) error { return s.long(w, d, p) }}
	fmt.Fprintf(&out, "retry: %d\n\n", retryTime)
	beat := time.NewTicker(f.beat)
	defer beat.Stop()
	for ctx.Err() == nil {
		ended := f.turns(&out)
		changes, more := f.reader.Next()
		for _, c := range changes {
			if f.change(&out, c); out.full() && out.flush() != nil {
				if errors.Is(out.err, errCrowded) {
					out.err = nil
					out.closing()
				}
				return nil
			}
		}
		if out.flush() != nil {
			return nil
		}
		look, rested := more, (<-chan time.Time)(nil)
		if rest := s.pace.rest(time.Now(), len(changes)); rest > 0 && len(changes) > 0 {
			short := s.pace.sleep(ctx)
			// Nobody waits for the other changes.
			look, rested = f.reader.Asked(), time.After(rest-short)
		}
		select {
		case <-look:
		case <-rested:
		case <-ended:
		case <-beat.C:
			io.WriteString(&out, ": still here\n\n")
		case <-ctx.Done():
		case <-s.board.Done():
			out.closing()
			return nil
		}
	}
	if s.serving.Err() != nil {
		out.closing()
	}
	return nil
}

// pace counts what all streams tell. To wake each of them for each change is most of the
// work when there are many of both: then a stream rests after it has told something, and
// tells what has come meanwhile at once. A question ends a rest that is long. The zero
// value works.
type pace struct {
	mu    sync.Mutex
	since time.Time
	count int
	now   time.Duration

	sleeping atomic.Int64 // streams that rest
}

const (
	// paceTime and often say how much is much: a hundred changes a second told to fifty
	// streams. Then a stream rests for so long that nobody notices, and at twice that for
	// as long as hardly anybody does.
	paceTime            = 100 * time.Millisecond
	often               = 500
	shortRest, longRest = 15 * time.Millisecond, 50 * time.Millisecond
	// turnTime is what each stream that rests leaves to the others: with very many of them
	// a short rest is longer. All together they write 20,000 times a second, then.
	turnTime = 50 * time.Microsecond
)

// sleep waits for as long as a short rest is, or until ctx ends.
func (p *pace) sleep(ctx context.Context) time.Duration {
	short := max(shortRest, time.Duration(p.sleeping.Add(1))*turnTime)
	defer p.sleeping.Add(-1)
	select {
	case <-time.After(short):
	case <-ctx.Done():
	}
	return short
}

// rest counts what a stream has told, and returns for how long it rests.
func (p *pace) rest(now time.Time, told int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if past := now.Sub(p.since); past > paceTime {
		p.now = 0
		if past < 2*paceTime {
			p.now = restFor(p.count)
		}
		p.since, p.count = now, 0
	}
	p.count += told
	return max(p.now, restFor(p.count))
}

func restFor(told int) time.Duration {
	switch {
	case told > 2*often:
		return longRest
	case told > often:
		return shortRest
	}
	return 0
}

// streamed says what a stream tells: of one conversation, or of all that the
// device may see.
func (s *Server) streamed(r *http.Request, d Device) (func(*hub.Record) bool, error) {
	id := r.PathValue("id")
	if id == "" {
		return seen(r, d)
	}
	group, err := s.groupOf(r, d)
	if err != nil {
		return nil, err
	}
	// Of one in which nothing was asked yet it may be any group.
	_, err = s.find(d, hub.Ref{Group: group, Conversation: id})
	any := errors.Is(err, hub.ErrNotFound) && r.Form.Get("group") == ""
	return func(c *hub.Record) bool { return (any || c.Group == group) && c.Conversation == id && d.sees(c) }, nil
}

// closing tells a client that the stream ends here, and when to come back: not
// all at the same moment. It goes on after the event that it saw last.
func (st *stream) closing() {
	fmt.Fprintf(st, "retry: %d\nevent: closing\ndata: {}\n\n", retryTime/2+rand.Int64N(retryTime))
	_ = st.flush() // who does not take it comes back, too
}

// retryTime is after how many milliseconds a client comes back, about.
const retryTime = 1000

// maxChunk is how much is written at a time: what waits may be a lot, and each
// of many streams would keep room for all of it.
const maxChunk = 16 << 10

// stream is what is written to a client in parts. Between them it keeps nothing: there may be
// thousands that have nothing to say.
type stream struct {
	w   http.ResponseWriter
	buf *bytes.Buffer // what is not sent yet; nil is nothing
	// long sends what is longer than a part at once; nil sends it like the rest. Behind what
	// could not be sent comes nothing more.
	long func(p []byte) error
	err  error
}

// errCrowded means that as much is on its way to a device as may be.
var errCrowded = statusError{http.StatusTooManyRequests, "too much is on its way to or from this device: wait until that has come"}

// long sends what is long, if there is room for it.
func (s *Server) long(w http.ResponseWriter, d Device, body []byte) error {
	leave, ok := s.room(s.bytes, d, len(body))
	defer leave()
	if !ok {
		return errCrowded
	}
	return send(w, body)
}

// room is that for what is long and on its way to a device, or kept while it waits: each of
// its readers may be slow. It lasts until leave is called.
func (s *Server) room(bytes map[string]int, d Device, n int) (leave func(), ok bool) {
	if n <= maxChunk || !s.take(bytes, d, n, s.mostBytes) {
		return func() {}, n <= maxChunk
	}
	return func() { s.release(bytes, d, n) }, true
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (st *stream) Write(p []byte) (int, error) {
	if st.err != nil || st.long != nil && len(p) > maxChunk {
		if st.err = st.flush(); st.err == nil {
			st.err = st.long(p)
		}
		if st.err == nil {
			st.err = http.NewResponseController(st.w).Flush()
		}
		return len(p), st.err
	}
	if st.buf == nil {
		st.buf = buffers.Get().(*bytes.Buffer)
	}
	return st.buf.Write(p)
}

// full reports whether there is enough to send.
func (st *stream) full() bool { return st.err != nil || st.buf != nil && st.buf.Len() >= maxChunk }

// then is the question that waits in a conversation after another one ended, or
// nil.
func (s *Server) then(r *hub.Record, d Device) *hub.Record {
	if r.Open() {
		return nil
	}
	if next, err := s.find(d, hub.Ref{Group: r.Group, Conversation: r.Conversation}); err == nil && next.Open() {
		return next
	}
	return nil
}

// flush sends what there is. A client that takes nothing is given up.
func (st *stream) flush() error {
	if st.buf == nil || st.err != nil {
		return st.err
	}
	err := send(st.w, st.buf.Bytes())
	if st.buf.Cap() <= 4*maxChunk { // none that was long
		st.buf.Reset()
		buffers.Put(st.buf)
	}
	st.buf = nil
	if err != nil {
		return err
	}
	return http.NewResponseController(st.w).Flush()
}

// send writes a body. A client that takes nothing of it is given up, however long
// the body is: it would be kept for ever.
func send(w http.ResponseWriter, body []byte) error {
	control := http.NewResponseController(w)
	for part := range slices.Chunk(body, maxChunk) {
		_ = control.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// replyList writes an object with one list, an item at a time: all of it may be more
// than there is room for, for each of many slow readers. next says where the list goes
// on, if it does.
func replyList(w http.ResponseWriter, name string, list []*hub.Record, next string, item func(*hub.Record) any) {
	w.Header().Set("Content-Type", "application/json")
	out := stream{w: w}
	fmt.Fprintf(&out, "{%q:[", name)
	for i, r := range list {
		if i > 0 {
			io.WriteString(&out, ",")
		}
		if out.Write(clean.JSON(item(r))); out.full() && out.flush() != nil {
			panic(http.ErrAbortHandler) // who reads it sees that it has no end
		}
	}
	end := "]}\n"
	if next != "" {
		end = fmt.Sprintf("],\"next\":%s}\n", clean.JSON(next))
	}
	io.WriteString(&out, end)
	_ = out.flush()
}

// mostStreams is how many streams are open where so many files may be. Whoever asks or
// answers has a connection, too, and the store has its files.
func mostStreams(files int) int { return min(maxStreams, files/2) }

// enter counts a stream, if there may be one more.
func (s *Server) enter(d Device) error {
	most := maxStreamsOf
	if d.Can == CanAdmin {
		most = maxStreamsOfAdmin
	}
	if !s.take(s.of, d, 1, most) {
		return statusf(http.StatusTooManyRequests, "too many streams are open: expected at most %d of a device", most)
	}
	if !s.take(s.of, everybody, 1, s.most) {
		s.release(s.of, d, 1)
		return statusf(http.StatusServiceUnavailable, "too many streams are open: expected at most %d, and at most half of the open files that the hub may have", s.most)
	}
	return nil
}

// everybody stands for all devices in a count.
var everybody Device

func (s *Server) leave(d Device) {
	s.release(s.of, d, 1)
	s.release(s.of, everybody, 1)
}

// take counts n more of a device, if it may have them.
func (s *Server) take(count map[string]int, d Device, n, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if has := count[d.Name]; has > 0 && has+n > most {
		return false
	}
	count[d.Name] += n
	return true
}

func (s *Server) release(count map[string]int, d Device, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if count[d.Name] -= n; count[d.Name] == 0 {
		delete(count, d.Name)
	}
}
