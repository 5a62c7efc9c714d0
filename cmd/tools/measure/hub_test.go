//go:build unix

// Package measure measures the hub and its page with as much as somebody says. What it
// finds is logged; a machine with others on it says little.
package measure_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

var db = convert.Question{Text: "Which database should we use?", Header: "Database", Options: []convert.Option{
	{Label: "PostgreSQL", Description: "Battle-tested relational DB"}, {Label: "SQLite", Description: "Lightweight, file-based"}}}

// site is a hub, and requests of its owner.
type site struct {
	t testing.TB
	*watchtest.Site
}

func newSite(t testing.TB) site { return site{t, watchtest.New(t, web.CanAsk)} }

// expect makes a request, and returns what came.
func (s site) expect(status int, method, path, body string) string {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+s.Owner)
	req.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	defer reply.Body.Close()
	data, _ := io.ReadAll(reply.Body)
	if reply.StatusCode != status {
		s.t.Errorf("%s %s: %d %s", method, path, reply.StatusCode, data)
	}
	return string(data)
}

// many is how many there are to be; ACP_BRIDGE_MANY says more.
func many(n int) int {
	if given, err := strconv.Atoi(os.Getenv("ACP_BRIDGE_MANY")); err == nil {
		return given
	}
	return n
}

// BenchmarkRoundTrip is a question over HTTP: asked, seen by a watcher of the
// events, answered, and delivered to the asker. Its floor is the benchmark of
// the same name in internal/hub/hubstore.
func BenchmarkRoundTrip(b *testing.B) {
	s := newSite(b)
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 8
	next, stop := s.stream("/events")
	defer stop()
	var times []time.Duration
	i := 0
	for b.Loop() {
		i++
		id := "toolu_b" + strconv.Itoa(i)
		call := `{"id":"` + id + `","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"Database","multiSelect":false,"options":[{"label":"PostgreSQL","description":"big"},{"label":"SQLite","description":"small"}]}]}}`
		begin := time.Now()
		result := make(chan string, 1)
		go func() {
			result <- s.expect(200, "POST", "/conversations/"+id+"/ask?wait=30s", call)
		}()
		require.True(b, next(id))
		s.expect(200, "POST", "/conversations/"+id+"/respond", `{"answers":{"Which database?":"SQLite"}}`)
		require.Contains(b, <-result, "SQLite")
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us")
}

// BenchmarkWatchers is what a question costs with a hundred streams that tell of
// it: asked, answered, and read by all of them.
func BenchmarkWatchers(b *testing.B) {
	s := newSite(b)
	var all sync.WaitGroup
	streams := make([]func(), 100)
	told := make(chan struct{}, len(streams))
	for i := range streams {
		next, stop := s.stream("/events")
		streams[i] = stop
		all.Go(func() {
			for next("answered") {
				told <- struct{}{}
			}
		})
	}
	read := func(*hub.Record) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{"SQLite"}}}, nil
	}
	var before, after syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	i := 0
	for b.Loop() {
		i++
		ref := hub.Ref{Conversation: "c" + strconv.Itoa(i)}
		_, err := s.Board.Ask(b.Context(), hub.Asking{Conversation: ref.Conversation, Dialect: "bridge", Call: convert.Call{Questions: []convert.Question{db}}})
		require.NoError(b, err)
		_, err = s.Board.Answer(b.Context(), ref, read, "phone")
		require.NoError(b, err)
		for range streams {
			<-told
		}
	}
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	b.ReportMetric(float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/1000/float64(b.N), "cpu-us/op")
	for _, stop := range streams {
		stop()
	}
	all.Wait()
}

// stream reads events as they come: next waits for one that has a word in it.
func (s site) stream(path string) (next func(word string) bool, stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL+path, nil)
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+s.Owner)
	reply, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { cancel(); reply.Body.Close() })
	lines := bufio.NewScanner(reply.Body)
	return func(word string) bool {
		for lines.Scan() {
			if bytes.Contains(lines.Bytes(), []byte(word)) {
				return true
			}
		}
		return false
	}, cancel
}

// TestManyOpenQuestions has many questions wait with many watchers.
func TestManyOpenQuestions(t *testing.T) {
	n := many(200)
	s := newSite(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		_, err := s.Board.Ask(t.Context(), hub.Asking{Conversation: fmt.Sprint("c", i), Dialect: "bridge",
			Call: convert.Call{ID: fmt.Sprint("toolu_", i), Questions: []convert.Question{db}}})
		require.NoError(t, err)
	}
	for range 100 {
		next, _ := s.stream("/events")
		require.True(t, next("data:"))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse) / uint64(n)
	begin := time.Now()
	page := s.expect(200, "GET", "/", "")
	t.Logf("%d open with 100 watchers: %d bytes each, the page in %s", n, each, time.Since(begin))
	require.Contains(t, page, fmt.Sprintf("%d questions wait", n))
	if n >= 10_000 { // with less the watchers count, not the questions
		require.LessOrEqual(t, each, uint64(25_000))
		require.Less(t, time.Since(begin), 200*time.Millisecond)
	}
}

// TestRestartWithManyOpen is how long a hub with many open questions takes to be
// ready.
func TestRestartWithManyOpen(t *testing.T) {
	t.Parallel()
	n := many(200)
	dir := t.TempDir()
	start := func() (*hub.Board, func()) {
		store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: dir})
		require.NoError(t, err)
		board, err := hub.Open(t.Context(), store, hub.Options{})
		require.NoError(t, err)
		return board, func() { board.Close(); store.Close() }
	}
	board, stop := start()
	for i := range n {
		_, err := board.Ask(t.Context(), hub.Asking{Conversation: fmt.Sprint("c", i), Dialect: "bridge",
			Call: convert.Call{ID: fmt.Sprint("toolu_", i), Questions: []convert.Question{db}}})
		require.NoError(t, err)
	}
	stop()
	begin := time.Now()
	board, stop = start()
	defer stop()
	took := time.Since(begin)
	_, total := board.Waiting(1)
	require.Equal(t, n, total)
	t.Logf("ready with %d open in %s", n, took)
	if n >= 10_000 {
		require.Less(t, took, time.Second)
	}
}
