package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// serveOptions are the command line by which an editor starts acp-bridge.
type serveOptions struct {
	editorFlags
	agent     backend.Options
	subAgents string
}

func (o *serveOptions) flags(fs *flagSet) {
	fs.StringVar(&o.agent.Claude, "claude", "", "`path` of the Claude Code executable (default: found)")
	o.editorFlags.flags(fs, "")
	subAgentsFlag(fs, &o.subAgents)
	fs.BoolVar(&o.agent.TrustEditor, "trust-editor", false, "let the editor's options allow tools, add hooks and plugins, and set the environment")
}

// subAgentsFlag is the flag for questions of sub-agents.
func subAgentsFlag(fs *flagSet, p *string) {
	fs.StringVar(p, "sub-agents", "ask", "`what` to do with sub-agents' questions: ask or refuse")
	fs.Values("sub-agents", "ask", refuse)
}

const refuse = "refuse"

func (o *serveOptions) parse(fs *flagSet, args []string) (err error) {
	args, o.agent.Args = cutArgs(args)
	file, err := fs.ParseFile(args)
	switch {
	case err != nil:
		return err
	case file != "":
		return program().Unknown("command", file, append(program().Names(), "help"))
	}
	o.agent.RefuseSubAgents, o.agent.First, o.agent.Guard = o.subAgents == refuse, rung(o.ask), o.guard
	return o.check()
}

// serveCommand speaks ACP on stdin and stdout. It is what an editor starts.
func serveCommand(fs *flagSet) runner {
	o := new(serveOptions)
	o.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		if err := o.parse(fs, args); err != nil {
			return err
		}
		if isTerminal(s.In) {
			fmt.Fprint(s.Err, terminalHint)
			return cli.Exit{Code: exitUsage}
		}
		mendEnvironment()
		return o.serve(ctx, s, func(ctx context.Context, log *slog.Logger, trace traceFunc) error {
			o.agent.Logger, o.agent.Trace = log, trace
			return serve(ctx, o.agent, o.hub, s)
		})
	}
}

func serve(ctx context.Context, o backend.Options, hub hubFlags, s streams) error {
	o.Desk = new(desk.Desk)
	var announce atomic.Pointer[func(warn bool, title string)]
	o.Announce = func(tell func(bool, string)) { announce.Store(&tell) }
	tell := func(works bool, words string) {
		if f := announce.Load(); f != nil {
			(*f)(!works, words)
		}
	}
	if link := hub.start(o.Desk, "Claude Code", o.Logger, tell); link != nil {
		defer link.Close()
		o.Meanwhile = func(ctx context.Context, c convert.Call) backend.Settled {
			if left := link.Meanwhile(ctx, c); left != nil {
				return left
			}
			return nil
		}
	}
	o.Version = version()
	o.Login = loginOf(o.Claude)
	if f := reopen(s.In, os.O_RDONLY); f != nil {
		defer f.Close()
		s.In = f
	}
	if f := reopen(s.Out, os.O_WRONLY); f != nil {
		defer f.Close()
		s.Out = f
	}
	return backend.Serve(ctx, s.In, s.Out, o)
}

// terminalHint is for a person who starts what an editor starts.
const terminalHint = `acp-bridge demo      see it work: no account, no network
acp-bridge doctor    check the set-up, and print the settings for your editor
acp-bridge help      everything else
`
