package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"

	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/codex"
)

// watchCodex has what Codex asks in terminals of this user at this hub, until stop is
// called. It is the user's own hub that does so: one with the folder that is the
// default, which shares its questions with no other.
func watchCodex(ctx context.Context, o options, at net.Addr, log *slog.Logger, errOut io.Writer) (stop func()) {
	own, err := hublink.DataDir()
	socket, noSocket := codex.Socket()
	address, isTCP := at.(*net.TCPAddr)
	if err != nil || noSocket != nil || !isTCP || o.data != own || o.nats != "" || o.tlsCert != "" || !address.IP.IsLoopback() {
		return func() {}
	}
	unlock, err := codex.Lock(filepath.Dir(own))
	if err != nil {
		log.Info("the terminals of Codex are not watched from here", "err", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer unlock()
		w := watch.Start(hublink.Options{
			URL: &url.URL{Scheme: "http", Host: address.String()}, Token: func() (string, error) { return readToken(o) }, Logger: log,
		})
		defer w.Close()
		codex.Run(ctx, codex.Options{Socket: socket, Version: version(), Watch: w, Say: func(text string) { fmt.Fprintln(errOut, "acp-bridge-hub:", text) }})
	}()
	return func() {
		cancel()
		<-ended
	}
}
