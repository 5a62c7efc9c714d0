// Package web serves the questions of a hub over HTTP: JSON, server-sent events
// and a page. Everything but GET /healthz, GET /readyz, GET /openapi.json and the
// login needs a credential. [OpenAPI] describes all of it.
//
// GET /history lists what was settled, the last settled first: of one group
// (?group=), since a time, a day or so long ago (?since=24h), with words in it
// (?text=). A reply has up to 100 (?limit=), and "next" where there are more:
// ?after= goes on from there. With Accept: application/x-ndjson it is everything,
// one object a line; with Accept: text/html it is a page. DELETE /history?by=NAME
// makes the hub forget what one person said, see [hub.Board.ForgetBy].
//
// Streams tell how the turns of agents end whose hooks or bridges talk to this hub
// (POST /hooks/claude, POST /conversations/{id}/turn): events named turn, with {"conversation","agent","cwd","event","text","at"}, where event is done,
// failed or idle. They are told to whoever is there, and kept nowhere.
//
// # Who has an answer
//
// To look is not to take. An answer is taken with the credential that asked, by an
// act of its own; until then the question stays as it is for whoever asked it:
//
//	| request | the answer is then |
//	|---|---|
//	| GET of anything, with any credential | as it was |
//	| POST …/ask that returns the outcome | delivered |
//	| POST …/received {} | delivered |
//	| POST …/received {"consumed":true} | consumed: the agent went on with it |
//	| POST …/received {"refused":"why"} | undeliverable |
//	| POST …/received {"unsure":"why"} | unknown: nobody knows whether the agent took it |
//	| POST …/received {"ended":true} | as it was; the conversation's agent has ended |
//
//	access, err := web.OpenAccess(filepath.Join(dir, "access.json"), token)
//	server := web.New(board, access, web.Options{Hosts: []string{"127.0.0.1"}})
//	err = (&http.Server{Handler: server, ReadHeaderTimeout: web.HeaderTime}).Serve(listener)
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// HeaderTime is how long a client may take to send its headers, bodyTime its
// body, and writeTime to take what it is sent.
const (
	HeaderTime = 10 * time.Second
	bodyTime   = 20 * time.Second
	writeTime  = 15 * time.Second
)

// maxBody is the largest body that is read.
const maxBody = 1 << 20

const (
	// maxStreams is how many event streams are open at a time, see [mostStreams],
	// maxStreamsOf those of a device, and of one that can admin.
	maxStreams        = 10_000
	maxStreamsOf      = 256
	maxStreamsOfAdmin = 2048
	// maxListsOf is how many replies that may be large a device gets at a time.
	maxListsOf = 8
	// maxBytesOf is how much of what is long may be on its way to a device.
	maxBytesOf = 64 << 20
)

// Options of a server. The zero value serves localhost.
type Options struct {
	// Hosts are names and addresses, without a port, by which the hub may be
	// called, beside localhost.
	Hosts []string
	// Names are those by which the networks of this machine know it. Who comes over one
	// may use them, and the address by which it was reached: no name can be made to
	// look like that.
	Names []string
	// Addresses are those by which other machines reach the hub, the likeliest first;
	// nil is none.
	Addresses func() []string
	// LAN lets these networks in and keeps them out while the hub runs; nil where its
	// address says who reaches it.
	LAN interface {
		On() bool
		Switch(on bool) error
	}
	// Fingerprint is that of a certificate which no browser knows, if the hub has one.
	Fingerprint string
	// Secure is set where the hub is reached by https.
	Secure bool
	// URL is the https address that people use, if there is one.
	URL string
	// PushClient sends pushes to the services of browsers, wherever they are; nil
	// is one that reaches no private address.
	PushClient *http.Client
	// Block is how long a hook may wait for an answer here while it keeps the terminal
	// from asking, and nobody is away; 0 is [BlockTime].
	Block time.Duration
	// Version is that of the program, for its operator.
	Version string
	// Logger gets what goes wrong; nil discards it.
	Logger *slog.Logger
}

