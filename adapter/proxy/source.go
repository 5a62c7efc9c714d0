package proxy

import (
	"bytes"
	"errors"
	"io"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

const (
	// readSize is what is read at once.
	readSize = 64 << 10
	// maxLine is the longest line that is taken. Agents send a megabyte; what is
	// far more is no message.
	maxLine = 64 << 20
)

// source cuts a stream into lines and keeps those together that arrive
// together: what is passed on unchanged is passed on in one piece, from the
// buffer into which it was read.
type source struct {
	r          io.Reader
	buf        []byte
	start, end int // what is read and not yet used
}

func newSource(r io.Reader) *source { return &source{r: r, buf: make([]byte, readSize)} }

// next returns all whole lines that are there, at least one, each with its line
// end. They are valid until the next call. At the end of the stream what is left
// comes together with the error. A line over the limit is a *[ndjson.TooLong]; it
// was skipped, and the next call goes on behind it.
func (s *source) next() ([]byte, error) {
	for from := 0; ; {
		if at := bytes.LastIndexByte(s.buf[s.start+from:s.end], '\n'); at >= 0 {
			lines := s.buf[s.start : s.start+from+at+1]
			s.start += len(lines)
			return lines, nil
		}
		from = s.end - s.start
		if err := s.fill(); err != nil {
			if _, ok := errors.AsType[*ndjson.TooLong](err); ok { // what is behind it stays
				return nil, err
			}
			rest := s.buf[s.start:s.end]
			s.start = s.end
			return rest, err
		}
	}
}

// fill reads more, behind what is there.
func (s *source) fill() error {
	have := s.end - s.start
	switch {
	case have > maxLine:
		return s.skip()
	case have == 0 && len(s.buf) > readSize: // a long line is over
		s.buf = make([]byte, readSize)
	case s.start > 0:
		copy(s.buf, s.buf[s.start:s.end])
	case have == len(s.buf):
		s.buf = append(s.buf, make([]byte, min(len(s.buf), maxLine+1-len(s.buf)))...)
	}
	s.start, s.end = 0, have
	return s.read()
}

// skip passes over the rest of a line.
func (s *source) skip() error {
	over := &ndjson.TooLong{Size: s.end - s.start, Limit: maxLine, Members: ndjson.Skim(s.buf[s.start:s.end], "id", "method")}
	s.buf = make([]byte, readSize)
	for {
		s.start, s.end = 0, 0
		if err := s.read(); err != nil {
			return err
		}
		if at := bytes.IndexByte(s.buf[:s.end], '\n'); at >= 0 {
			s.start = at + 1
			return over
		}
		over.Size += s.end
	}
}

// read reads once, behind what is there.
func (s *source) read() error {
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
