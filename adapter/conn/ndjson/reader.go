// Package ndjson cuts a stream into lines in bounded memory, and finds out what a
// line is that is too long or too damaged to be read.
package ndjson

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

const (
	// readBuffer is what is read at once, and how long a line may be that is not
	// copied.
	readBuffer = 16 << 10
	// keepBuffer is the largest buffer kept for the next long line.
	keepBuffer = 64 << 10
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
	br    *bufio.Reader
	max   int
	paths []string
	long  []byte // a line longer than br's buffer
	next  int64  // where the next line begins
	begin int64  // where the last line began
	err   error  // of the stream, after a line that was too long
}

// NewReader reads lines of at most max bytes from r. Of longer ones it keeps the
// members that paths name, see [Skim]. A *bufio.Reader with a larger buffer is
// used as it is.
func NewReader(r io.Reader, max int, paths ...string) *Reader {
	return &Reader{br: bufio.NewReaderSize(r, min(readBuffer, max+1)), max: max, paths: paths}
}

// Next returns the next line without its line end. It is valid until the next
// call. At the end of the stream the last line, if it lacks its line end, comes
// together with the error. A line over the limit is a *[TooLong].
func (r *Reader) Next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	if cap(r.long) > keepBuffer {
		r.long = nil
	}
	r.long, r.begin = r.long[:0], r.next
	for {
		part, err := r.br.ReadSlice('\n')
		r.next += int64(len(part))
		more := err == bufio.ErrBufferFull
		if !more {
			part = bytes.TrimSuffix(part, []byte{'\n'})
		}
		switch {
		case len(r.long)+len(part) > r.max:
			return nil, r.skip(part, err)
		case more:
			r.long = append(r.long, part...)
			continue
		case len(r.long) > 0:
			r.long = append(r.long, part...)
			part = r.long
		}
		return bytes.TrimRight(part, "\r"), err
	}
}

// skip passes over the rest of a line. part and err are what was read last.
func (r *Reader) skip(part []byte, err error) error {
	s := skimmer{paths: r.paths}
	over := &TooLong{Size: len(r.long) + len(part), Limit: r.max}
	s.feed(r.long)
	s.feed(part)
	r.long = nil
	for err == bufio.ErrBufferFull {
		part, err = r.br.ReadSlice('\n')
		r.next += int64(len(part))
		part = bytes.TrimSuffix(part, []byte{'\n'})
		over.Size += len(part)
		s.feed(part)
	}
	over.Members = s.found
	r.err = err
	return over
}

// Offset is where the line that Next returned begins in the stream.
func (r *Reader) Offset() int64 { return r.begin }

// Ready reports whether a whole line is there, so that Next does not wait.
func (r *Reader) Ready() bool {
	there, _ := r.br.Peek(r.br.Buffered())
	return bytes.IndexByte(there, '\n') >= 0
}
