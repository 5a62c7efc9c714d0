package conn

import (
	"bufio"
	"bytes"
	"io"
)

const readBuffer = 16 << 10

// lines splits a stream into lines of at most max bytes. A longer one is
// skimmed: its bytes pass through, only what identifies the message is kept.
type lines struct {
	br   *bufio.Reader
	max  int
	long []byte // a line longer than br's buffer
}

func newLines(r io.Reader, max int) *lines {
	return &lines{br: bufio.NewReaderSize(r, min(readBuffer, max+1)), max: max}
}

// next returns a line without its newline, valid until the next call; or, for a
// line over the limit, what was skimmed from it. At the end of the stream the
// last, unfinished line comes together with the error.
func (l *lines) next() (line []byte, over *skim, err error) {
	if cap(l.long) > keepBuffer {
		l.long = nil
	}
	l.long = l.long[:0]
	for {
		chunk, err := l.br.ReadSlice('\n')
		more := err == bufio.ErrBufferFull
		if !more {
			chunk = bytes.TrimSuffix(chunk, []byte{'\n'})
		}
		switch {
		case over != nil:
			over.feed(chunk)
		case len(l.long)+len(chunk) > l.max:
			over = new(skim)
			over.feed(l.long)
			over.feed(chunk)
			l.long = nil
		case more || len(l.long) > 0:
			l.long = append(l.long, chunk...)
		}
		switch {
		case more:
			continue
		case over != nil:
			return nil, over, err
		case len(l.long) > 0:
			return l.long, nil, err
		default:
			return chunk, nil, err
		}
	}
}
