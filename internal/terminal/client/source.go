package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// maxLine bounds a line of input.
const maxLine = 1 << 20

// maxAhead is how many lines may be ahead of what is asked.
const maxAhead = 1000

// source reads lines for whoever wants the next one: the prompt, or a question.
type source struct {
	from  *seen.Inlet
	lines chan line // closed at the end
	err   error     // why, if not io.EOF; valid after the close
}

// line is a line of input, and since when it can have been written.
type line struct {
	text string
	at   time.Time
}

// newSource starts to read. What comes is read at once, so that its time is known; the
// answers of a script are read when they are wanted. The goroutine ends with r, and with
// ctx where somebody has to take a line.
func newSource(ctx context.Context, r io.Reader, answers bool) *source {
	s := &source{from: seen.NewInlet(r), lines: make(chan line, maxAhead)}
	if answers {
		s.lines = make(chan line)
	}
	go func() {
		defer close(s.lines)
		in := bufio.NewScanner(s.from)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			select {
			case s.lines <- line{in.Text(), s.from.Since()}:
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
	s      *source
	ctx    context.Context // of the question; it ends the reading
	took   func(text string)
	early  func(why, text string) // is told of a line that answers nothing; nil if each line is an answer
	secret bool                   // nobody else may see what is answered
	piped  bool                   // what came before the question is early, however fast a test may type
	typed  io.Reader              // the terminal at which they are typed, if they are
	begun  bool                   // the next line was, before the question was there
	next   *line                  // was taken to see whether it follows closely
	left   []byte
}

// Why a line answers nothing.
const (
	typedBefore   = "Typed before the question appeared, so not taken as its answer: "
	typedTogether = "Came together with other lines, so not taken as the answer: "
)

// ask makes the reader one for a question that is asked now.
func (r *answers) ask(ctx context.Context) { r.ctx, r.left = ctx, nil }

func (r *answers) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var typing seen.Typing
	shown := time.Now() // whoever wants a line has printed what it is for
	for len(r.left) == 0 {
		if typing.Drawn(shown) {
			r.s.from.Watch(seen.Hands)
		}
		l, err := r.line()
		begun := r.begun
		r.begun = false
		switch {
		case err != nil:
			return 0, err
		case r.early == nil:
		case begun:
			typing.Shows()
			shown = l.at
			r.early(typedBefore, l.text)
			continue
		case !typing.Counts(l.at) || r.piped && l.at.Before(shown):
			r.early(typedBefore, l.text)
			continue
		case r.typed != nil && tty.Cut(l.text):
			r.early(tty.CutText, "")
			continue
		case r.followed():
			typing.Shows()
			shown = l.at
			r.early(typedTogether, l.text)
			continue
		}
		if r.took != nil {
			r.took(lineask.Told(l.text, r.secret))
		}
		r.left = append([]byte(l.text), '\n')
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (r *answers) line() (l line, err error) {
	if r.next != nil {
		l, r.next = *r.next, nil
		return l, nil
	}
	if r.ctx.Err() != nil { // nobody wants it
		return l, r.ctx.Err()
	}
	select {
	case l, ok := <-r.s.lines:
		if !ok {
			return l, errors.Join(io.EOF, r.s.err)
		}
		return l, nil
	case <-r.ctx.Done():
		return l, r.ctx.Err()
	}
}

// followed reports whether another line comes closer than a person types it.
func (r *answers) followed() bool {
	if seen.Hands < 0 { // a test types at once
		return false
	}
	select {
	case l, ok := <-r.s.lines:
		if ok {
			r.next = &l
		}
		return ok
	case <-time.After(seen.Burst):
		some, _ := tty.DropUnread(r.typed)
		return some
	}
}
