// Package netfault has servers of tests, and breaks connections to them.
package netfault

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Proxy hands bytes on between its clients and a server. It can lose them.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup
	state    proc.Guarded[state]
}

// state is what is done to bytes, and to which.
type state struct {
	target string
	mode   Mode
	conns  map[net.Conn]bool
	held   chan struct{} // closed when what is held goes on
	holds  chan struct{} // closed when something is held
}

// Mode is what a proxy does with bytes.
type Mode int

const (
	// Pass hands everything on.
	Pass Mode = iota
	// LoseReplies drops what the server sends.
	LoseReplies
	// LoseAll drops everything, in both directions: the connections stay open.
	LoseAll
)

// NATS starts a server, until the test ends. It takes messages of that many bytes, or if that is
// 0 of as many as NATS does unless told otherwise.
func NATS(t testing.TB, most int32) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), MaxPayload: most})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(5*time.Minute))
	return s
}

// Between starts a proxy for a server on this machine, until the test ends. The server's address
// may be empty until [Proxy.Point] is called: then nobody is served.
func Between(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: l, state: proc.Guarded[state]{Value: state{target: strings.TrimPrefix(target, "nats://"), conns: map[net.Conn]bool{}}}}
	p.running.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the mode. With [Pass] the connections are closed, as bytes are
// missing in them; clients come back.
func (p *Proxy) Set(m Mode) {
	p.state.Step(func(s *state) {
		if s.mode = m; m == Pass {
			s.drop()
		}
	})
}

// Hold keeps back what clients send from now on, and hands all of it on when release is
// called. something is closed once there is anything.
func (p *Proxy) Hold() (something <-chan struct{}, release func()) {
	holds, held := make(chan struct{}), make(chan struct{})
	p.state.Step(func(s *state) { s.holds, s.held = holds, held })
	return holds, func() {
		p.state.Step(func(s *state) { s.holds, s.held = nil, nil })
		close(held)
	}
}

// hold waits until what a client has sent may go on.
func (p *Proxy) hold() {
	var held chan struct{}
	p.state.Step(func(s *state) {
		if held = s.held; s.holds != nil {
			close(s.holds)
			s.holds = nil
		}
	})
	if held != nil {
		<-held
	}
}

// Point makes the proxy one for another server. Connections that there are stay.
func (p *Proxy) Point(target string) { p.state.Step(func(s *state) { s.target = target }) }

// Close ends the proxy and all connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.state.Step(func(s *state) {
		s.drop()
		s.conns = nil
	})
	p.running.Wait()
}

// drop closes all connections.
func (s *state) drop() {
	for c := range s.conns {
		c.Close()
	}
	clear(s.conns)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		var target string
		p.state.Step(func(s *state) { target = s.target })
		server, err := net.Dial("tcp", target)
		if err != nil {
			client.Close()
			continue
		}
		closed := false
		p.state.Step(func(s *state) {
			if closed = s.conns == nil; !closed {
				s.conns[client], s.conns[server] = true, true
			}
		})
		if closed {
			client.Close()
			server.Close()
			return
		}
		p.running.Go(func() { p.copy(server, client, LoseAll) })
		p.running.Go(func() { p.copy(client, server, LoseReplies) })
	}
}

// copy hands bytes on unless the mode is lost or a worse one.
func (p *Proxy) copy(to, from net.Conn, lost Mode) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if lost == LoseAll && n > 0 {
			p.hold()
		}
		dropped := false
		p.state.Step(func(s *state) { dropped = s.mode >= lost })
		if n > 0 && !dropped {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
