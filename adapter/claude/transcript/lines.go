package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	readBuffer = 64 << 10
	// maxLine is the longest line that is read. The API takes requests of up
	// to 32 MB, so no block of a conversation is larger.
	maxLine = 32 << 20
	// keepBuffer is how large a line buffer may stay from line to line.
	keepBuffer = 1 << 20
)

// lineScanner cuts a file into lines and knows where each begins.
type lineScanner struct {
	r   *bufio.Reader
	max int
	off int64  // of the next line
	buf []byte // for lines longer than r's buffer
}

func newLineScanner(r io.Reader, limit int) *lineScanner {
	return &lineScanner{r: bufio.NewReaderSize(r, readBuffer), max: limit}
}

// next returns a line without its line end and the offset at which it begins.
// The line is valid until the next call; ok is false if it was over the limit.
// The error is io.EOF after the last line.
func (s *lineScanner) next() (line []byte, off int64, ok bool, err error) {
	off = s.off
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	s.buf = s.buf[:0]
	long := false
	for {
		part, err := s.r.ReadSlice('\n')
		s.off += int64(len(part))
		full := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case err != nil && !full && err != io.EOF:
			return nil, off, false, err
		case err == io.EOF && s.off == off:
			return nil, off, false, io.EOF
		case long || len(s.buf)+len(part) > s.max:
			long = true
			s.buf = nil
		case !full && len(s.buf) == 0:
			return bytes.TrimRight(part, "\r\n"), off, true, nil
		default:
			s.buf = append(s.buf, part...)
		}
		if !full {
			if long {
				return nil, off, false, nil
			}
			return bytes.TrimRight(s.buf, "\r\n"), off, true, nil
		}
	}
}
