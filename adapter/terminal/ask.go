package terminal

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/acp-bridge/acp-bridge/convert"
)

// ErrNoQuestions means that there was nothing to ask.
var ErrNoQuestions = errors.New("terminal: nothing to ask")

// Ask asks all questions of a call and returns how it ended. It blocks until
// the user is done, the terminal hangs up, or ctx ends.
//
// The error is nil for an outcome that came from the user or the terminal
// (Answered, Cancelled, Disconnected). It is the cause of ctx when ctx ended
// (Cancelled), [ErrNoQuestions] for an empty call, [ErrNoTerminal] where there
// is none, and what went wrong otherwise; the outcome is then Failed.
//
// After a hang-up the process no longer ends by itself on a SIGHUP, so that it
// can say what happened. Two calls at once on one terminal would mix their keys; the caller queues.
func Ask(ctx context.Context, call convert.Call, opts *Options) (convert.Outcome, error) {
	if len(call.Questions) == 0 {
		return failed(ErrNoQuestions)
	}
	return ask(ctx, opts, func(o *Options) *Model { return New(call, o) })
}

// Choose asks for one of the question's options and returns its position, -1
// if none was picked. Its other results are those of [Ask].
func Choose(ctx context.Context, q convert.Question, opts *Options) (int, convert.Outcome, error) {
	if len(q.Options) == 0 {
		outcome, err := failed(ErrNoQuestions)
		return -1, outcome, err
	}
	q.MultiSelect = false
	var m *Model
	outcome, err := ask(ctx, opts, func(o *Options) *Model {
		m = NewChoice(q, o)
		return m
	})
	if outcome.Status != convert.Answered {
		return -1, outcome, err
	}
	return m.Index(), outcome, err
}

func failed(err error) (convert.Outcome, error) {
	return convert.Outcome{Status: convert.Failed, Reason: err.Error()}, err
}

// ask runs a picker, drawn or line by line.
func ask(ctx context.Context, opts *Options, model func(*Options) *Model) (convert.Outcome, error) {
	if ctx.Err() != nil {
		return convert.Outcome{Status: convert.Cancelled, Reason: endOf(ctx).Reason}, context.Cause(ctx)
	}
	d, err := open(opts)
	if err != nil {
		return failed(err)
	}
	defer d.close()
	m := model(&Options{NoColor: d.noColor, Width: d.width, Height: d.height})
	if d.drawable {
		_, err = d.run(ctx, program{m})
		if err == nil && !m.done {
			err = errors.New("terminal: the picker ended without an outcome")
		}
	} else {
		err = d.plain(ctx, m)
	}
	if err != nil {
		return failed(err)
	}
	if d.drawable && m.outcome.Status != convert.Disconnected {
		for _, l := range m.Record() {
			_, _ = fmt.Fprintln(d.out, l)
		}
	}
	if ctx.Err() != nil && m.outcome.Status == convert.Cancelled {
		return m.outcome, context.Cause(ctx)
	}
	return m.outcome, nil
}

// program is a picker that is the whole program.
type program struct{ m *Model }

func (p program) Init() tea.Cmd { return nil }

func (p program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	p.m.Update(msg)
	if p.m.done {
		return p, tea.Quit
	}
	return p, nil
}

func (p program) View() tea.View { return p.m.View() }
