package hublink

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// ParseURLs reads the addresses of hubs that share their questions, with commas
// between them.
func ParseURLs(s string) (urls []*url.URL, err error) {
	for one := range strings.SplitSeq(s, ",") {
		u, err := ParseURL(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// TokenOf finds the token for hubs, see [Token]: that of this machine only if
// all of them are on it.
func TokenOf(urls []*url.URL, file string) (string, error) {
	for _, u := range urls {
		if !loopback(u.Hostname()) {
			return Token(u, file)
		}
	}
	return Token(urls[0], file)
}

// Transport sends requests for the first address to the next one when it is
// gone, and so on. Requests are those of a hub: made twice, they are the same
// question and the same answer.
func Transport(base http.RoundTripper, urls []*url.URL) http.RoundTripper {
	if len(urls) < 2 {
		return base
	}
	return &several{base: base, urls: urls}
}

type several struct {
	base    http.RoundTripper
	urls    []*url.URL
	current atomic.Int32 // which one worked last
}

// CloseIdleConnections is for [http.Client.CloseIdleConnections].
func (s *several) CloseIdleConnections() { (&http.Client{Transport: s.base}).CloseIdleConnections() }

func (s *several) RoundTrip(req *http.Request) (*http.Response, error) {
	for left := len(s.urls) - 1; ; left-- {
		i := s.current.Load()
		again, err := s.at(req, s.urls[i])
		if err != nil {
			return nil, err
		}
		reply, err := s.base.RoundTrip(again)
		if err == nil && !Unavailable(reply.StatusCode) {
			return reply, nil
		}
		s.current.CompareAndSwap(i, (i+1)%int32(len(s.urls)))
		if left == 0 || req.Context().Err() != nil {
			return reply, err
		}
		if reply != nil {
			reply.Body.Close()
		}
	}
}

// Unavailable reports whether a hub, or a proxy before it, says that another one
// may do better.
func Unavailable(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// at returns the request for another address.
func (s *several) at(req *http.Request, to *url.URL) (*http.Request, error) {
	path, ok := strings.CutPrefix(req.URL.String(), s.urls[0].String())
	if !ok {
		return nil, fmt.Errorf("expected a request for the hub at %s, got one for %s", s.urls[0].Host, req.URL.Host)
	}
	u, err := url.Parse(to.String() + path)
	if err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	again.URL, again.Host = u, u.Host
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return again, nil
}
