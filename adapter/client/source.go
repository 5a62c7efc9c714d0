package client

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// maxLine bounds a line of input.
const maxLine = 1 << 20

// source reads lines for whoever wants the next one: the prompt, or a question.
type source struct {
	lines chan string // closed at the end
	err   error       // why, if not io.EOF; valid after the close
}

// newSource starts to read. The goroutine ends with r, and with ctx where
// somebody has to take a line.
func newSource(ctx context.Context, r io.Reader) *source {
	s := &source{lines: make(chan string)}
	go func() {
		defer close(s.lines)
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			select {
			case s.lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
		s.err = in.Err()
	}()
	return s
}

// reader returns the lines as a reader for one question. It gives no byte of a
// line that is not asked for, and ends with ctx. took, if not nil, is told of
// each line.
func (s *source) reader(ctx context.Context, took func(line string)) io.Reader {
	return &lineReader{s: s, ctx: ctx, took: took}
}

type lineReader struct {
	s    *source
	ctx  context.Context
	took func(string)
	left []byte
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.left) == 0 {
		select {
		case line, ok := <-r.s.lines:
			if !ok {
				return 0, errors.Join(io.EOF, r.s.err)
			}
			if r.took != nil {
				r.took(line)
			}
			r.left = append([]byte(line), '\n')
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}
