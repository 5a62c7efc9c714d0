package web

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// publicClient reaches no private address, whatever a name points to: browsers
// say where their pushes go.
var publicClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: pushTime,
		DialContext: (&net.Dialer{Timeout: pushTime, Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err == nil && !public(at.Addr()) {
				err = errPrivate
			}
			return err
		}}).DialContext,
	},
}

var errPrivate = errors.New("the address is a private one")

// publicEndpoint refuses what can be seen to be private without asking for a name.
func publicEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return badf("endpoint: expected a URL")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !public(ip) {
		return badf("endpoint: %w", errPrivate)
	}
	return nil
}

// special are networks that are nobody's on the internet, beside those that
// netip knows.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}
