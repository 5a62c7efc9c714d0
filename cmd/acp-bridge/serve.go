package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/claude/agent"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
)

// parseServe reads the command line by which an editor starts acp-bridge.
func parseServe(args []string, s streams) (o agent.Options, log logOptions, hub hubFlags, err error) {
	var ask, subAgents string
	args, o.Args = cutArgs(args)
	fs := newFlags("", "[FLAGS] [-- CLAUDE-ARGUMENTS]", s)
	fs.StringVar(&o.Claude, "claude", "", "`path` of the Claude Code executable (default: found)")
	fs.StringVar(&ask, "ask", os.Getenv("ACP_BRIDGE_ASK"), "first way to ask: auto, form, `permission` or message; hub asks there alone")
	fs.BoolVar(&o.Guard, "guard-auto-answers", false, "distrust answers that come faster than a person can read")
	fs.StringVar(&subAgents, "sub-agents", "ask", "`what` becomes of questions of sub-agents: ask, or refuse")
	hub.flags(fs)
	log.flags(fs)
	file, err := fs.parse(args)
	switch {
	case err != nil:
		return o, log, hub, err
	case file != "":
		return o, log, hub, usagef("unknown command %q; acp-bridge help lists them", file)
	case subAgents != "ask" && subAgents != "refuse":
		return o, log, hub, usagef("--sub-agents must be ask or refuse, got %q", subAgents)
	}
	o.RefuseSubAgents = subAgents == "refuse"
	if o.First, err = parseRung(ask); err != nil {
		return o, log, hub, err
	}
	return o, log, hub, hub.check(o.First)
}

// runServe speaks ACP on stdin and stdout. It is what an editor starts.
func runServe(ctx context.Context, args []string, s streams) error {
	o, log, hub, err := parseServe(args, s)
	if err != nil {
		return err
	}
	if isTerminal(s.in) {
		fmt.Fprint(s.err, terminalHint)
		return usagef("stdin is a terminal")
	}
	logger, trace, closeLog, err := log.open(s)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Logger, o.Trace = logger, trace
	o.Desk = new(desk.Desk)
	defer hub.link(o.Desk, "Claude Code", o.Logger)()
	o.Version = version()
	o.Login = loginOf(o.Claude)
	defer trimSoon()()
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
	defer releaseWhileAsking(o.Desk)()
	return agent.Serve(ctx, s.in, s.out, o)
}

const terminalHint = `acp-bridge is started by an editor and speaks ACP on stdin and stdout.
To use it, name it as an agent in the editor's settings. For Zed:

  "agent_servers": {
    "Claude Code (acp-bridge)": {"type": "custom", "command": "acp-bridge", "args": []}
  }

acp-bridge help lists what can be done in a terminal.
`

// cutArgs takes what follows a double dash off the arguments.
func cutArgs(args []string) (own, rest []string) {
	for i, a := range args {
		if a == "--" {
			return args[:i], args[i+1:]
		}
	}
	return args, nil
}

func parseRung(name string) (adapter.Rung, error) {
	for _, r := range []adapter.Rung{0, adapter.Form, adapter.Permission, adapter.Conversation, adapter.Elsewhere} {
		if name == r.String() {
			return r, nil
		}
	}
	if name == "" {
		return 0, nil
	}
	return 0, usagef("--ask (or ACP_BRIDGE_ASK) must be auto, form, permission, message or hub, got %q", strings.TrimSpace(name))
}
