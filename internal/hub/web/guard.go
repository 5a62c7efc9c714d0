package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// guard lets those through who may do this. While a request waits it keeps its stack, so
// that what comes before is done elsewhere.
func (s *Server) guard(to route) http.HandlerFunc {
	if to.large {
		to.look = s.few(to.look)
	}
	if to.proof == nil {
		to.proof = ofPage
	}
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := s.admit(w, r, &to)
		switch {
		case err != nil:
		case to.change != nil:
			err = to.change(w, r, a.Device, a.given)
		default:
			w = s.rightful(w, a.Device)
			err = to.look(w, r, a.Device)
		}
		s.failed(w, r, err)
	}
}

// rightful writes to somebody for as long as they may look: a reply may be long, and its
// reader slow.
type rightful struct {
	http.ResponseWriter
	being context.Context
}

func (s *Server) rightful(w http.ResponseWriter, d Device) http.ResponseWriter {
	of := rightful{w, s.access.being(d.login())}
	if p, ok := w.(person); ok {
		of.ResponseWriter = p.ResponseWriter
		return person{of}
	}
	return of
}

// Write implements [io.Writer]. Who may look no more sees that the body has no end.
func (w rightful) Write(p []byte) (int, error) {
	if w.being.Err() != nil {
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (w rightful) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// few lets a device have some large replies at a time.
func (s *Server) few(to looks) looks {
	return func(w http.ResponseWriter, r *http.Request, d Device) error {
		if !s.take(s.lists, d, 1, maxListsOf) {
			return statusf(http.StatusTooManyRequests, "too many lists at a time: expected at most %d of a device", maxListsOf)
		}
		defer s.release(s.lists, d, 1)
		return to(w, r, d)
	}
}

// admitted is whose a request is, and its body.
type admitted struct {
	Device
	given
}

// admit reads a request of somebody who may make it. Nobody but an admin may where can
// is empty. A body is read when it is known whose it is.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, to *route) (*admitted, error) {
	d, cookie, ok := s.who(r)
	if !ok {
		return nil, errUnknown
	}
	if cookie && !reads(r) && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		return nil, errNoOrigin
	}
	if !d.may(to.can) {
		return nil, statusf(http.StatusForbidden, "device %q may not do this: it can %s", d.Name, d.Can)
	}
	g, err := s.given(w, r, d, cookie, to)
	if err == nil {
		err = s.catchUp(r, d)
	}
	return &admitted{d, g}, err
}

// errUnknown is a request without a credential, or with a wrong one, and errNoOrigin one
// that any page may have made.
var (
	errUnknown  = errors.New("unknown")
	errNoOrigin = statusError{http.StatusForbidden, "this request does not say where it comes from"}
)

// given reads the parameters of a request, and the body of a change.
func (s *Server) given(w http.ResponseWriter, r *http.Request, d Device, cookie bool, to *route) (g given, err error) {
	if r.Form, err = readQuery(r.URL.RawQuery); err != nil || to.change == nil {
		return g, err
	}
	if g, err = s.give(w, r, d, to.takes); err != nil {
		return g, err
	}
	if cookie && !to.proof(r, d, g) {
		return g, errPage
	}
	return g, s.access.here(d) // a body may take long
}

// catchUp waits for what other hubs have seen already, if a request is about
// something that this one has not. Who asks may be the first to name it.
func (s *Server) catchUp(r *http.Request, d Device) error {
	id, question := r.PathValue("id"), cmp.Or(r.PathValue("question"), r.Form.Get("question"))
	if id == "" || strings.HasSuffix(r.URL.Path, "/ask") || s.knows(r, d, id, question) {
		return nil
	}
	return s.board.CatchUp(r.Context())
}

// who returns whose request it is. A token that is given counts alone, right or
// wrong.
func (s *Server) who(r *http.Request) (d Device, cookie, ok bool) {
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, token, _ := strings.Cut(auth, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return Device{}, false, false
		}
		d, ok = s.access.byToken(strings.TrimSpace(token))
		return d, false, ok
	}
	c, err := r.Cookie(s.access.cookie())
	if err != nil {
		return Device{}, false, false
	}
	d, ok = s.access.bySession(c.Value)
	return d, true, ok
}

// unknown answers a request of somebody unknown, or says what is wrong with it.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) error {
	wrong := r.Header.Get("Authorization") != ""
	if wrong && s.throttled(r) {
		return tooMany(w)
	}
	if _, ok := w.(person); ok {
		return loginPage(w, http.StatusUnauthorized, "", "")
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="acp-bridge-hub"`)
	if wrong {
		return statusError{http.StatusUnauthorized, "this hub does not know the token; acp-bridge-hub device add NAME makes one"}
	}
	return statusError{http.StatusUnauthorized, "a token is needed, as Authorization: Bearer TOKEN; acp-bridge-hub device add NAME makes one"}
}

// prove proves to whoever has a token that this hub knows it, before it is sent.
func (s *Server) prove(w http.ResponseWriter, r *http.Request) error {
	proof, ok := hublink.Proof(r, s.access.hashes())
	switch {
	case ok:
		_, _ = io.WriteString(w, proof)
		return nil
	case s.throttled(r):
		return tooMany(w)
	}
	return statusError{http.StatusNotFound, "expected a nonce and the key of a token that this hub knows"}
}

// failure counts wrong tokens and codes of an address.
type failure struct {
	count int
	since time.Time
}

const (
	failureTime = time.Minute
	maxFailures = 20
)

// throttled counts a wrong token or code and reports whether there were too many
// from this address. Right ones always work: they cannot be guessed in any
// number of tries.
func (s *Server) throttled(r *http.Request) bool {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.failures[host]
	if f == nil || time.Since(f.since) > failureTime {
		if len(s.failures) > 10_000 {
			clear(s.failures)
		}
		f = &failure{since: time.Now()}
		s.failures[host] = f
	}
	f.count++
	return f.count > maxFailures
}

func tooMany(w http.ResponseWriter) error {
	w.Header().Set("Retry-After", "60")
	return statusError{http.StatusTooManyRequests, "too many wrong tokens or codes; try again in a minute"}
}
