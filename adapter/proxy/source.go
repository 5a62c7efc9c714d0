package proxy

import (
	"bytes"
	"errors"
	"io"
)

const (
	// readSize is what is read at once.
	readSize = 64 << 10
	// maxLine is the longest line that is taken. Agents send a megabyte; what is
	// far more is no message.
	maxLine = 64 << 20
)

// errTooLong means that a peer does not end its line.
var errTooLong = errors.New("a line of more than 64 MiB")

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
// comes together with the error.
func (s *source) next() ([]byte, error) {
	for from := 0; ; {
		if at := bytes.LastIndexByte(s.buf[s.start+from:s.end], '\n'); at >= 0 {
			lines := s.buf[s.start : s.start+from+at+1]
			s.start += len(lines)
			return lines, nil
		}
		from = s.end - s.start
		if err := s.fill(); err != nil {
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
		return errTooLong
	case have == 0 && len(s.buf) > readSize: // a long line is over
		s.buf = make([]byte, readSize)
	case s.start > 0:
		copy(s.buf, s.buf[s.start:s.end])
	case have == len(s.buf):
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	s.start, s.end = 0, have
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
