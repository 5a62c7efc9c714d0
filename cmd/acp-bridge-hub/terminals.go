package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/codex"
	"github.com/acp-bridge/acp-bridge/internal/watch/opencode"
)

// watchTerminals has what agents ask in terminals of this user at this hub, until stop is
// called. It is the user's own hub that does so: one with the folder that is the
// default, which shares its questions with no other.
func watchTerminals(ctx context.Context, o options, at net.Addr, log *slog.Logger, errOut io.Writer) (stop func()) {
	own, err := hublink.DataDir()
	address, isTCP := at.(*net.TCPAddr)
	if err != nil || !isTCP || o.data != own || o.nats != "" || o.tlsCert != "" || !address.IP.IsLoopback() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	for _, t := range []watch.Terminals{codex.Terminals(cli.Version(), codex.Socket), opencode.Terminals()} {
		unlock, err := t.Lock()
		if err != nil {
			log.Info("not watched from here, until that has ended", "err", err)
		}
		watching.Go(func() {
			for err != nil {
				if proc.Sleep(ctx, watch.AgainTime); ctx.Err() != nil {
					return
				}
				unlock, err = t.Lock()
			}
			defer unlock()
			w := watch.Start(hublink.Options{
				URL: &url.URL{Scheme: "http", Host: address.String()}, Token: func() (string, error) { return readToken(o) }, Logger: log,
			})
			defer w.Close()
			t.Run(ctx, w, func(text string) { fmt.Fprintln(errOut, "acp-bridge-hub:", text) })
		})
	}
	return func() {
		cancel()
		watching.Wait()
	}
}
