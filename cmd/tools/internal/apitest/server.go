// Package apitest is a stand-in for the Anthropic Messages API on loopback,
// so that tests run the real Claude Code CLI offline.
//
// A test scripts what the model says, call by call, and reads back what the
// model was given:
//
//	api := apitest.New(t)
//	api.Script(
//		apitest.Reply{Blocks: []apitest.Block{apitest.ToolUse("toolu_1", "Bash", map[string]any{"command": "ls"})}},
//		apitest.Say("done"),
//	)
//	p, err := claude.Start(ctx, claude.Options{Path: path, Env: apitest.Env(api, t.TempDir()), …})
//	…
//	results := api.Main()[1].ToolResults()
//
// The CLI makes calls besides those of its conversation (a title for the
// session, for one). They offer no tools, get a harmless answer and use up
// nothing of the script.
package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is the stand-in. Its methods may be called from any goroutine.
type Server struct {
	// URL is where it listens, without a slash at the end.
	URL string

	http *httptest.Server
	stop chan struct{}

	mu       sync.Mutex
	script   []Reply
	rules    []*rule
	requests []Request
	changed  chan struct{}
	message  int
}

type rule struct {
	match   func(Request) bool
	replies []Reply
}

// New starts a server that lives as long as the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(s.Close)
	return s
}

// Start starts a server that lives until Close.
func Start() *Server {
	s := &Server{stop: make(chan struct{}), changed: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server, once. Replies that are held end too.
func (s *Server) Close() {
	close(s.stop)
	s.http.CloseClientConnections()
	s.http.Close()
}

// Script appends replies for the calls of the conversation, in order. A call
// beyond the script gets a short text that says so.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// When gives calls that match their own script, before all others: for
// sub-agents, whose calls mix with those of the main conversation. The last
// reply is repeated.
func (s *Server) When(match func(Request) bool, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &rule{match: match, replies: replies})
}

// Requests returns all calls so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Main returns the calls so far that offered tools: those of conversations.
func (s *Server) Main() []Request {
	var main []Request
	for _, r := range s.Requests() {
		if r.Main {
			main = append(main, r)
		}
	}
	return main
}

// Await waits until there were n calls of conversations and returns them.
func (s *Server) Await(ctx context.Context, n int) ([]Request, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if main := s.Main(); len(main) >= n {
			return main, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d calls of %d: %w", len(s.Main()), n, ctx.Err())
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		s.messages(w, r, body)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/count_tokens"):
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": 10})
	default:
		writeJSON(w, http.StatusNotFound, errorBody("not_found_error", "not here: "+r.URL.Path))
	}
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request, body []byte) {
	if !json.Valid(body) {
		writeJSON(w, http.StatusBadRequest, errorBody("invalid_request_error", "not JSON"))
		return
	}
	req := newRequest(body)
	req.HasKey = r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != ""
	reply, id := s.take(req)
	if reply.Delay > 0 {
		select {
		case <-time.After(reply.Delay):
		case <-r.Context().Done():
			return
		}
	}
	if reply.Status >= 400 {
		if reply.RetryAfter != "" {
			w.Header().Set("Retry-After", reply.RetryAfter)
		}
		writeJSON(w, reply.Status, errorBody(reply.ErrorType, reply.ErrorMessage))
		return
	}
	st := &stream{w: w, ctx: r.Context(), stop: s.stop, reply: reply, id: id, model: req.Get("model").String()}
	if req.Get("stream").Bool() {
		st.run()
		return
	}
	writeJSON(w, http.StatusOK, st.whole())
}

// take records the call and picks its reply.
func (s *Server) take(req Request) (Reply, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	close(s.changed)
	s.changed = make(chan struct{})
	s.message++
	id := fmt.Sprintf("msg_%04d", s.message)
	if !req.Main {
		return Say("ok"), id
	}
	for _, r := range s.rules {
		if !r.match(req) {
			continue
		}
		reply := r.replies[0]
		if len(r.replies) > 1 {
			r.replies = r.replies[1:]
		}
		return reply, id
	}
	if len(s.script) == 0 {
		return Say("(the script has no more replies)"), id
	}
	reply := s.script[0]
	if reply.Times > 1 {
		s.script[0].Times--
	} else {
		s.script = s.script[1:]
	}
	return reply, id
}

func errorBody(kind, message string) any {
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_apitest")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Env is an environment in which the real CLI talks to s and to nobody else.
// home is its HOME: settings and transcripts go there. Nothing of the test's
// own environment but PATH gets in.
func Env(s *Server, home string) []string {
	return append(EnvNoKey(s, home), "ANTHROPIC_API_KEY=test")
}

// EnvNoKey is Env without an API key: a user who is not logged in.
func EnvNoKey(s *Server, home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"ANTHROPIC_BASE_URL=" + s.URL,
		"DISABLE_TELEMETRY=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_MAX_RETRIES=1",
		// It lives for seconds: what the second compiler of its engine makes comes too late.
		"BUN_JSC_useDFGJIT=0",
	}
}
