package watchtest

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// Turns watches a hub from now on; what it returns waits for the next end of a turn.
func Turns(t testing.TB, url, token string) (next func() gjson.Result) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	reply, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, reply.StatusCode)
	t.Cleanup(func() { reply.Body.Close() })
	lines := bufio.NewScanner(reply.Body)
	lines.Buffer(nil, 1<<20)
	require.True(t, lines.Scan()) // what comes from now on is told
	return func() gjson.Result {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == "event: turn" && lines.Scan() {
				return gjson.Parse(strings.TrimPrefix(lines.Text(), "data: "))
			}
		}
		require.Fail(t, "the stream has ended")
		return gjson.Result{}
	}
}

// Turns is [Turns] of the site's hub.
func (s *Site) Turns() (next func() gjson.Result) {
	s.t.Helper()
	token, err := s.Access.Add("turns", "answer")
	require.NoError(s.t, err)
	return Turns(s.t, s.URL, token)
}
