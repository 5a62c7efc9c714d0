package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
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
	fs.StringVar(&o.dir, "cwd", "", "`directory` for questions that the client cannot show (default: here)")
	fs.DurationVar(&o.limit, "limit", mcp.DefaultLimit, "how long (`duration`) a call waits before it returns a ticket")
	fs.StringVar(&o.ask, "ask", "auto", "`where` to ask: auto, or hub to ask only there")
	fs.Values("ask", "auto", "hub")
	fs.BoolVar(&o.relay, "relay", false, "be the question tool of the proxy at $"+proxy.ToolAddress+": the proxy has agents start this")
	o.hub.flags(fs)
	levelFlag(fs, &o.level)
	return func(ctx context.Context, args []string, s streams) (err error) {
		switch err := fs.ParseFlags(args, ""); {
		case err != nil:
			return err
		case o.limit <= 0:
			return misused("--limit must be greater than zero, got %s", o.limit)
		}
		if o.relay {
			return proxy.RelayTool(ctx, s.In, s.Out, os.Getenv(proxy.ToolAddress))
		}
		if err := o.hub.check(rung(o.ask)); err != nil {
			return err
		}
		if o.dir, err = absolute(o.dir); err != nil {
			return err
		}
		return untilTold(ctx, func(ctx context.Context) error { return o.run(ctx, s) })
	}
}

func (o *mcpOptions) run(ctx context.Context, s streams) error {
	log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: o.level}))
	p := chainOf("mcp", o.dir, s)
	p.Store.Report, p.Say = func(err error) { log.Warn(oneLine(err)) }, func(text string) { log.Info(text) }
	p.Hub = o.hub.Options(hubLogger("mcp", s))
	var server *mcp.Server
	p.Who = func(c convert.Call) string { return server.Client(c.Session) }
	chain := pending.New(p)
	defer chain.Close()
	opts := mcp.Options{
		Resolver: chain, Elicit: o.ask != "hub", Alongside: p.Hub != nil, Limit: o.limit, Version: version(), Logger: log,
	}
	server = mcp.New(opts)
	defer server.Close()
	if o.addr != "" {
		return serveHTTP(ctx, o.addr, server.Handler(), s)
	}
	return server.Serve(ctx, s.In, s.Out)
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
	fmt.Fprintf(s.Err, "acp-bridge mcp: listening on http://%s/\n", l.Addr())
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
