package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// mcpOptions are how the question tool for MCP clients is served.
type mcpOptions struct {
	addr, dir string
	limit     time.Duration
	level     slog.Level
	ask       string
	relay     bool
	hub       hubFlags
}

func mcpCommand(fs *flagSet) runner {
	o := &mcpOptions{level: slog.LevelWarn}
	fs.StringVar(&o.addr, "http", "", "serve streamable HTTP on this loopback `address`, as in 127.0.0.1:7333 (default: stdin and stdout)")
	fs.StringVar(&o.dir, "cwd", "", "`directory` in which questions wait that the client cannot show (default: here)")
	fs.DurationVar(&o.limit, "limit", mcp.DefaultLimit, "how long (`duration`) a call waits before it returns a ticket")
	fs.StringVar(&o.ask, "ask", "auto", "`where` to ask: auto, or hub to ask there alone")
	fs.values("ask", "auto", "hub")
	fs.BoolVar(&o.relay, "relay", false, "be the question tool of the proxy at $"+proxy.ToolAddress+": the proxy has agents start this")
	o.hub.flags(fs)
	levelFlag(fs, &o.level)
	return func(ctx context.Context, args []string, s streams) (err error) {
		switch err := fs.parseFlags(args, ""); {
		case err != nil:
			return err
		case o.limit <= 0:
			return misused("--limit must be more than nothing, got %s", o.limit)
		case o.ask != "auto" && o.ask != "hub":
			return misused("--ask must be auto or hub, got %q", o.ask)
		}
		if o.relay {
			return proxy.RelayTool(ctx, s.in, s.out, os.Getenv(proxy.ToolAddress))
		}
		first, err := parseRung(o.ask)
		if err == nil {
			err = o.hub.check(first)
		}
		if err != nil {
			return err
		}
		if o.dir, err = absolute(o.dir); err != nil {
			return err
		}
		return o.run(ctx, s)
	}
}

func (o *mcpOptions) run(ctx context.Context, s streams) error {
	log := slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: o.level}))
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	files := &fileAsker{store: pending.Store{Dir: o.dir, Report: func(err error) { log.Warn(oneLine(err)) }}, log: log}
	opts := mcp.Options{
		Resolver: files, Elicit: o.ask != "hub", Limit: o.limit, Version: version(), Logger: log,
		Waiting: files.where, Deliver: files.deliver,
	}
	if atHub := o.hub.open("acp-bridge mcp", s); atHub != nil {
		defer atHub.close()
		atHub.dir = o.dir
		atHub.leaves = func(context.Context) bool { return files.closing.Load() }
		opts.Resolver, opts.Alongside = atHub, true
		opts.Waiting = func(convert.Call) string { return "The question waits at " + o.hub.url.String() + "/" }
		opts.Deliver = func(c convert.Call, o convert.Outcome) error {
			if o.Status == convert.Answered {
				atHub.used(c.Session)
			}
			return nil
		}
	}
	server := mcp.New(opts)
	defer server.Close()
	defer files.closing.Store(true)
	if o.addr != "" {
		return serveHTTP(ctx, o.addr, server.Handler(), s)
	}
	err := server.Serve(ctx, s.in, s.out)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// serveHTTP serves on a loopback address until ctx ends.
func serveHTTP(ctx context.Context, addr string, h http.Handler, s streams) error {
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return misused("--http must be a loopback address such as 127.0.0.1:7333, got %q", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "acp-bridge mcp: listening on http://%s/\n", l.Addr())
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	err = server.Close()
	<-ended
	return err
}

// fileAsker asks in files, for want of anything better.
type fileAsker struct {
	store   pending.Store
	log     *slog.Logger
	closing atomic.Bool
}

// Ask implements [adapter.Resolver]. Questions that are withdrawn leave no file;
// those that are open when the program ends stay, and are found again.
func (a *fileAsker) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	o := a.ask(ctx, c)
	return o, o.Err()
}

func (a *fileAsker) ask(ctx context.Context, c convert.Call) convert.Outcome {
	file, err := a.store.Post(c)
	for err == nil && !file.Settled() {
		posted := file
		if file, err = a.store.Wait(ctx, posted); ctx.Err() != nil && err != nil {
			if !a.closing.Load() {
				a.withdraw(posted)
			}
			return convert.Outcome{Status: convert.Cancelled, Reason: "The question was withdrawn"}
		}
		if errors.Is(err, pending.ErrTaken) { // the answers were for another who asked the same
			file, err = a.store.Post(c)
		}
	}
	switch {
	case errors.Is(err, pending.ErrGone), err == nil && file.Cancelled: // a person did that
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case err != nil:
		return convert.Outcome{Status: convert.Failed, Reason: err.Error()}
	}
	return convert.Outcome{Status: convert.Answered, Answers: file.Answers}
}

// withdraw removes a file that nobody has begun to answer.
func (a *fileAsker) withdraw(f *pending.File) {
	now, err := a.store.Open(f.Path)
	if err == nil && now.Err == nil && now.Left() == len(now.Questions) {
		err = a.store.Clear(now)
	}
	if err != nil && !errors.Is(err, pending.ErrNotFound) {
		a.log.Warn("a question stays in its file", "err", oneLine(err))
	}
}

// deliver uses up the file whose answers the model is about to get, or whose
// questions the user has dismissed. Another program may have been faster.
func (a *fileAsker) deliver(c convert.Call, o convert.Outcome) error {
	file, err := a.store.Find(c)
	used := false
	switch {
	case err == nil && file.Settled() && sameEnd(file, o):
		err = a.store.Take(file, func() error { used = true; return nil })
	case err == nil:
		err = pending.ErrGone // it holds another answer, or none yet
	}
	taken := !used && (errors.Is(err, pending.ErrGone) || errors.Is(err, pending.ErrChanged) || errors.Is(err, pending.ErrNotFound))
	switch {
	case taken && o.Status == convert.Answered:
		return fmt.Errorf("%w: %w", mcp.ErrTaken, err)
	case err != nil && !taken:
		a.log.Warn("answers were used, but their file stays", "err", oneLine(err))
	}
	return nil
}

// sameEnd reports whether a file has this outcome.
func sameEnd(f *pending.File, o convert.Outcome) bool {
	if f.Cancelled {
		return o.Status == convert.Cancelled
	}
	return o.Status == convert.Answered && reflect.DeepEqual(f.Answers, o.Answers)
}

// where tells the model what to tell its user.
func (a *fileAsker) where(c convert.Call) string {
	file, err := a.store.Find(c)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("The user cannot be asked here and now. Tell the user to run `acp-bridge questions answer %s`, or to write the answers into %s.", file.ID, file.Path)
}
