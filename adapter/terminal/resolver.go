package terminal

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// ErrNoTerminal means that there is neither a terminal to ask on nor an input
// and output given in its place.
var ErrNoTerminal = tty.ErrNoTerminal

// Resolver asks on a terminal. The zero value asks on the process's own.
//
// Questions on one terminal are asked one after the other. What was typed
// before a question was there does not answer it: not the rest of what answered
// the question before, and not what was meant for one that was withdrawn.
type Resolver struct {
	// In is where keys or lines come from. Without one it is standard input,
	// or /dev/tty where that is not a terminal. A reader that is no *os.File
	// may be left in a Read when the asking ends.
	In io.Reader
	// Out is where questions are drawn. Without one it is standard output, or
	// /dev/tty where that is not a terminal.
	Out io.Writer
	// Plain asks line by line, without drawing: for screen readers. It is
	// what happens anyway on a dumb terminal, and where In and Out are no
	// terminal.
	Plain bool
	// Verbatim shows questions letter by letter, and reads no Markdown in them:
	// for what is approved.
	Verbatim bool
	// NoColor draws without colours, as a NO_COLOR in the environment does.
	NoColor bool
	// Width and Height are the size of a terminal that cannot be asked for
	// it. Setting both says that In and Out are one, a network connection
	// perhaps, though they are no terminal devices.
	Width, Height int
	// Environ looks up environment variables, TERM and NO_COLOR among them.
	// Without one it is os.Getenv.
	Environ func(string) string
}

// Ask asks all questions of a call and returns how it ended. It blocks until
// the user is done, the terminal hangs up, or ctx ends.
//
// The error is nil exactly if the outcome is [convert.Answered]. Otherwise it
// matches the outcome, as [convert.Outcome.Err] does: Cancelled after Esc,
// Ctrl+C or a SIGINT, Disconnected after a hang-up, Failed after a SIGTERM, which
// is nobody's choice. It wraps the cause of ctx
// when ctx ended, and [ErrNoTerminal] or [convert.ErrNoQuestions] where nothing
// could be asked; the outcome is then Failed.
//
// After a hang-up the process no longer ends by itself on a SIGHUP, so that it
// can say what happened.
func (r Resolver) Ask(ctx context.Context, call convert.Call) (convert.Outcome, error) {
	if len(call.Questions) == 0 {
		return failed(convert.ErrNoQuestions)
	}
	return r.ask(ctx, call.Questions, func(o picker.Options) *picker.Picker { return picker.New(call, o) }, nil)
}

// Choose asks for one of the question's options and returns its position, -1
// if none was picked: for a permission request, of which several options may
// have one label. There is no Other, there are no notes, and the question is shown
// verbatim. Its other results are those of [Resolver.Ask].
func (r Resolver) Choose(ctx context.Context, q convert.Question) (int, convert.Outcome, error) {
	index := -1
	if len(q.Options) == 0 {
		outcome, err := failed(convert.ErrOptionCount)
		return index, outcome, err
	}
	q.MultiSelect, q.Closed, r.Verbatim = false, true, true
	outcome, err := r.ask(ctx, []convert.Question{q}, func(o picker.Options) *picker.Picker { return picker.NewChoice(q, o) }, &index)
	return index, outcome, err
}

func failed(err error) (convert.Outcome, error) {
	return convert.Outcome{Status: convert.Failed, Reason: err.Error()}, err
}

// ask waits for the terminal and asks on it. index, if not nil, is set to the
// position of the option that was picked.
func (r Resolver) ask(ctx context.Context, questions []convert.Question, open func(picker.Options) *picker.Picker, index *int) (convert.Outcome, error) {
	t, err := takeSeat(ctx, r.In)
	if err != nil {
		return ended(ctx, convert.Outcome{Status: convert.Withdrawn, Reason: err.Error()})
	}
	withdrawn := false
	defer func() { t.end(withdrawn) }()
	d, err := tty.Open(tty.Options{In: r.In, Out: r.Out, Plain: r.Plain, NoColor: r.NoColor, Width: r.Width, Height: r.Height, Environ: r.Environ})
	if err != nil {
		return failed(err)
	}
	defer d.Close()
	var outcome convert.Outcome
	picked := -1
	if d.Drawable {
		p := open(picker.Options{NoColor: d.NoColor, Markdown: !r.Verbatim, Width: d.Width, Height: d.Height})
		p.Guard(t.gone())
		if err := pick(ctx, d, p); err != nil {
			return failed(err)
		}
		outcome, _ = p.Done()
		picked = p.Index()
	} else if outcome, picked, err = askLines(ctx, d, questions, r.Verbatim, t.gone()); err != nil {
		return failed(err)
	}
	if index != nil {
		*index = picked
	}
	withdrawn = outcome.Status != convert.Answered && ctx.Err() != nil
	return ended(ctx, outcome)
}

// pick runs a picker until it is done, and leaves what was answered behind.
func pick(ctx context.Context, d *tty.Device, p *picker.Picker) error {
	d.Forget()
	t, err := d.Start(ctx)
	if err != nil {
		return err
	}
	defer t.Close()
	for {
		t.Draw(p.View())
		if p.Drawn(time.Now()) {
			t.Watch()
		}
		p.Update(<-t.Events())
		if o, done := p.Done(); done {
			if o.Status != convert.Disconnected {
				t.Print(p.Record()...)
			}
			return nil
		}
	}
}

// ended is an outcome with the error that goes with it.
func ended(ctx context.Context, o convert.Outcome) (convert.Outcome, error) {
	err := o.Err()
	if o.Status == convert.Withdrawn && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return o, err
}
