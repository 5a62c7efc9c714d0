package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// networks are the listeners for other machines of this machine's own networks. They are
// opened and closed while the hub runs; who is on this machine does not notice. Each
// address has a listener of its own: that on all of them cannot be had beside the one
// for this machine, which stays.
type networks struct {
	port string
	log  *slog.Logger

	mu    sync.Mutex
	on    bool
	open  map[netip.Addr]*lanListener
	serve func(net.Listener) // nil until the hub serves
}

// On reports whether they are let in.
func (n *networks) On() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.on
}

// Switch lets them in, or ends every connection that they have.
func (n *networks) Switch(on bool) error {
	n.mu.Lock()
	n.on = on
	n.mu.Unlock()
	err := n.adjust(ownAddresses())
	if err != nil && !n.any() {
		return err
	}
	return nil
}

func (n *networks) has(a netip.Addr) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open[a] != nil
}

func (n *networks) any() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.open) > 0
}

// adjust listens at these addresses, and nowhere else.
func (n *networks) adjust(addresses []netip.Prefix) (problems error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.on {
		addresses = nil
	}
	for a, l := range n.open {
		if !slices.ContainsFunc(addresses, func(o netip.Prefix) bool { return o.Addr() == a }) {
			l.end()
			delete(n.open, a)
		}
	}
	for _, a := range addresses {
		if n.open[a.Addr()] != nil {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(a.Addr().String(), n.port))
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		n.open[a.Addr()] = &lanListener{Listener: l, conns: map[net.Conn]bool{}}
		if n.serve != nil {
			go n.serve(n.open[a.Addr()])
		}
	}
	return problems
}

// networkTime is how often it is looked for networks that have come and gone.
const networkTime = 5 * time.Second

// run serves them until ctx ends.
func (n *networks) run(ctx context.Context, serve func(net.Listener)) {
	n.mu.Lock()
	n.serve = serve
	for _, l := range n.open {
		go serve(l)
	}
	n.mu.Unlock()
	tick := time.NewTicker(networkTime)
	defer tick.Stop()
	for told := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !n.On() {
			continue
		}
		if err := n.adjust(ownAddresses()); err == nil {
			told = ""
		} else if err.Error() != told {
			told = err.Error()
			n.log.Warn("phones cannot reach the hub at every address of this machine", "err", err)
		}
	}
}

// lanListener takes connections of the machine's own networks, and no others: a laptop
// may have an address that all the world reaches.
type lanListener struct {
	net.Listener
	mu    sync.Mutex
	conns map[net.Conn]bool // nil once it has ended
}

func (l *lanListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		local, ok := c.LocalAddr().(*net.TCPAddr)
		remote, ok2 := c.RemoteAddr().(*net.TCPAddr)
		own := &lanConn{c, l}
		if ok && ok2 && inLAN(local.AddrPort().Addr(), remote.AddrPort().Addr(), ownAddresses()) && l.add(own) {
			return own, nil
		}
		c.Close()
	}
}

func (l *lanListener) add(c *lanConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		return false
	}
	l.conns[c] = true
	return true
}

// end closes it, and all connections that it has taken.
func (l *lanListener) end() {
	l.Close()
	l.mu.Lock()
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range conns {
		c.Close()
	}
}

type lanConn struct {
	net.Conn
	of *lanListener
}

func (c *lanConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
