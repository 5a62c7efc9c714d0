package main

import (
	"context"
	"errors"
	"os"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// chainOf are the options of a command that asks in the files of a directory,
// which is this one if it is empty.
func chainOf(command, dir string, s streams) pending.Options {
	say := func(text string) { tell(s, command, text) }
	o := pending.Options{Agent: "acp-bridge " + command, Dir: dir, Me: whoAmI(), Say: say}
	if dir == "" {
		o.Dir, _ = os.Getwd()
	}
	o.Store = &pending.Store{Dir: dir, Report: func(err error) { say(oneLine(err) + "; it is kept") }}
	return o
}

// nearby is the terminal of whoever runs a command, if there is one.
type nearby struct {
	plain bool
	s     streams
}

// Ask implements [adapter.Resolver].
func (n nearby) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	o, err := askOn(ctx, c, terminal.Resolver{Plain: n.plain}, n.s)
	if errors.Is(err, terminal.ErrNoTerminal) {
		err = pending.ErrNobody
	}
	return o, err
}
