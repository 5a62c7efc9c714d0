package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
)

// parseProxy reads the command line by which an editor starts another agent.
func parseProxy(args []string, s streams) (c proxy.Command, o proxy.Options, log logOptions, err error) {
	var ask, agent string
	var tool, noTool bool
	dashes := slices.Contains(args, "--")
	args, c.Args = cutArgs(args)
	fs := newFlags("proxy", "[FLAGS] -- AGENT [ARGUMENTS]", s)
	fs.StringVar(&ask, "ask", os.Getenv("ACP_BRIDGE_ASK"), "first way to ask: auto, form, `permission` or message")
	fs.BoolVar(&o.Guard, "guard-auto-answers", false, "distrust answers that come faster than a person can read")
	fs.StringVar(&agent, "agent", "", "treat the agent as this `one`, whatever its name: see acp-bridge doctor --agents")
	fs.BoolVar(&tool, "tool", false, "give the agent a question tool over MCP, also if it has one of its own")
	fs.BoolVar(&noTool, "no-tool", false, "give the agent no question tool over MCP")
	log.flags(fs)
	file, err := fs.parse(args)
	switch {
	case err != nil:
		return c, o, log, err
	case file != "" && !dashes:
		return c, o, log, usagef("the agent comes after a double dash: acp-bridge proxy -- %s", file)
	case file != "":
		return c, o, log, usagef("unexpected argument %q before the double dash", file)
	case len(c.Args) == 0:
		return c, o, log, usagef("no agent given; usage: acp-bridge proxy [FLAGS] -- AGENT [ARGUMENTS], as in acp-bridge proxy -- gemini --acp")
	case tool && noTool:
		return c, o, log, usagef("--tool and --no-tool exclude each other")
	case tool:
		o.Tool = proxy.ToolAlways
	case noTool:
		o.Tool = proxy.ToolNever
	}
	if agent != "" {
		if o.Agent, err = findProfile(agent); err != nil {
			return c, o, log, err
		}
	}
	o.First, err = parseRung(ask)
	return c, o, log, err
}

// findProfile finds what is known of an agent by its name.
func findProfile(name string) (proxy.Profile, error) {
	var names []string
	for _, p := range proxy.Profiles() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return proxy.Profile{}, usagef("unknown agent %q: expected one of %s", name, strings.Join(names, ", "))
}

// runProxy stands between an editor and any agent.
func runProxy(ctx context.Context, args []string, s streams) error {
	c, o, log, err := parseProxy(args, s)
	if err != nil {
		return err
	}
	if isTerminal(s.in) {
		return usagef("stdin is a terminal: an editor starts this; to talk to an agent in a terminal, run acp-bridge chat -- acp-bridge proxy -- AGENT")
	}
	logger, trace, closeLog, err := log.open(s)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Logger, o.Trace, o.Version = logger, trace, version()
	c.Stderr = s.err
	defer trimSoon()()
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = proxy.Serve(ctx, s.in, s.out, c, o)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
