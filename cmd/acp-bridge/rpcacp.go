package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/pipeagent"
)

// acpFlags are those of acp-bridge rpc in an editor.
type acpFlags struct {
	on          bool
	socket, ask string
	guard       bool
	command     []string
	log         logOptions
	hub         *hubFlags
}

func (a *acpFlags) flags(fs *flagSet) {
	fs.BoolVar(&a.on, "acp", false, "speak ACP with an editor on stdin and stdout, and ask there what the\ncommand after the double dash asks on its stdout, or agents at\n--socket. The command runs once per prompt, its last argument")
	fs.StringVar(&a.socket, "socket", "", "--acp: also listen on this `path` for agents that run elsewhere")
	askFlag(fs, &a.ask, ", with --acp; hub asks only there")
	fs.BoolVar(&a.guard, "guard-auto-answers", false, "--acp: distrust answers that come faster than a person can read")
	a.log.flags(fs)
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
	if isTerminal(s.in) {
		return usagef("stdin is a terminal, and this is for an editor to start; to try it in a terminal, run acp-bridge chat -- acp-bridge rpc --acp -- COMMAND")
	}
	first := rung(a.ask)
	if err := a.hub.check(first); err != nil {
		return err
	}
	o := pipeagent.Options{First: first, Command: a.command, Dialect: dialect, Guard: a.guard, Desk: new(desk.Desk), Version: version(), Stderr: s.err}
	logger, trace, closeLog, err := a.log.open(s)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Logger = logger
	o.Trace = func(dir ndjson.Direction, text []byte) { trace("editor", dir, text) }
	defer a.hub.link(o.Desk, "acp-bridge rpc", logger)()
	if a.socket != "" {
		if o.Listener, err = listenAt(a.socket); err != nil {
			return cli.Usage(err)
		}
	}
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = pipeagent.Serve(ctx, s.in, s.out, o)
	if ctx.Err() != nil {
		return nil
	}
	return err
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
