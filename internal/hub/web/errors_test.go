package web_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// errorOf makes a request and returns its status. An error is JSON with one
// sentence, on every route.
func (s *site) errorOf(t *testing.T, method, path, body string, headers ...string) int {
	t.Helper()
	reply, data := s.request(method, path, body, headers...)
	require.Equal(t, "application/json", reply.Header.Get("Content-Type"), "%s %s: %s", method, path, data)
	var said map[string]any
	require.NoError(t, json.Unmarshal([]byte(data), &said), "%s %s: %s", method, path, data)
	sentence, _ := said["error"].(string)
	require.NotEmpty(t, sentence, "%s %s", method, path)
	require.NotContains(t, sentence, "\n")
	return reply.StatusCode
}

// TestErrorTable has bodies that no route takes, and forms. The other errors of the contract
// are in testdata/scripts/ask.txtar; 401, 403 and 421 are on all routes, and have tests of their
// own beside their exceptions.
func TestErrorTable(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(202, "POST", "/conversations/over/ask", database)
	s.expect(200, "POST", "/conversations/over/respond", `{"answers":{"Which database?":"SQLite"}}`)
	rec := s.find("over", "")
	open := s.find("c1", "")
	form := func(r *hub.Record, revision string) string {
		return url.Values{"conversation": {inForm(r.Conversation)}, "question": {inForm(r.ID)}, "revision": {revision}, "asked": {r.Fingerprint()}, "a0": {"0"}}.Encode()
	}
	const good, json, urlencoded = `{"answers":{"Which database?":"PostgreSQL"}}`, "application/json", "application/x-www-form-urlencoded"
	large := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
	bodies := []struct{ path, kind, good string }{
		{"/conversations/c1/ask", json, database}, {"/conversations/c1/respond", json, good}, {"/conversations/c1/cancel", json, "{}"},
		{"/conversations/c1/questions/toolu_1/settle", json, `{"outcome":"answered"}`},
		{"/conversations/c1/questions/toolu_1/received", json, `{"consumed":true}`},
		{"/devices", json, `{"name":"x","can":"answer"}`}, {"/codes", json, `{"name":"owner"}`},
		{"/answer", urlencoded, form(open, "1")}, {"/login", urlencoded, "code=x"},
	}
	for _, b := range bodies {
		from := []string{"Origin", s.url, "Accept", json}
		require.Equal(t, 413, s.errorOf(t, "POST", b.path, large, append(from, "Content-Type", b.kind)...), b.path)
		for _, kind := range []string{"text/plain", "multipart/form-data; boundary=x", "", "no type"} {
			require.Equal(t, 415, s.errorOf(t, "POST", b.path, b.good, append(from, "Content-Type", kind)...), b.path)
		}
		if b.kind == json {
			for _, body := range []string{"{", `{"a":1} x`, "\xff", `"\ud800`} {
				require.Equal(t, 400, s.errorOf(t, "POST", b.path, body, from...), b.path)
			}
		}
	}
	for code, body := range map[int]string{400: "a0=0", 409: form(rec, "3"), 412: form(open, "99")} {
		require.Equal(t, code, s.errorOf(t, "POST", "/answer", body, "Content-Type", urlencoded, "Accept", json), body)
	}
	s.stillOpen(t)
	require.Equal(t, open.Revision, s.find("c1", "").Revision)
}
