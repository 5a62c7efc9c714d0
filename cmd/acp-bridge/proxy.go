package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

// proxyOptions are the command line by which an editor starts another agent.
type proxyOptions struct {
	editorFlags
	command          proxy.Command
	proxy            proxy.Options
	agent, subAgents string
	tool, noTool     bool
	chain            bool
}

func (o *proxyOptions) flags(fs *flagSet) {
	o.editorFlags.flags(fs, "")
	fs.StringVar(&o.agent, "agent", "", "treat the agent as this `agent`, whatever its name (see acp-bridge doctor --agents)")
	fs.Values("agent", agentNames()...)
	fs.BoolVar(&o.tool, "tool", false, "give the agent a question tool over MCP, even if it has its own")
	fs.BoolVar(&o.noTool, "no-tool", false, "give the agent no question tool over MCP")
	subAgentsFlag(fs, &o.subAgents)
	fs.BoolVar(&o.chain, "chain", false, "be a proxy for an ACP conductor, which starts the agent (a protocol draft)")
}

func (o *proxyOptions) parse(fs *flagSet, args []string) (err error) {
	if own, agent := cutArgs(args); slices.Contains(own, "--chain") {
		var file string
		if file, err = fs.ParseFile(own); err == nil && (file != "" || len(agent) > 0) {
			err = misused("--chain takes no agent: the conductor starts it")
		}
	} else {
		o.command.Args, err = fs.ParseAgent(args, "gemini --acp")
	}
	switch {
	case err != nil:
		return err
	case o.tool && o.noTool:
		return misused("--tool and --no-tool cannot be combined")
	case o.tool:
		o.proxy.Tool = proxy.ToolAlways
	case o.noTool:
		o.proxy.Tool = proxy.ToolNever
	}
	o.proxy.Agent, o.proxy.First, o.proxy.Guard, o.proxy.RefuseSubAgents = findProfile(o.agent), rung(o.ask), o.guard, o.subAgents == refuse
	return o.check()
}

// findProfile finds what is known of an agent by its name, if there is something.
func findProfile(name string) (found proxy.Profile) {
	for _, p := range proxy.Profiles() {
		if p.Name == name {
			found = p
		}
	}
	return found
}

func agentNames() []string {
	return cli.NamesOf(proxy.Profiles(), func(p proxy.Profile) string { return p.Name })
}

// proxyCommand stands between an editor and any agent.
func proxyCommand(fs *flagSet) runner {
	o := new(proxyOptions)
	o.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		if err := o.parse(fs, args); err != nil {
			return err
		}
		if isTerminal(s.In) {
			return misused("stdin is a terminal, and this is for an editor to start; to talk to an agent in a terminal, run acp-bridge chat -- acp-bridge proxy -- AGENT")
		}
		return o.serve(ctx, s, func(ctx context.Context, log *slog.Logger, trace traceFunc) error {
			o.proxy.Logger, o.proxy.Trace = log, trace
			return serveProxy(ctx, o.command, o.proxy, o.hub, s)
		})
	}
}

func serveProxy(ctx context.Context, c proxy.Command, o proxy.Options, hub hubFlags, s streams) error {
	o.Version, c.Stderr = version(), s.Err
	if program, err := os.Executable(); err == nil {
		o.Relay = []string{program, "mcp", "--relay"}
	}
	if len(hub.URLs) > 0 {
		name := "proxy" // under a conductor, which starts the agent
		if len(c.Args) > 0 {
			name = filepath.Base(c.Args[0])
		}
		o.Desk = new(desk.Desk)
		defer hub.link(o.Desk, name, o.Logger)()
	}
	if len(c.Args) == 0 {
		return proxy.Chain(ctx, s.In, s.Out, o)
	}
	return proxy.Serve(ctx, s.In, s.Out, c, o)
}
