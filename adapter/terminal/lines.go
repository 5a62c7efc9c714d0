package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// lines asks questions one after another, in lines.
type lines struct {
	out       io.Writer
	in        *tty.Lines
	questions []convert.Question
	answers   []convert.Answer
	index     int  // of the option picked last, -1 for none
	gone      bool // the question before was withdrawn a short time ago
	typed     bool // by a person, at a terminal
	forget    func()
	outcome   convert.Outcome
}

// run asks on a device.
func (l *lines) run(ctx context.Context, d *tty.Device) (convert.Outcome, error) {
	l.typed, l.forget = d.Typed() && seen.Hands > 0, func() {}
	if l.typed {
		l.forget = d.Forget
	}
	in, err := d.Lines(ctx)
	if err != nil {
		return convert.Outcome{}, err
	}
	defer in.Close()
	l.in = in
	return l.ask()
}

// goneText comes before a question that takes the place of another. The line
// that follows may have been meant for that.
const goneText = "The question before was withdrawn, and there is another one. Press Enter to see it. "

// errEnded means that there is an outcome.
var errEnded = errors.New("ended")

func noError(err error) error {
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

func (l *lines) ask() (convert.Outcome, error) {
	if l.gone {
		l.forget()
		if _, err := l.read(goneText); err != nil {
			return l.outcome, noError(err)
		}
	}
	for i, q := range l.questions {
		a, err := l.question(i, q)
		if err != nil {
			return l.outcome, noError(err)
		}
		l.answers = append(l.answers, a)
	}
	return convert.Outcome{Status: convert.Answered, Answers: l.answers}, nil
}

// question asks one question until it is answered.
func (l *lines) question(i int, q convert.Question) (convert.Answer, error) {
	l.forget() // lines, and the beginning of one
	l.print(l.screen(i, q))
	for {
		text, err := l.read("> ")
		if err != nil {
			return convert.Answer{}, err
		}
		a, say, err := l.take(q, text)
		if err != nil || say == "" {
			return a, err
		}
		l.print(say + "\n")
	}
}

// take makes the line the answer, or says what is wrong with it.
func (l *lines) take(q convert.Question, text string) (a convert.Answer, say string, err error) {
	said := convert.ReadReply(q, text)
	if said.Other { // the words are on the next line
		if text, err = l.read("Your answer: "); err != nil {
			return a, "", err
		}
		if said.Text = strings.TrimSpace(text); said.Text != "" {
			said.Unclear = ""
		}
	}
	switch {
	case said.Cancel:
		return a, hint(q), l.cancel()
	case said.Unclear != "":
		return a, said.Unclear, nil
	}
	if n := utf8.RuneCountInString(said.Text); n > picker.LongAnswer {
		reply, err := l.read(picker.LongText(n) + " ")
		if err != nil {
			return a, "", err
		}
		if s := strings.ToLower(strings.TrimSpace(reply)); s != "" && !strings.HasPrefix(s, "y") {
			return a, hint(q), nil
		}
	}
	if l.index = -1; len(said.Picks) == 1 {
		l.index = said.Picks[0]
	}
	return said.Answer(q), "", nil
}

// cancel ends the asking, but asks before answers are lost.
func (l *lines) cancel() error {
	if n := len(l.answers); n > 0 {
		prompt := picker.DiscardText(n) + " [y/N] "
		l.print(prompt)
		reply, end, err := l.next(prompt)
		switch {
		case err != nil:
			return err
		case end == nil && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(reply)), "y"):
			return nil
		}
	}
	l.outcome = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	return errEnded
}

// read prints a prompt and waits for a line; where none comes there is an
// outcome.
func (l *lines) read(prompt string) (string, error) {
	l.print(prompt)
	text, end, err := l.next(prompt)
	if end == nil {
		return text, err
	}
	l.print("\n")
	switch {
	case end.Typed:
		l.outcome = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case end.Gone:
		l.outcome = convert.Outcome{Status: convert.Disconnected, Reason: end.Reason}
	case end.Told:
		l.outcome = convert.Outcome{Status: convert.Failed, Reason: picker.Withdrawn + end.Reason}
	default:
		l.outcome = convert.Outcome{Status: convert.Cancelled, Reason: end.Reason}
	}
	return "", errEnded
}

// next waits for a line that was typed when its prompt could be read.
func (l *lines) next(prompt string) (string, *tty.End, error) {
	for shown := time.Now(); ; shown = time.Now() {
		text, end, err := l.in.Next()
		if !l.typed || end != nil || err != nil || seen.Judge(seen.Reply{Kind: seen.Key, Evidence: seen.Drawn, After: time.Since(shown)}) == seen.Counts {
			return text, end, err
		}
		if text = clean.Line(text); text != "" {
			l.print("Typed before the question was there, and not its answer: " + text + "\n" + prompt)
		}
	}
}

func (l *lines) print(s string) { _, _ = io.WriteString(l.out, s) }

// screen is a question in lines.
func (l *lines) screen(i int, q convert.Question) string {
	var b strings.Builder
	head := clean.Line(q.Header)
	switch n := len(l.questions); {
	case head == "" && n > 1:
		head = fmt.Sprintf("Q%d", i+1)
	case head == "":
		head = "Question"
	}
	if n := len(l.questions); n > 1 {
		head = fmt.Sprintf("%s (question %d of %d)", head, i+1, n)
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, strings.Join(picker.Paragraph(q.Text), "\n"))
	for i, o := range q.Options {
		fmt.Fprintf(&b, "%d. %s", i+1, picker.Label(o))
		if d := clean.Line(o.Description); d != "" {
			fmt.Fprintf(&b, ": %s", d)
		}
		b.WriteByte('\n')
		if strings.TrimSpace(o.Preview) != "" {
			for _, l := range picker.Paragraph(o.Preview) {
				fmt.Fprintf(&b, "   | %s\n", l)
			}
		}
	}
	return b.String() + hint(q) + "\n"
}

// hint says how to answer: the words of [convert.ReadReply].
func hint(q convert.Question) string {
	const cancel = " The word cancel cancels."
	switch {
	case len(q.Options) == 0:
		return "Type your answer." + cancel
	case q.MultiSelect && q.Closed:
		return "Type numbers or labels with commas between them." + cancel
	case q.Closed:
		return "Type a number or a label." + cancel
	case q.MultiSelect:
		return "Type numbers or labels with commas between them, other and your own words, or both." + cancel
	}
	return "Type a number, a label or your own words." + cancel
}
