// Package modeltest is a stand-in for the APIs of models on loopback, so that
// tests run real agents offline. It speaks four protocols: Anthropic Messages,
// OpenAI chat completions, OpenAI responses and Gemini generateContent, with
// and without streaming.
//
// A test scripts what the model says, call by call, and reads back what the
// model was given. The script is the same for every protocol:
//
//	model := modeltest.New(t)
//	model.Script(
//		modeltest.Use("call_1", "ask_user_question", map[string]any{"questions": questions}),
//		modeltest.Say("done"),
//	)
//	… // an agent whose base URL is model.URL or model.URL + "/v1"
//	requests, err := model.Await(ctx, 2)
//	result := requests[1].Results[0].Text
//
// Agents make calls besides those of their conversation, for a title or to
// choose a model. They offer no tools, or order the use of one, get a harmless
// answer and use up nothing of the script.
package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Model is the name of the only model on offer.
const Model = "fake-model"

// Server is the stand-in. Its methods may be called from any goroutine.
type Server struct {
	// URL is where it listens, without a slash at the end.
	URL string

	http *httptest.Server
	stop chan struct{}

	mu       sync.Mutex
	words    string
	script   []Reply
	requests []Request
	other    []string
	changed  chan struct{}
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

// Restart forgets what is left of the script and the calls so far, for another
// conversation of the same agent. From now on only calls count whose body holds
// the words: agents make calls for a conversation that is over.
func (s *Server) Restart(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.requests, s.words = nil, nil, words
}

// Requests returns the calls so far that offered tools: those of
// conversations.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Other lists what else was asked for, as "METHOD path", for whoever wonders
// why an agent does not start.
func (s *Server) Other() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.other...)
}

// Await waits until there were n calls of conversations and returns them.
func (s *Server) Await(ctx context.Context, n int) ([]Request, error) {
	for {
		s.mu.Lock()
		changed, requests := s.changed, append([]Request(nil), s.requests...)
		s.mu.Unlock()
		if len(requests) >= n {
			return requests, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return requests, fmt.Errorf("the model was called %d times of %d: %w", len(requests), n, ctx.Err())
		}
	}
}

// protocol is one way to be called.
type protocol interface {
	// read takes what the stand-in needs to know out of a request.
	read(*Request)
	// stream writes a reply as server-sent events.
	stream(*events, Reply)
	// whole is the reply in one piece.
	whole(Reply) any
}

// protocolOf finds the protocol by the end of the path: what is before it is
// the agent's business.
func protocolOf(path string) (name string, p protocol, streams bool) {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return "messages", messages{}, false
	case strings.HasSuffix(path, "/chat/completions"):
		return "chat", chat{}, false
	case strings.HasSuffix(path, "/responses"):
		return "responses", responses{}, false
	case strings.HasSuffix(path, ":generateContent"):
		return "gemini", gemini{}, false
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return "gemini", gemini{}, true
	}
	return "", nil, false
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name, p, streams := protocolOf(r.URL.Path)
	if p == nil || r.Method != http.MethodPost || !json.Valid(body) {
		s.side(w, r)
		return
	}
	req := Request{Protocol: name, Body: body}
	p.read(&req)
	reply := s.take(req)
	e := &events{w: w, ctx: r.Context(), stop: s.stop}
	switch {
	case streams || req.get("stream").Bool():
		w.Header().Set("Content-Type", "text/event-stream")
		p.stream(e, reply)
	case e.hold(reply):
		writeJSON(w, http.StatusOK, p.whole(reply))
	}
}

// side answers what is no call of a model.
func (s *Server) side(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.other = append(s.other, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, http.StatusOK, object{"object": "list", "data": []any{
			object{"id": Model, "object": "model", "created": 1, "owned_by": "nobody", "context_window": 200000},
		}})
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		writeJSON(w, http.StatusOK, object{"input_tokens": 10})
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		writeJSON(w, http.StatusOK, object{"totalTokens": 10})
	default:
		writeJSON(w, http.StatusNotFound, object{"error": object{"message": "not here", "type": "not_found_error", "code": 404}})
	}
}

// take records a call and picks its reply.
func (s *Server) take(req Request) Reply {
	if len(req.Tools) == 0 || req.get("tool_choice").IsObject() {
		return Say("ok")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !req.Contains(s.words) {
		return Say("ok")
	}
	s.requests = append(s.requests, req)
	close(s.changed)
	s.changed = make(chan struct{})
	if len(s.script) == 0 {
		return Say("(the script has no more replies)")
	}
	reply := s.script[0]
	s.script = s.script[1:]
	return reply.named(req)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
