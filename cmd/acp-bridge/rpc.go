package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/pipe"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

type rpcOptions struct {
	only                  string
	plain, headless, wait bool
	answers               answerFlags
	editor                acpFlags
}

func rpcCommand(fs *flagSet) runner {
	o := new(rpcOptions)
	editor := &o.editor
	fs.StringVar(&o.only, "dialect", "", "take requests of this `dialect` only, pi or opal (default: both)")
	fs.Values("dialect", "pi", "opal")
	fs.BoolVar(&o.plain, "plain", false, "ask line by line, without drawing (for screen readers)")
	fs.BoolVar(&o.headless, "headless", false, "do not use the terminal, even if there is one")
	fs.BoolVar(&o.wait, "wait", false, "after stdin has ended, wait until open questions are answered")
	o.answers.flags(fs)
	editor.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		args, editor.command = cutArgs(args)
		err := fs.ParseFlags(args, ": requests are read from stdin")
		if err == nil {
			err = editor.hub.check(0)
		}
		switch {
		case err != nil:
			return err
		case o.answers.file == "-":
			return misused("stdin cannot hold both the requests and the answers")
		case editor.on && (o.headless || o.plain || o.answers.given || o.answers.file != ""):
			return misused("with --acp the editor answers: --headless, --plain and --answers do not apply")
		}
		if err := editor.check(fs); err != nil {
			return err
		}
		if editor.on {
			return editor.serve(ctx, o.only, s)
		}
		return o.run(ctx, s)
	}
}

func (o *rpcOptions) run(ctx context.Context, s streams) (err error) {
	s.Err = &lines{w: s.Err} // requests are answered side by side
	p := chainOf("rpc", "", s)
	if p.Given, err = o.answers.forCalls(s); err != nil {
		return err
	}
	p.GivenBy, p.Hub = o.answers.name(), o.editor.hub.Options(hubLogger("rpc", s))
	p.Sessions = func(c convert.Call) []string {
		if !life.Lasting(c.Session) || !life.Lasting(c.ID) { // the user may have prompted since
			return nil
		}
		return []string{fmt.Sprintf("rpc %q %q", c.Session, c.ID)}
	}
	screen := new(screen)
	switch {
	case o.headless || p.Given != nil:
	case isTerminal(s.In):
		return misused("stdin is a terminal: requests must come through a pipe, so that the terminal is free for the answers")
	default: // decided once for all requests
		if screen.tty, err = openTerminal(s); err == nil {
			defer screen.tty.close()
			screen.plain, p.Terminal = o.plain, screen
		}
	}
	// A peer that no longer reads must not end us before files are cleared.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer screen.watchHangup(stop)()
	chain := pending.New(p)
	defer chain.Close()
	server := &pipe.Server{Resolver: chain, Dialect: o.only, Wait: o.wait, Report: p.Say}
	return server.Serve(ctx, s.In, s.Out)
}

// screen is the terminal on which all requests are asked, until it hangs up.
type screen struct {
	tty   *tty // nil where there is none
	plain bool
	gone  atomic.Bool
}

// Ask implements [adapter.Resolver].
func (t *screen) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	if t.gone.Load() {
		o := convert.Outcome{Status: convert.Disconnected}
		return o, o.Err()
	}
	o, err := t.tty.ask(ctx, c, terminal.Resolver{Plain: t.plain})
	if o.Status == convert.Disconnected {
		t.gone.Store(true)
	}
	return o, err
}

// watchHangup notices that the terminal is gone while nothing is asked on it.
// Without a terminal a SIGHUP ends the program, as it does by default.
func (t *screen) watchHangup(end func()) (stop func()) {
	hangup, stopped := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		select {
		case <-hangup:
			if t.gone.Store(true); t.tty == nil {
				end()
			}
		case <-stopped:
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(stopped)
	}
}

// lines is a writer for several at once.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
