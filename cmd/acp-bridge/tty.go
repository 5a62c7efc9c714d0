package main

import (
	"context"
	"os"

	"github.com/charmbracelet/x/term"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
)

// askOn asks on the person's terminal; its error is [terminal.ErrNoTerminal] where there
// is none. The resolver does not know its streams yet.
func askOn(ctx context.Context, c convert.Call, r terminal.Resolver, s streams) (convert.Outcome, error) {
	tty, err := openTerminal(s)
	if err != nil {
		return convert.Outcome{}, err
	}
	defer tty.close()
	return tty.ask(ctx, c, r)
}

// tty is the terminal that questions are asked on. It is never stdout, which
// carries results.
type tty struct {
	in, out *os.File
	opened  bool
}

func openTerminal(s streams) (*tty, error) {
	if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		return &tty{f, f, true}, nil
	}
	in, ok1 := s.In.(*os.File)
	out, ok2 := s.Err.(*os.File)
	if ok1 && ok2 && term.IsTerminal(in.Fd()) && term.IsTerminal(out.Fd()) {
		return &tty{in, out, false}, nil
	}
	return nil, terminal.ErrNoTerminal
}

func (t *tty) ask(ctx context.Context, c convert.Call, r terminal.Resolver) (convert.Outcome, error) {
	r.In, r.Out = t.in, t.out
	return r.Ask(ctx, c)
}

func (t *tty) close() {
	if t.opened {
		_ = t.in.Close()
	}
}
