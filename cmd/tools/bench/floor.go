package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

// floorVariable makes this program a hub that does as little as one can: it keeps
// nothing, checks nothing, knows nobody.
const floorVariable = "ACP_BRIDGE_BENCH_FLOOR"

func floorMain() {
	if os.Getenv(floorVariable) == "" {
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	f := &floor{open: map[string]chan string{}, watchers: map[string]map[chan []byte]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /conversations/{id}/ask", f.ask)
	mux.HandleFunc("POST /conversations/{id}/respond", f.respond)
	mux.HandleFunc("POST /conversations/{id}/questions/{question}/received", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /events", f.events)
	err = http.Serve(listener, mux)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// floor is what agents and people need at the least: a channel for each question,
// and one for each who watches.
type floor struct {
	mu       sync.Mutex
	next     int
	open     map[string]chan string
	watchers map[string]map[chan []byte]bool // by group
}

func (f *floor) ask(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Call struct{ ID string } }
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &asked) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := make(chan string, 1)
	f.mu.Lock()
	f.open[r.PathValue("id")] = answer
	f.tell(r.URL.Query().Get("group"), r.PathValue("id"), asked.Call.ID, "awaiting_user_response", body)
	f.mu.Unlock()
	select {
	case <-r.Context().Done():
	case result := <-answer:
		f.mu.Lock()
		f.tell(r.URL.Query().Get("group"), r.PathValue("id"), asked.Call.ID, "working", []byte("{}"))
		f.mu.Unlock()
		io.WriteString(w, result)
	}
}

func (f *floor) respond(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[r.PathValue("id")] <- string(body)
	delete(f.open, r.PathValue("id"))
}

// tell tells all who watch a group. mu is held.
func (f *floor) tell(group, conversation, question, state string, body []byte) {
	f.next++
	event := fmt.Appendf(nil, "id: %d\nevent: state_change\ndata: {\"conversation\":%q,\"question\":%q,\"tool_use_id\":%q,\"type\":%q,\"revision\":%d,\"call\":%s}\n\n", f.next, conversation, question, question, state, f.next, body)
	for c := range f.watchers[group] {
		c <- event
	}
}

func (f *floor) events(w http.ResponseWriter, r *http.Request) {
	c := make(chan []byte, 4<<10)
	group := r.URL.Query().Get("group")
	f.mu.Lock()
	if f.watchers[group] == nil {
		f.watchers[group] = map[chan []byte]bool{}
	}
	f.watchers[group][c] = true
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	for event := range c {
		if _, err := w.Write(event); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}
