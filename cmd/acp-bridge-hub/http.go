package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// endTime is how long the end of the hub waits for requests that are under way. A
// write takes a millisecond, and some seconds where a cluster elects a leader.
const endTime = 25 * time.Second

// beginTime is how long a connection may take to begin with a request that was on
// its way. One on which nothing is asked is not waited for.
const beginTime = time.Second

// serveHTTP serves until ctx ends. Then streams are told to come back, requests
// that wait are told that they still do, and what was begun is finished.
func serveHTTP(ctx context.Context, o options, l net.Listener, lan *networks, server *web.Server, board *hub.Board, log *slog.Logger) error {
	serving := &serving{conns: map[net.Conn]bool{}}
	h := &http.Server{
		Handler: server, ConnState: serving.state,
		ReadHeaderTimeout: web.HeaderTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	serve := func(l net.Listener) error {
		if o.tlsCert != "" {
			return h.ServeTLS(l, o.tlsCert, o.tlsKey)
		}
		return h.Serve(l)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(l) }()
	if lan != nil {
		var following sync.WaitGroup
		looking, stop := context.WithCancel(ctx)
		following.Go(func() { lan.run(looking, func(l net.Listener) { _ = serve(l) }) })
		defer following.Wait()
		defer stop()
	}
	var err error
	select {
	case err = <-ended:
	case <-board.Done():
		err = errors.New("the questions can no longer be followed")
	case <-ctx.Done():
	}
	server.Close()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = h.Shutdown(grace) }() // no new connections from now on
	select {
	case <-stopped: // all have their replies
	case <-time.After(beginTime):
		select {
		case <-stopped:
		case <-serving.done():
		}
	}
	h.Close()
	return err
}

// serving knows the connections on which a request is under way, until all of its
// reply was sent.
type serving struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
	idle  chan struct{} // closed when there are none, for done
}

// state is told of every connection: one that is idle or closed has sent its
// reply.
func (s *serving) state(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateActive:
		s.conns[c] = true
	case http.StateIdle, http.StateClosed:
		delete(s.conns, c)
		s.check()
	}
}

// done is closed when no request is under way.
func (s *serving) done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := make(chan struct{})
	s.idle = done
	s.check()
	return done
}

// check closes idle if nothing is under way. mu is held.
func (s *serving) check() {
	if len(s.conns) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}
