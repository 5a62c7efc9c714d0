package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// networks are the listeners on this machine's networks, for other machines. They open
// and close while the hub runs; local clients do not notice. Each address has its own
// listener: one for all addresses cannot exist beside the local one, which stays.
type networks struct {
	port string
	log  *slog.Logger

	on atomic.Bool

	mu    sync.Mutex
	open  map[netip.Addr]*lanListener
	serve func(net.Listener) // nil until the hub serves
}

// On reports whether they are let in.
func (n *networks) On() bool { return n.on.Load() }

// Switch lets them in, or ends every connection that they have.
func (n *networks) Switch(on bool) error {
	n.on.Store(on)
	open, err := n.adjust(ownAddresses())
	if open > 0 {
		return nil
	}
	return err
}

func (n *networks) has(a netip.Addr) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open[a] != nil
}

// adjust listens at these addresses, and nowhere else, and returns at how many it does.
func (n *networks) adjust(addresses []netip.Prefix) (open int, problems error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.On() {
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
		n.open[a.Addr()] = &lanListener{Listener: l}
		if n.serve != nil {
			go n.serve(n.open[a.Addr()])
		}
	}
	return len(n.open), problems
}

// networkTime is how often networks are checked for changes.
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
		if _, err := n.adjust(ownAddresses()); err == nil {
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
	conns sync.Map // those that are open
	ended atomic.Bool
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
		l.conns.Store(own, nil) // before it is looked whether this has ended: end closes it else
		if ok && ok2 && inLAN(local.AddrPort().Addr(), remote.AddrPort().Addr(), ownAddresses()) && !l.ended.Load() {
			return own, nil
		}
		own.Close()
	}
}

// end closes it, and all connections that it has taken.
func (l *lanListener) end() {
	l.ended.Store(true)
	l.Close()
	l.conns.Range(func(c, _ any) bool {
		c.(*lanConn).Close()
		return true
	})
}

type lanConn struct {
	net.Conn
	of *lanListener
}

func (c *lanConn) Close() error {
	c.of.conns.Delete(c)
	return c.Conn.Close()
}
