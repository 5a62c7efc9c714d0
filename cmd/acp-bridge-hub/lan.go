package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"rsc.io/qr"
)

// ownAddresses are those by which others may reach this machine, with the bits of their
// networks: the one that leads out of it first, IPv4 before IPv6, which few people can type.
func ownAddresses() (list []netip.Prefix) {
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				list = append(list, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
			}
		}
	}
	return arrange(list, wayOut())
}

// wayOut is the address from which this machine reaches others. Nothing is sent.
func wayOut() netip.Addr {
	c, err := net.Dial("udp4", "198.51.100.1:9")
	if err != nil {
		return netip.Addr{}
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
}

func arrange(list []netip.Prefix, first netip.Addr) []netip.Prefix {
	list = slices.DeleteFunc(list, func(a netip.Prefix) bool { return !a.Addr().IsGlobalUnicast() })
	rank := func(a netip.Prefix) int {
		switch {
		case a.Addr() == first:
			return 0
		case a.Addr().Is4():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(x, y netip.Prefix) int { return cmp.Compare(rank(x), rank(y)) })
	return list
}

// carrierNet is what Tailscale and others take addresses from.
var carrierNet = netip.MustParsePrefix("100.64.0.0/10")

// inLAN reports whether a connection is one of this machine's own networks: it came to
// an address that the internet does not know, or from a neighbour.
func inLAN(local, remote netip.Addr, own []netip.Prefix) bool {
	local, remote = local.Unmap().WithZone(""), remote.Unmap().WithZone("")
	return local.IsLoopback() || local.IsPrivate() || local.IsLinkLocalUnicast() || carrierNet.Contains(local) ||
		slices.ContainsFunc(own, func(a netip.Prefix) bool { return a.Addr() == local && a.Masked().Contains(remote) })
}

// site is where a hub is.
type site struct {
	address string   // for the commands of this machine
	hosts   []string // the names by which it may be called
	// own is set where it listens on all addresses of the machine, and lan where it
	// listens on this machine alone unless that lets its networks in.
	own    bool
	lan    *networks
	scheme string
	port   string
	public string // the address that its operator says people use
}

// outside are the addresses by which other machines reach it, the likeliest first.
func (p site) outside() (list []string) {
	switch {
	case p.public != "":
		return []string{p.public}
	case p.own || p.lan != nil:
		for _, a := range ownAddresses() {
			if p.own || p.lan.has(a.Addr()) {
				list = append(list, p.at(a.Addr().String()))
			}
		}
		return list
	}
	return []string{p.address}
}

func (p site) at(host string) string { return p.scheme + "://" + net.JoinHostPort(host, p.port) }

// shown is the address that people use.
func (p site) shown() string {
	if list := p.outside(); len(list) > 0 {
		return list[0]
	}
	return p.address
}

// siteOf is where a hub is that listens there.
func siteOf(o options, listening net.Addr, log *slog.Logger) site {
	p := site{scheme: "http", public: o.publicURL}
	if o.tlsCert != "" {
		p.scheme = "https"
	}
	p.hosts = append(p.hosts, o.hosts...)
	if _, host, ok := strings.Cut(o.publicURL, "://"); ok {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		p.hosts = append(p.hosts, strings.Trim(host, "[]"))
	}
	var host string
	host, p.port, _ = net.SplitHostPort(listening.String())
	asked, _, _ := net.SplitHostPort(o.listen)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host, p.own = "localhost", true
		p.hosts = append(p.hosts, machineNames()...)
	} else if asked != "" && net.ParseIP(asked) == nil {
		host = asked // a name
	}
	if loopback(o.listen) {
		p.lan = &networks{port: p.port, log: log, open: map[netip.Addr]*lanListener{}}
	}
	p.hosts = append(p.hosts, host)
	p.address = p.at(host)
	return p
}

// machineNames are those by which a network knows this machine.
func machineNames() []string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return nil
	}
	first, _, _ := strings.Cut(name, ".")
	return []string{name, first, first + ".local"}
}

// sayPhone tells how a phone gets in at the first of these addresses: by a code that a
// camera reads, where there is a terminal to draw it on.
func sayPhone(addresses []string, code, fingerprint string, out io.Writer) {
	if len(addresses) == 0 {
		fmt.Fprintln(out, "This machine has no address on a network now: only it reaches the hub.")
		return
	}
	if code == "" {
		fmt.Fprintf(out, "Phones on this network reach it at: %s\n", strings.Join(addresses, " "))
	} else {
		link := loginLink(addresses[0], code)
		fmt.Fprintln(out, "To add a phone on this network, open this on it once, within 15 minutes:")
		drawQR(out, link)
		fmt.Fprintf(out, "  %s\n", link)
	}
	if code != "" && len(addresses) > 1 {
		fmt.Fprintf(out, "It is also at: %s\n", strings.Join(addresses[1:], " "))
	}
	switch {
	case fingerprint != "":
		fmt.Fprintf(out, "Its certificate is self-signed, so browsers warn once. Continue if they show this fingerprint (SHA-256):\n%s\n", fingerprint)
	case strings.HasPrefix(addresses[0], "http:"):
		fmt.Fprintln(out, "This is plain http: anyone on the same network can read questions, answers and logins,\nand answer in your name. Use it at home only. For other places, and for push\nnotifications: acp-bridge-hub help operate, A PHONE.")
	}
}

// drawQR draws a link for a camera, if out is a terminal. The colours are fixed ones:
// a theme may have others for black and white.
func drawQR(out io.Writer, link string) {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) || os.Getenv("TERM") == "dumb" {
		return
	}
	_, _ = io.WriteString(out, qrText(link))
}

// qrText draws two rows of a code in each line.
func qrText(link string) string {
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		return "" // it is too long: the link is there, too
	}
	const quiet = 2
	halves := map[[2]bool]string{{false, false}: " ", {true, false}: "▀", {false, true}: "▄", {true, true}: "█"}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("  \x1b[38;5;16;48;5;231m")
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(halves[[2]bool{code.Black(x, y), code.Black(x, y+1)}])
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String()
}

// loopback reports whether an address to listen on is of this machine alone. No
// address at all is that of a command that listens on none.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return listen == "" || err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
