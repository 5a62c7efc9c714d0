//go:build unix

package measure_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// An export has everything, also if that is more than a page can have.
func TestExportOfMany(t *testing.T) {
	s := newSite(t)
	const many = 2050
	var asking sync.WaitGroup
	for i := range 50 {
		asking.Go(func() {
			for j := i; j < many; j += 50 {
				ref := hub.Ref{Conversation: fmt.Sprint("c", i), ID: fmt.Sprint("q", j)}
				_, err := s.Board.Ask(t.Context(), hub.Asking{Conversation: ref.Conversation, Call: convert.Call{ID: ref.ID, Questions: []convert.Question{{Text: "Go?"}}}})
				assert.NoError(t, err)
				_, err = s.Board.Cancel(t.Context(), ref, "me")
				assert.NoError(t, err)
			}
		})
	}
	asking.Wait()
	export := func(path string) string {
		body := s.opened(http.DefaultTransport, path)
		defer body.Close()
		data, err := io.ReadAll(body)
		require.NoError(t, err)
		return string(data)
	}
	found := map[string]bool{}
	for line := range strings.Lines(export("/history")) {
		found[gjson.Get(line, "question").Str] = true
	}
	require.Len(t, found, many)
	require.Equal(t, 3, strings.Count(export("/history?limit=3"), "\n"))
}

// A thousand streams on which nothing happens keep nobody from asking and
// answering, and each of them is told.
func TestAThousandIdleStreams(t *testing.T) {
	s := newSite(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	var bodies []io.ReadCloser
	streams := 1000
	if leaktest.Race { // it sees no more in the others
		streams = 100
	}
	for range streams {
		bodies = append(bodies, s.opened(transport, "/events"))
	}
	s.expect(202, "POST", "/conversations/c1/ask", `{"id":"q1","question":"Which database?","options":["PostgreSQL","SQLite"]}`)
	s.expect(200, "POST", "/conversations/c1/respond?question=q1", `{"answers":{"Which database?":"SQLite"}}`)
	for _, b := range bodies {
		lines := bufio.NewScanner(b)
		told := false
		for !told && lines.Scan() {
			told = strings.Contains(lines.Text(), `"outcome":"answered"`)
		}
		require.True(t, told)
		b.Close()
	}
}

// opened is what the hub's owner gets, line by line.
func (s site) opened(by http.RoundTripper, path string) io.ReadCloser {
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.URL+path, nil)
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+s.Owner)
	req.Header.Set("Accept", "application/x-ndjson, text/event-stream")
	reply, err := by.RoundTrip(req)
	require.NoError(s.t, err)
	require.Equal(s.t, 200, reply.StatusCode)
	return reply.Body
}
