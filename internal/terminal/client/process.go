package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// lastLines is how much of what an agent said on its standard error is shown
// when it fails.
const lastLines = 10

// RunAgent starts an agent and talks to it as [Run] does. The agent ends with
// the client. If it fails, the last lines that it wrote on its standard error are
// shown on Options.Err, and the error says how it ended. What it says when the
// client leaves it is nobody's business.
func RunAgent(ctx context.Context, argv []string, o Options) error {
	p, err := proc.Start(proc.Options{Args: argv, Dir: o.Dir})
	if err != nil {
		return fmt.Errorf("the agent could not be started: %w", err)
	}
	defer p.Stdout.Close()
	err = Run(ctx, p.Stdout, p.Stdin, o)
	if errors.Is(err, errGone) {
		err = errors.New("the agent " + p.Ending())
	}
	if ended := p.End(context.Background()); err == nil {
		err = ended
	}
	var left leftError
	if err == nil || errors.Is(err, ErrCancelled) || errors.As(err, &left) || o.Err == nil {
		return err
	}
	for _, l := range p.LastWords(lastLines) {
		_, _ = fmt.Fprintf(o.Err, "%s: %s\n", p.Name(), l)
	}
	words, err := split(err)
	if words != "" {
		_, _ = fmt.Fprintln(o.Err, words)
	}
	return err
}
