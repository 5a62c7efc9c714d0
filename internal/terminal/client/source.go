package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// maxLine bounds a line of input.
const maxLine = 1 << 20

// maxTyped is how many lines a person may be ahead.
const maxTyped = 1000

// source reads lines for whoever wants the next one: the prompt, or a question.
type source struct {
	lines chan line // closed at the end
	err   error     // why, if not io.EOF; valid after the close
}

// line is a line of input, and when it came.
type line struct {
	text string
	at   time.Time
}

// newSource starts to read. What a person types is read when it is typed, so
// that its time is known; a script is read when its lines are wanted. The
// goroutine ends with r, and with ctx where somebody has to take a line.
func newSource(ctx context.Context, r io.Reader, typed bool) *source {
	s := &source{lines: make(chan line)}
	if typed {
		s.lines = make(chan line, maxTyped)
	}
	go func() {
		defer close(s.lines)
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			select {
			case s.lines <- line{in.Text(), time.Now()}:
			case <-ctx.Done():
				return
			}
		}
		s.err = in.Err()
	}()
	return s
}

// answers is the lines as a reader for questions, one after the other. It gives
// no byte of a line that is not asked for.
type answers struct {
	s     *source
	ctx   context.Context // of the question; it ends the reading
	took  func(text string)
	early func(text string) // is told of a line that was typed before; nil for lines that nobody types
	left  []byte
}

// ask makes the reader one for a question that is asked now.
func (r *answers) ask(ctx context.Context) { r.ctx, r.left = ctx, nil }

func (r *answers) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	shown := time.Now() // whoever wants a line has printed what it is for
	for len(r.left) == 0 {
		select {
		case l, ok := <-r.s.lines:
			switch {
			case !ok:
				return 0, errors.Join(io.EOF, r.s.err)
			case r.early != nil && seen.Judge(seen.Reply{Kind: seen.Key, Evidence: seen.Drawn, After: l.at.Sub(shown)}) != seen.Counts:
				if l.at.After(shown) {
					shown = l.at
				}
				r.early(l.text)
				continue
			case r.took != nil:
				r.took(l.text)
			}
			r.left = append([]byte(l.text), '\n')
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}
