package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

type demoOptions struct {
	stdio   bool
	answers answerFlags
	hub     hubFlags
	client  client.Options
}

// demoCommand lets a scripted agent ask its questions over a real connection.
func demoCommand(fs *flagSet) runner {
	o := &demoOptions{client: clientOptions()}
	wireFlag(fs, &o.client)
	fs.BoolVar(&o.client.Plain, "plain", false, "read and write lines, without drawing")
	o.answers.flags(fs)
	fs.BoolVar(&o.stdio, "stdio", false, "be the agent, on stdin and stdout, for an editor to start")
	o.hub.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		err := fs.ParseFlags(args, "")
		if err == nil {
			err = o.hub.check(0)
		}
		switch {
		case err != nil:
			return err
		case o.stdio && (o.client.Wire || o.client.Plain || o.answers.given || o.answers.file != ""):
			return misused("--stdio takes no other flag than --hub: the client shows the questions and answers them")
		}
		return o.run(ctx, s)
	}
}

func (o *demoOptions) run(ctx context.Context, s streams) error {
	ctx, stop := endSignals(ctx)
	defer stop()
	if o.stdio {
		if isTerminal(s.In) {
			return misused("stdin is a terminal: --stdio is for an editor, or acp-bridge chat -- acp-bridge demo --stdio")
		}
		open := new(desk.Desk)
		defer o.hub.link(open, "acp-bridge demo", hubLogger("demo", s))()
		return scripted.ServeDemo(ctx, s.In, s.Out, scripted.DemoOptions{Version: version(), Desk: open})
	}
	if err := o.answered(s); err != nil {
		return err
	}
	if err := playDemo(ctx, *o, s); err != nil {
		return chatResult(err)
	}
	if isTerminal(s.Err) {
		_, _ = io.WriteString(s.Err, demoNext)
	}
	return nil
}

// demoNext is what a newcomer does after the demo.
const demoNext = `
Next: acp-bridge doctor --editor zed (or another) for your editor's settings,
acp-bridge chat -- acp-bridge for Claude Code, acp-bridge hub for a browser.
`

// answered finds out where answers come from.
func (o *demoOptions) answered(s streams) error {
	data, given, err := o.answers.read(s)
	if err != nil {
		return err
	}
	if !given {
		if !o.client.Plain && !isTerminal(s.In) {
			return misused(`there is no terminal to ask on; without one use --answers '["PostgreSQL",["Auth","Logs"],"order-processor"]', --plain to answer line by line, or --stdio`)
		}
		return nil
	}
	outcome, err := o.answers.outcome(scripted.DemoCall(), data, s.Err)
	if err != nil {
		return err
	}
	o.client.Resolver = adapter.Static{Answers: outcome.Answers, Err: outcome.Err()}
	return nil
}

// playDemo joins the agent and the client in this process.
func playDemo(ctx context.Context, demoed demoOptions, s streams) error {
	o := demoed.client
	o.In, o.Out, o.Err = s.In, s.Out, s.Err
	var err error
	if o.Dir, err = absolute(o.Dir); err != nil {
		return err
	}
	if len(demoed.hub.URLs) > 0 { // on this side, so that the client knows who has answered
		if o.Resolver == nil {
			fmt.Fprintf(s.Err, "You can answer here or at %s; the first answer counts.\n\n", demoed.hub.URLs[0])
		}
		o.Desk = new(desk.Desk)
		defer demoed.hub.link(o.Desk, "acp-bridge demo", hubLogger("demo", s))()
	}
	o.Prompt, o.Once = scripted.DemoPrompt, true
	agentIn, toAgent := io.Pipe()
	fromAgent, agentOut := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- scripted.ServeDemo(ctx, agentIn, agentOut, scripted.DemoOptions{Version: version()}) }()
	err = client.Run(ctx, fromAgent, toAgent, o)
	_ = toAgent.Close()
	_ = fromAgent.Close()
	if served := <-ended; err == nil && !errors.Is(served, io.ErrClosedPipe) {
		err = served
	}
	return err
}

// absolute is a directory as a session needs it.
func absolute(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(dir); err != nil {
		return "", cli.Usage(err)
	} else if !info.IsDir() {
		return "", usagef("%s is not a directory", dir)
	}
	return dir, nil
}