// Server is the HTTP side of a hub.
type Server struct {
	board  *hub.Board
	access *Access
	opts   Options
	hosts  map[string]bool
	log    *slog.Logger
	mux    *mux
	lost   http.HandlerFunc // for what no route is for
	body   time.Duration    // how long a body may take
	// serving ends with Close.
	serving context.Context
	close   context.CancelFunc
	frames  frames
	pace    pace
	hooked  calls
	turns   turns
	since   time.Time // it was made

	mu        sync.Mutex
	most      int                 // streams that may be open
	of        map[string]int      // streams, by device, and of everybody
	lists     map[string]int      // replies that may be large, by device
	bytes     map[string]int      // of what is long and on its way, by device
	coming    map[string]int      // of bodies
	mostBytes int                 // of those of a device
	failures  map[string]*failure // by address
}

// New makes a server for a board.
func New(board *hub.Board, access *Access, o Options) *Server {
	s := &Server{
		board: board, access: access, opts: o, log: o.Logger, mux: &mux{ServeMux: http.NewServeMux()},
		hosts: map[string]bool{"localhost": true}, failures: map[string]*failure{}, of: map[string]int{}, lists: map[string]int{}, bytes: map[string]int{}, coming: map[string]int{}, mostBytes: maxBytesOf, body: bodyTime,
		since: time.Now().UTC().Truncate(time.Second), most: mostStreams(openFiles()),
	}
	s.frames.store = board.Name()
	s.serving, s.close = context.WithCancel(context.Background())
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	for _, h := range o.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	if access.fence == nil {
		access.fence = board.Fence
	}
	s.routes()
	return s
}

// Close ends all streams, whose clients are told to come back, and all waiting, so
// that the HTTP server can end.
func (s *Server) Close() { s.close() }

func (s *Server) routes() {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	for pattern, to := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /readyz": s.ready, "GET " + hublink.ProofPath: s.prove, "GET /login": s.showLogin, "POST /login": s.login,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.failed(w, r, to(w, r)) })
	}
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(OpenAPI)
	})
	for name, draw := range icons {
		s.mux.HandleFunc("GET /"+name, showIcon(draw))
	}
	for name, a := range assets() {
		s.mux.HandleFunc("GET /"+name, a.serve)
	}

	for pattern, r := range s.table() {
		s.mux.HandleFunc(pattern, s.guard(r))
	}
	s.lost = s.guard(route{can: []Can{CanAnswer, CanAsk}, look: s.noSuchPage})
	s.mux.HandleFunc("/", s.lost)
}

