package web_test

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
)

// BenchmarkRoundTrip is a question over HTTP: asked, seen by a watcher of the
// events, answered, and delivered to the asker. Its floor is the benchmark of
// the same name in internal/hub/hubstore.
func BenchmarkRoundTrip(b *testing.B) {
	s := newSite(b, hub.Options{})
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 8
	s.expect(202, "POST", "/conversations/c0/ask", strings.ReplaceAll(database, "toolu_1", "toolu_x"))
	next, stop := s.stream("/events")
	defer stop()
	next()
	var times []time.Duration
	i := 0
	for b.Loop() {
		i++
		id := "toolu_b" + strconv.Itoa(i)
		call := strings.ReplaceAll(database, "toolu_1", id)
		begin := time.Now()
		result := make(chan string, 1)
		go func() {
			_, data := s.request("POST", "/conversations/"+id+"/ask?wait=30s", call)
			result <- data
		}()
		for e, _ := next(); e.data["question"] != id; e, _ = next() {
		}
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
	s := newSite(b, hub.Options{})
	var all sync.WaitGroup
	streams := make([]func(), 100)
	told := make(chan struct{}, len(streams))
	for i := range streams {
		next, stop := s.rawStream("/events")
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
		_, err := s.board.Ask(b.Context(), hub.Asking{Conversation: ref.Conversation, Dialect: "bridge", Call: convert.Call{Questions: []convert.Question{db}}})
		require.NoError(b, err)
		_, err = s.board.Answer(b.Context(), ref, read, "phone")
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

// rawStream reads events as they come: next waits for one that has a word in it.
func (s *site) rawStream(path string) (next func(word string) bool, stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
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
	n := 200
	if given, err := strconv.Atoi(os.Getenv("ACP_BRIDGE_MANY")); err == nil {
		n = given
	}
	s := newSite(t, hub.Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		_, err := s.board.Ask(t.Context(), hub.Asking{Conversation: fmt.Sprint("c", i), Dialect: "bridge",
			Call: convert.Call{ID: fmt.Sprint("toolu_", i), Questions: []convert.Question{db}}})
		require.NoError(t, err)
	}
	for range 100 {
		next, _ := s.stream("/events")
		_, ok := next()
		require.True(t, ok)
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

// TestSteadyRate asks a thousand questions a second, each of which is seen by a
// watcher, answered, and delivered.
func TestSteadyRate(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("ACP_BRIDGE_RATE"))
	if err != nil {
		t.Skip("ACP_BRIDGE_RATE does not say for how many seconds")
	}
	rate := 1000
	if given, err := strconv.Atoi(os.Getenv("ACP_BRIDGE_RATE_EACH")); err == nil {
		rate = given
	}
	t.Logf("the bare engine, three writes a question: %s", bareRate(t, rate, seconds))
	s := newSite(t, hub.Options{})
	var before, after syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	// Those who wait for an answer must not keep those from answering who could.
	asks, answers := &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}, &http.Transport{MaxIdleConnsPerHost: 32, MaxConnsPerHost: 32}
	defer asks.CloseIdleConnections()
	defer answers.CloseIdleConnections()
	post := func(transport *http.Transport, path, body string) (int, string) {
		req, err := http.NewRequest("POST", s.url+path, strings.NewReader(body))
		if err != nil {
			return 0, ""
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		reply, err := transport.RoundTrip(req)
		if err != nil {
			return 0, ""
		}
		defer reply.Body.Close()
		data, _ := io.ReadAll(reply.Body)
		return reply.StatusCode, string(data)
	}
	s.expect(202, "POST", "/conversations/c0/ask", strings.ReplaceAll(database, "toolu_1", "toolu_x"))
	next, stop := s.stream("/events")
	defer stop()
	var answering sync.WaitGroup
	go func() {
		for e, ok := next(); ok; e, ok = next() {
			id, _ := e.data["question"].(string)
			if e.data["type"] == "awaiting_user_response" && strings.HasPrefix(id, "toolu_r") {
				answering.Go(func() { post(answers, "/conversations/"+id+"/respond", `{"answers":{"Which database?":"SQLite"}}`) })
			}
		}
	}()
	times := make([]time.Duration, rate*seconds)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range times {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		all.Go(func() {
			id := "toolu_r" + strconv.Itoa(i)
			asked := time.Now()
			status, data := post(asks, "/conversations/"+id+"/ask?wait=30s", strings.ReplaceAll(database, "toolu_1", id))
			if times[i] = time.Since(asked); status != 200 || !strings.Contains(data, "SQLite") {
				t.Errorf("%s: %d %s", id, status, data)
			}
		})
	}
	all.Wait()
	took := time.Since(begin)
	answering.Wait()
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	cpu := time.Duration(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / time.Duration(len(times))
	t.Logf("the hub, its clients in the same process: %s; CPU a question %s", spread(times, took), cpu)
}

// spread says how long things took. It sorts them.
func spread(times []time.Duration, took time.Duration) string {
	slices.Sort(times)
	return fmt.Sprintf("%d in %s, p50 %s, p99 %s, longest %s", len(times), took, times[len(times)/2], times[len(times)*99/100], times[len(times)-1])
}

// bareRate is the floor: what a question writes, at the same rate, in the engine
// alone.
func bareRate(t *testing.T, rate, seconds int) string {
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	defer store.Close()
	value := []byte(strings.Repeat("x", 600))
	times := make([]time.Duration, rate*seconds)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range times {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		all.Go(func() {
			asked, key := time.Now(), "k."+strconv.Itoa(i)
			revision, err := store.Create(t.Context(), key, value)
			for range 2 {
				if err == nil {
					revision, err = store.Update(t.Context(), key, value, revision)
				}
			}
			if times[i] = time.Since(asked); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return spread(times, time.Since(begin))
}

// TestRestartWithManyOpen is how long a hub with many open questions takes to be
// ready.
func TestRestartWithManyOpen(t *testing.T) {
	t.Parallel()
	n := 200
	if given, err := strconv.Atoi(os.Getenv("ACP_BRIDGE_MANY")); err == nil {
		n = given
	}
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
