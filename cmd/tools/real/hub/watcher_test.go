//go:build unix

package hub_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watcher follows the events of hubs as a browser does: it comes back when a
// stream ends, and says which event it saw last.
type watcher struct {
	hub   int
	moves bool // to the next hub each time, as a load balancer may do

	mu    sync.Mutex
	shown map[string]string // by question: its outcome, or empty while it is open
	wrong []string          // what was shown and then taken back
}

// watchAll begins to watch each hub, and all hubs in turn. A question waits all
// the time that nobody answers.
func (c *crowd) watchAll(t *testing.T) {
	c.left = &asked{id: "toolu_left_x"}
	require.Eventually(t, func() bool {
		status, _ := c.request(http.MethodPost, 0, c.left, "/ask", askBody(c.left.id))
		return status == http.StatusAccepted
	}, hangs, 50*time.Millisecond)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { stop(); all.Wait() })
	for hub := range c.hubs {
		for _, moves := range []bool{false, true} {
			w := &watcher{hub: hub, moves: moves, shown: map[string]string{}}
			c.watchers = append(c.watchers, w)
			all.Go(func() { c.follow(ctx, w) })
		}
	}
}

func (c *crowd) follow(ctx context.Context, w *watcher) {
	client := &http.Client{Transport: c.client.Transport} // a stream takes as long as it takes
	last := ""
	for hub := w.hub; ctx.Err() == nil; {
		if req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.hubs[hub].url.String()+"/events", nil); err == nil {
			req.Header.Set("Authorization", "Bearer "+c.token)
			req.Header.Set("Last-Event-ID", last)
			last = w.read(client, req, last)
		}
		if w.moves {
			hub = (hub + 1) % len(c.hubs)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond): // a browser waits longer
		}
	}
}

// read reads one stream to its end, and returns the id of its last event.
func (w *watcher) read(client *http.Client, req *http.Request, last string) string {
	reply, err := client.Do(req)
	if err != nil {
		return last
	}
	defer reply.Body.Close()
	var id, data string
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if id != "" {
				w.show(data)
				last = id
			}
			id, data = "", ""
		}
	}
	return last
}

func (w *watcher) show(data string) {
	var is struct{ Question, Outcome string }
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := json.Unmarshal([]byte(data), &is); err != nil {
		w.wrong = append(w.wrong, err.Error()+": "+data)
		return
	}
	if before := w.shown[is.Question]; before != "" && is.Outcome != "" && is.Outcome != before {
		w.wrong = append(w.wrong, fmt.Sprintf("%s was %s, and then %s", is.Question, before, is.Outcome))
	}
	w.shown[is.Question] = is.Outcome
}

// differs says what a watcher shows that is not so, or nothing.
func (w *watcher) differs(truth map[string]string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, outcome := range truth {
		if shown, ok := w.shown[id]; !ok || shown != outcome {
			list = append(list, fmt.Sprintf("%s is %q, shown as %q (%t)", id, outcome, shown, ok))
		}
	}
	for id := range w.shown {
		if _, ok := truth[id]; !ok {
			list = append(list, id+" is shown, and nobody asked it")
		}
	}
	return append(list, w.wrong...)
}

// seenRight waits until all watchers show what the agents got.
func (c *crowd) seenRight(t *testing.T) {
	t.Helper()
	truth := map[string]string{c.left.id: ""}
	for _, q := range c.questions {
		truth[q.name.Load().(string)] = map[bool]string{true: "cancelled", false: "answered"}[q.delivered[0] == "cancel"]
	}
	begin := time.Now()
	for _, w := range c.watchers {
		for ; ; time.Sleep(20 * time.Millisecond) { // it is behind
			list := w.differs(truth)
			if len(list) == 0 {
				break
			}
			if time.Since(begin) > hangs {
				t.Errorf("who watches hub %d (and others: %t) sees %d things wrong: %v", w.hub, w.moves, len(list), list[:min(len(list), 10)])
				break
			}
		}
	}
}