// noSuchPage answers what no route is for.
func (s *Server) noSuchPage(w http.ResponseWriter, r *http.Request, _ Device) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		other := *r
		other.Method = method
		if _, pattern := s.mux.Handler(&other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 || r.URL.EscapedPath() != path.Clean(r.URL.EscapedPath()) {
		return statusError{http.StatusNotFound, "there is nothing at this address"}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return statusf(http.StatusMethodNotAllowed, "this address takes %s, not %s", strings.Join(allowed, " or "), clean.Truncate(clean.Line(r.Method), 40))
}

// headers are those of every reply. Their values are shared, and never changed. Without
// any referrer a form's origin would be "null", and over plain http, where browsers say
// nothing else of where a request comes from, nobody could log in.
var headers = http.Header{
	"Content-Security-Policy":      {"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
	"Referrer-Policy":              {"same-origin"},
	"X-Content-Type-Options":       {"nosniff"},
	"X-Frame-Options":              {"DENY"},
	"Cross-Origin-Opener-Policy":   {"same-origin"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	"Cache-Control":                {"no-store"},
}

// ServeHTTP checks what holds for every request, and then serves it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), headers)
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		w = person{w}
	}
	s.bound(w, r)
	switch {
	case !s.knownHost(r):
		s.failed(w, r, statusf(http.StatusMisdirectedRequest, "this hub is not called %q; --allow-host NAME allows a name", clean.Truncate(clean.Line(r.Host), 100)))
	case !reads(r) && !sameOrigin(r):
		s.failed(w, r, statusError{http.StatusForbidden, "this request comes from another site"})
	case r.URL.EscapedPath() != path.Clean(r.URL.EscapedPath()): // an id is matched as it is written
		s.lost(w, r)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// knownHost reports whether the client meant this hub: a page whose name was
// made to point here did not.
func (s *Server) knownHost(r *http.Request) bool {
	name := r.Host
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if s.hosts[name] {
		return true
	}
	ip, err := netip.ParseAddr(name)
	if err == nil && ip.IsLoopback() {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if local == nil || local.IP.IsLoopback() {
		return false
	}
	if err != nil {
		return slices.ContainsFunc(s.opts.Names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	return ip.Unmap() == local.AddrPort().Addr().Unmap()
}

// reads reports whether a request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// sameOrigin reports whether a request that changes something comes from a page
// of this hub, or from no page at all. Where a page's origin is "null" the browser's
// own word counts.
func sameOrigin(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" {
		return false
	}
	origin := r.Header.Get("Origin")
	switch origin {
	case "":
		return true
	case "null":
		return site == "same-origin"
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// person is a reply to somebody who looks at a page: an error is one, too.
type person struct{ http.ResponseWriter }

// Unwrap is for [http.ResponseController].
func (p person) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// wrongTitles are the headings of such pages.
var wrongTitles = map[int]string{
	http.StatusForbidden: "Not allowed", http.StatusNotFound: "Not found", http.StatusMisdirectedRequest: "Unknown address",
	http.StatusTooManyRequests: "Too much at once", http.StatusServiceUnavailable: "Not now",
}

// failed writes what went wrong, if anything did, as one clear sentence: as a page, or as
// JSON. The page has no style if the hub was called by a name that it does not know: that
// would be fetched by the same name.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	if err == errUnknown {
		if of, ok := w.(rightful); ok { // it is told that it has no right any more
			w = of.ResponseWriter
		}
		err = s.unknown(w, r)
	}
	if err == nil {
		return
	}
	_, page := w.(person)
	var refused refusedError
	switch code, text := s.problem(err); {
	case errors.As(err, &refused):
		write(w, code, map[string]any{"error": text, "result": asJSON(refused.result), "isError": refused.result.IsError})
	case page && err == errPage:
		_ = loginPage(w, code, "", "This page has lost its login. Log in again.")
	case page:
		_ = render(w, code, "wrong", map[string]any{"Title": cmp.Or(wrongTitles[code], "That did not work"), "Text": upper(text), "Here": code != http.StatusMisdirectedRequest})
	default:
		write(w, code, map[string]string{"error": text})
	}
}

func write(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = send(w, append(clean.JSON(v), '\n'))
}

// reply writes what was asked for, unless something went wrong.
func reply(w http.ResponseWriter, v any, err error) error {
	if err == nil {
		write(w, http.StatusOK, v)
	}
	return err
}

// tell is reply for what may be long.
func (s *Server) tell(w http.ResponseWriter, d Device, v any) error {
	w.Header().Set("Content-Type", "application/json")
	if err := s.long(w, d, append(clean.JSON(v), '\n')); errors.Is(err, errCrowded) {
		return err
	}
	return nil
}

func (s *Server) problem(err error) (code int, text string) {
	var settled *hub.SettledError
	var large *hub.SizeError
	var status statusError
	var bound *hub.BoundError
	switch {
	case errors.As(err, &bound):
		return http.StatusTooManyRequests, bound.Error()
	case errors.As(err, &status):
		return status.code, status.text
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, large.Error()
	case errors.As(err, &settled):
		return http.StatusConflict, settled.Error()
	case errors.Is(err, hub.ErrSettled), errors.Is(err, hub.ErrNotAsker), errors.Is(err, hub.ErrSeveral):
		return http.StatusConflict, err.Error()
	case errors.Is(err, hub.ErrNotFound), errors.Is(err, ErrNoDevice):
		return http.StatusNotFound, clean.Line(err.Error())
	case errors.Is(err, hub.ErrRevision):
		return http.StatusPreconditionFailed, err.Error()
	case errors.Is(err, hub.ErrRight):
		return http.StatusUnauthorized, err.Error()
	case errors.Is(err, errGroup):
		return http.StatusForbidden, err.Error()
	case errors.Is(err, errBadRequest), errors.Is(err, hub.ErrBadID), errors.Is(err, hub.ErrUnseen),
		errors.Is(err, convert.ErrBadAnswer), errors.Is(err, convert.ErrNoAnswer):
		return http.StatusBadRequest, clean.Line(err.Error())
	case errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable, "the hub is closing"
	}
	s.log.Error("a request failed", "err", err)
	return http.StatusServiceUnavailable, "the hub cannot store this now; try again"
}

// upper makes a sentence of what is wrong.
func upper(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }
