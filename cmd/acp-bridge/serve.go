package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// serveOptions are the command line by which an editor starts acp-bridge.
type serveOptions struct {
	agent     backend.Options
	ask       string
	subAgents string
	log       logOptions
	hub       hubFlags
}

func (o *serveOptions) flags(fs *flagSet) {
	fs.StringVar(&o.agent.Claude, "claude", "", "`path` of the Claude Code executable (default: found)")
	askFlag(fs, &o.ask, "; hub asks only there")
	fs.BoolVar(&o.agent.Guard, "guard-auto-answers", false, "distrust answers that come faster than a person can read")
	subAgentsFlag(fs, &o.subAgents)
	fs.BoolVar(&o.agent.TrustEditor, "trust-editor", false, "let the editor's options allow tools, add hooks and plugins, and set the environment")
	o.hub.flags(fs)
	o.log.flags(fs)
}

// subAgentsFlag is the flag for questions of sub-agents.
func subAgentsFlag(fs *flagSet, p *string) {
	fs.StringVar(p, "sub-agents", "ask", "`what` to do with sub-agents' questions: ask or refuse")
	fs.Values("sub-agents", "ask", refuse)
}

const refuse = "refuse"

// askFlag is the flag for the first way to ask.
func askFlag(fs *flagSet, p *string, more string) {
	fs.FromEnv(p, "ask", "ACP_BRIDGE_ASK", "`way` to ask first: auto, form, permission or message"+more)
	fs.Values("ask", "auto", "form", "permission", "message", "hub")
}

func (o *serveOptions) parse(fs *flagSet, args []string) (err error) {
	args, o.agent.Args = cutArgs(args)
	file, err := fs.ParseFile(args)
	switch {
	case err != nil:
		return err
	case file != "":
		return program().Unknown("command", file, append(program().Names(), "help"))
	}
	o.agent.RefuseSubAgents, o.agent.First = o.subAgents == refuse, rung(o.ask)
	return o.hub.check(o.agent.First)
}

// serveCommand speaks ACP on stdin and stdout. It is what an editor starts.
func serveCommand(fs *flagSet) runner {
	o := new(serveOptions)
	o.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		if err := o.parse(fs, args); err != nil {
			return err
		}
		if isTerminal(s.in) {
			fmt.Fprint(s.err, terminalHint)
			return cli.Exit{Code: exitUsage}
		}
		mendEnvironment()
		return serve(ctx, o.agent, o.log, o.hub, s)
	}
}

func serve(ctx context.Context, o backend.Options, log logOptions, hub hubFlags, s streams) error {
	logger, trace, closeLog, err := log.open(s)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Logger, o.Trace = logger, trace
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
	// A dead editor must not kill us before its agent's processes are ended.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if f := reopen(s.in, os.O_RDONLY); f != nil {
		defer f.Close()
		s.in = f
	}
	if f := reopen(s.out, os.O_WRONLY); f != nil {
		defer f.Close()
		s.out = f
	}
	return backend.Serve(ctx, s.in, s.out, o)
}

// terminalHint is for a person who starts what an editor starts.
const terminalHint = `acp-bridge demo      see it work: no account, no network
acp-bridge doctor    check the set-up, and print the settings for your editor
acp-bridge help      everything else
`

// rung is a value of --ask; without one it is up to the editor.
func rung(name string) adapter.Rung {
	rungs := []adapter.Rung{0, adapter.Form, adapter.Permission, adapter.Conversation, adapter.Elsewhere}
	return rungs[max(0, slices.IndexFunc(rungs, func(r adapter.Rung) bool { return r.String() == name }))]
}
