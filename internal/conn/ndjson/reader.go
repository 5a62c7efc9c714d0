// Package ndjson cuts a stream into lines in bounded memory, and finds out what a
// line is that is too long or too damaged to be read.
package ndjson

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

const (
	// leastBuffer and mostBuffer bound what is read at once. A stream that says
	// little takes little: there are two for each of many processes.
	leastBuffer = 1 << 10
	mostBuffer  = 64 << 10
)

// TooLong stands for a line that is over the limit. It was skipped, and the next
// call of [Reader.Next] goes on behind it.
type TooLong struct {
	Size, Limit int
	// Members are those that the Reader was made to look for.
	Members Members
}

func (e *TooLong) Error() string {
	return fmt.Sprintf("a line of %d bytes is over the limit of %d", e.Size, e.Limit)
}

// Reader cuts a stream into lines.
type Reader struct {
	r     io.Reader
	max   int
	paths []string

	buf      []byte
	from, to int   // what of buf was read and not yet returned
	seen     int   // of that, what has no line end in it
	full     bool  // the last read filled buf
	quiet    bool  // the last read used little of buf
	err      error // of the stream, returned behind what is in buf

	long  []byte // the beginning of a line that is longer than buf
	next  int64  // where the next line begins in the stream
	begin int64  // where the last line began
}

// NewReader reads lines of at most max bytes from r. Of longer ones it keeps the
// members that paths name, see [Skim].
func NewReader(r io.Reader, max int, paths ...string) *Reader {
	return &Reader{r: r, max: max, paths: paths, buf: make([]byte, leastBuffer)}
}

// Next returns the next line without its line end. It is valid until the next
// call. At the end of the stream the last line, if it lacks its line end, comes
// together with the error. A line over the limit is a *[TooLong].
func (r *Reader) Next() ([]byte, error) {
	r.begin, r.long = r.next, nil
	for {
		part, whole := r.part()
		if len(r.long)+len(part) > r.max {
			return nil, r.skip(part, whole)
		}
		if !whole && r.err == nil {
			r.long = append(r.long, part...)
			continue
		}
		if r.long != nil {
			r.long = append(r.long, part...)
			part = r.long
		}
		if whole {
			return bytes.TrimRight(part, "\r"), nil
		}
		return bytes.TrimRight(part, "\r"), r.err
	}
}

// skip passes over the rest of a line, whose next part was just read.
func (r *Reader) skip(part []byte, whole bool) error {
	s := skimmer{paths: r.paths}
	over := &TooLong{Size: len(r.long) + len(part), Limit: r.max}
	s.feed(r.long)
	s.feed(part)
	r.long = nil
	for !whole && r.err == nil {
		part, whole = r.part()
		over.Size += len(part)
		s.feed(part)
	}
	over.Members = s.found
	return over
}

// part returns what is there up to the next line end, without it, and whether
// the line ends there. It is not empty unless the line is, or the stream ended.
func (r *Reader) part() (part []byte, whole bool) {
	for {
		if i := bytes.IndexByte(r.buf[r.from+r.seen:r.to], '\n'); i >= 0 {
			part = r.buf[r.from : r.from+r.seen+i]
			r.take(len(part) + 1)
			return part, true
		}
		r.seen = r.to - r.from
		if r.err != nil || r.seen == mostBuffer {
			part = r.buf[r.from:r.to]
			r.take(len(part))
			return part, false
		}
		r.fill()
	}
}

func (r *Reader) take(n int) {
	r.from += n
	r.next += int64(n)
	r.seen = 0
}

// fill reads once. There is less than mostBuffer in buf.
func (r *Reader) fill() {
	if size := r.size(); size != len(r.buf) || r.from > 0 {
		old := r.buf
		if size != len(r.buf) {
			r.buf = newBuffer(size)
		}
		r.to = copy(r.buf, old[r.from:r.to])
		r.from = 0
		if size != len(old) {
			keepBuffer(old)
		}
	}
	for range 100 {
		n, err := r.r.Read(r.buf[r.to:])
		if n > 0 || err != nil {
			r.to += n
			r.full, r.quiet = r.to == len(r.buf), r.to < len(r.buf)/8
			r.err = err
			return
		}
	}
	r.err = io.ErrNoProgress
}

// size is how large buf has to be now: larger if it was filled, smaller if it was
// hardly used.
func (r *Reader) size() int {
	size := len(r.buf)
	switch {
	case r.full:
		return min(4*size, mostBuffer)
	case r.quiet:
		return max(size/4, leastBuffer)
	}
	return size
}

// spare holds buffers of 4, 16 and 64 kB that no Reader needs right now: a stream
// may say much and little by turns.
var spare [3]sync.Pool

func newBuffer(size int) []byte {
	for i, n := 0, 4*leastBuffer; i < len(spare); i, n = i+1, 4*n {
		if n == size {
			if b, ok := spare[i].Get().(*[]byte); ok {
				return *b
			}
		}
	}
	return make([]byte, size)
}

func keepBuffer(b []byte) {
	for i, n := 0, 4*leastBuffer; i < len(spare); i, n = i+1, 4*n {
		if n == len(b) {
			spare[i].Put(&b)
		}
	}
}

// Offset is where the line that Next returned begins in the stream.
func (r *Reader) Offset() int64 { return r.begin }

// Ready reports whether a whole line is there, so that Next does not wait.
func (r *Reader) Ready() bool {
	return bytes.IndexByte(r.buf[r.from+r.seen:r.to], '\n') >= 0
}
