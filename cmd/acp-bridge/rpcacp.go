package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/pipeagent"
)

// acpFlags are those of acp-bridge rpc in an editor.
type acpFlags struct {
	editorFlags
	on      bool
	socket  string
	command []string
}

func (a *acpFlags) flags(fs *flagSet) {
	fs.BoolVar(&a.on, "acp", false, "speak ACP with an editor on stdin and stdout, and ask there what the\ncommand after the double dash asks on its stdout, or agents at\n--socket. The command runs once per prompt, its last argument")
	fs.StringVar(&a.socket, "socket", "", "--acp: also listen on this `path` for agents that run elsewhere")
	a.editorFlags.flags(fs, ", with --acp")
}

// check reports flags that do not fit together.
func (a *acpFlags) check(fs *flagSet) error {
	for _, name := range []string{"ask", "guard-auto-answers", "log-level", "log-file", "trace"} {
		if !a.on && fs.Given(name) {
			return misused("--%s needs --acp: without it no editor is asked", name)
		}
	}
	switch {
	case !a.on && (a.socket != "" || len(a.command) > 0):
		return misused("a command or --socket needs --acp: without it the requests are read from stdin")
	case a.on && a.socket == "" && len(a.command) == 0:
		return misused("--acp needs an agent: acp-bridge rpc --acp -- COMMAND [ARGUMENTS], or --socket PATH")
	}
	return nil
}

// serve speaks ACP on stdin and stdout.
func (a *acpFlags) serve(ctx context.Context, dialect string, s streams) error {
	if isTerminal(s.In) {
		return usagef("stdin is a terminal, and this is for an editor to start; to try it in a terminal, run acp-bridge chat -- acp-bridge rpc --acp -- COMMAND")
	}
	if err := a.editorFlags.check(); err != nil {
		return err
	}
	return a.editorFlags.serve(ctx, s, func(ctx context.Context, log *slog.Logger, trace traceFunc) (err error) {
		o := pipeagent.Options{First: rung(a.ask), Command: a.command, Dialect: dialect, Guard: a.guard, Desk: new(desk.Desk), Version: version(), Stderr: s.Err, Logger: log}
		o.Trace = func(dir ndjson.Direction, text []byte) { trace("editor", dir, text) }
		defer a.hub.link(o.Desk, "acp-bridge rpc", log)()
		if a.socket != "" {
			if o.Listener, err = listenAt(a.socket); err != nil {
				return cli.Usage(err)
			}
		}
		return pipeagent.Serve(ctx, s.In, s.Out, o)
	})
}

// listenAt makes a socket that is for this user alone. One that a program left
// behind which has ended is replaced.
func listenAt(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if c, dialErr := net.Dial("unix", path); dialErr == nil {
			c.Close()
			return nil, fmt.Errorf("another program is listening on %s", path)
		}
		if info, statErr := os.Lstat(path); statErr != nil || info.Mode()&os.ModeSocket == 0 {
			return nil, err
		}
		if err = os.Remove(path); err == nil {
			l, err = net.Listen("unix", path)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
