package web_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/hub"
	"github.com/acp-bridge/acp-bridge/convert"
)

// BenchmarkRoundTrip is a question over HTTP: asked, seen by a watcher of the
// events, answered, and delivered to the asker. Its floor is the benchmark of
// the same name in adapter/desk/jetstream.
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
	require.Contains(t, page, fmt.Sprintf("%d questions wait.", n))
}
