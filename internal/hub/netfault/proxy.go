// Package netfault breaks connections, for tests.
package netfault

import (
	"net"
	"sync"
)

// Proxy hands bytes on between its clients and a server. It can lose them.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
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

// Listen starts a proxy for a server on this machine. Its address may be empty
// until [Proxy.Point] is called: then nobody is served.
func Listen(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the mode. With [Pass] the connections are closed, as bytes are
// missing in them; clients come back.
func (p *Proxy) Set(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	if m == Pass {
		p.drop()
	}
}

// Hold keeps back what clients send from now on, and hands all of it on when release is
// called. something is closed once there is anything.
func (p *Proxy) Hold() (something <-chan struct{}, release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.holds = make(chan struct{}), make(chan struct{})
	something, going := p.holds, p.held
	return something, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(going)
		p.held, p.holds = nil, nil
	}
}

// hold waits until what a client has sent may go on.
func (p *Proxy) hold() {
	p.mu.Lock()
	going := p.held
	if p.holds != nil {
		close(p.holds)
		p.holds = nil
	}
	p.mu.Unlock()
	if going != nil {
		<-going
	}
}

// Point makes the proxy one for another server. Connections that there are stay.
func (p *Proxy) Point(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Close ends the proxy and all connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	p.drop()
	p.conns = nil
	p.mu.Unlock()
	p.running.Wait()
}

// drop closes all connections. mu is held.
func (p *Proxy) drop() {
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		if p.conns == nil {
			client.Close()
			server.Close()
			p.mu.Unlock()
			return
		}
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
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
		p.mu.Lock()
		dropped := p.mode >= lost
		p.mu.Unlock()
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
