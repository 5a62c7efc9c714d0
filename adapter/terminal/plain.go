package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/muesli/cancelreader"

	"github.com/acp-bridge/acp-bridge/convert"
)

// maxLine bounds a line of input.
const maxLine = 1 << 20

var errLineTooLong = fmt.Errorf("terminal: a line of more than %d bytes", maxLine)

// plain asks the questions one after another, in lines.
func (d *device) plain(ctx context.Context, m *Model) error {
	r, err := cancelreader.NewReader(d.in)
	if err != nil { // a regular file cannot be waited for, and need not be
		r, err = cancelreader.NewReader(struct{ io.Reader }{d.in})
	}
	if err != nil {
		return fmt.Errorf("terminal: reading lines: %w", err)
	}
	want, lines := make(chan struct{}), make(chan input, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range want {
			text, err := readLine(r)
			lines <- input{text, err}
		}
	})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	p := &prompter{d: d, m: m, ctx: ctx, want: want, lines: lines, signals: signals}
	err = p.ask()
	if m.outcome.Status == convert.Disconnected {
		outliveHangup()
	}
	signal.Stop(signals)
	close(want)
	if r.Cancel() {
		wg.Wait()
	}
	_ = r.Close()
	return err
}

// input is a line that was typed, or why there is none.
type input struct {
	text string
	err  error
}

// readLine reads byte by byte: what comes after the line belongs to the next
// reader of the terminal.
func readLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for {
		n, err := r.Read(b[:])
		switch {
		case n == 1 && b[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			if line = append(line, b[0]); len(line) > maxLine {
				return "", errLineTooLong
			}
		case err != nil && len(line) > 0 && errors.Is(err, io.EOF):
			return string(line), nil
		case err != nil:
			return "", err
		}
	}
}

// prompter asks in lines what a model asks on a screen.
type prompter struct {
	d       *device
	m       *Model
	ctx     context.Context
	want    chan<- struct{} // asks for one line
	lines   <-chan input
	signals <-chan os.Signal
}

// errEnded means that the model has its outcome.
var errEnded = errors.New("ended")

func (p *prompter) ask() error {
	for i, s := range p.m.sheets {
		err := p.question(i, s)
		if errors.Is(err, errEnded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	p.m.finish(convert.Answered, "")
	return nil
}

// question asks one question until it is answered.
func (p *prompter) question(i int, s *sheet) error {
	p.print(p.screen(i, s))
	for {
		text, err := p.read("> ")
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			if err := p.cancel(); err != nil {
				return err
			}
			continue
		}
		say, err := p.take(s, text)
		if err != nil {
			return err
		}
		if say == "" {
			return nil
		}
		p.print(say + "\n")
	}
}

// take makes the line the answer, or says what is wrong with it.
func (p *prompter) take(s *sheet, text string) (say string, err error) {
	if s.free() {
		s.answer.set(text)
	} else if say = s.parse(text); say != "" {
		return say, nil
	}
	if s.wantsText() {
		if text, err = p.read("Your answer: "); err != nil {
			return "", err
		}
		if strings.TrimSpace(text) == "" {
			if err := p.cancel(); err != nil {
				return "", err
			}
			return p.hint(s), nil
		}
		s.answer.set(text)
	}
	if s.tooLong() {
		reply, err := p.read(longText(s.answer.length()) + " ")
		if err != nil {
			return "", err
		}
		if r := strings.ToLower(strings.TrimSpace(reply)); r != "" && !strings.HasPrefix(r, "y") {
			s.answer.clear()
			return p.hint(s), nil
		}
	}
	return "", nil
}

// cancel is an empty line: it ends the asking, but asks before answers are
// lost.
func (p *prompter) cancel() error {
	if n := p.m.answers(); p.m.several() && n > 0 {
		reply, end, err := p.line(discardText(n) + " [y/N] ")
		switch {
		case err != nil:
			return err
		case end == nil && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(reply)), "y"):
			return nil
		}
	}
	p.m.finish(convert.Cancelled, cancelled)
	return errEnded
}

// read is line, and ends the model when none comes.
func (p *prompter) read(prompt string) (string, error) {
	text, end, err := p.line(prompt)
	if end != nil {
		p.print("\n")
		p.m.finish(end.Status, end.Reason)
		return "", errEnded
	}
	return text, err
}

// line prints a prompt and waits for a line, or for the end of them.
func (p *prompter) line(prompt string) (string, *EndMsg, error) {
	p.print(prompt)
	p.want <- struct{}{}
	var end EndMsg
	select {
	case in := <-p.lines:
		switch {
		case in.err == nil:
			return in.text, nil, nil
		case errors.Is(in.err, errLineTooLong):
			return "", nil, in.err
		case p.d.alive():
			end = EndMsg{convert.Cancelled, cancelled} // Ctrl+D
		default:
			end = EndMsg{convert.Disconnected, "the input ended before the question was answered"}
		}
	case s := <-p.signals:
		end = ended(s)
	case <-p.ctx.Done():
		end = endOf(p.ctx)
	}
	return "", &end, nil
}

func (p *prompter) print(s string) { _, _ = io.WriteString(p.d.out, s) }

// screen is a question in lines.
func (p *prompter) screen(i int, s *sheet) string {
	var b strings.Builder
	head := s.head
	if p.m.several() {
		head = fmt.Sprintf("%s (question %d of %d)", head, i+1, len(p.m.sheets))
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, strings.Join(s.text, "\n"))
	for i, r := range s.rows {
		fmt.Fprintf(&b, "%d. %s", i+1, r.label)
		if r.description != "" {
			fmt.Fprintf(&b, ": %s", r.description)
		}
		b.WriteByte('\n')
		for _, l := range r.preview {
			fmt.Fprintf(&b, "   | %s\n", l)
		}
	}
	if s.other {
		fmt.Fprintf(&b, "%d. %s\n", len(s.rows)+1, otherLabel)
	}
	return b.String() + p.hint(s) + "\n"
}

// hint says how to answer.
func (p *prompter) hint(s *sheet) string {
	switch {
	case s.free():
		return "Type your answer. An empty line cancels."
	case s.closed:
		return "Type a number or a label. An empty line cancels."
	case s.q.MultiSelect:
		return "Type numbers or labels with commas between them, or other and your answer. An empty line cancels."
	}
	return "Type a number or a label, or other and your answer. An empty line cancels."
}
