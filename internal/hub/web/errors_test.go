package web_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
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

// A call that is not valid gets the error result of its agent beside the sentence,
// for the model.
func TestRefusedInTheAgentsWords(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	for call, want := range map[string]string{
		`{"id":"t1","name":"ask_user_question","input":{"questions":[]}}`:                                                `{"error":"bad request: at least one question is required","isError":true,"result":{"tool_use_id":"t1","error":"Must have 1-4 questions"}}`,
		`{"id":"t1","name":"ask_user_question","input":{"questions":[{"question":"Go on?","options":[{"label":"a"}]}]}}`: `{"error":"bad request: question 1: wrong number of options: expected 2 to 4, got 1","isError":true,"result":{"tool_use_id":"t1","error":"Question 'Go on?' must have 2-4 options"}}`,
		`{"id":"t1","name":"ask_user_question","input":{"questions":5}}`:                                                 `{"error":"bad request: wrong type: questions must be an array, got a number","isError":true,"result":{"tool_use_id":"t1","error":"Invalid input: wrong type: questions must be an array, got a number"}}`,
		`{"name":"AskUserQuestion","input":{"questions":[]}}`:                                                            `{"error":"bad request: at least one question is required"}`,
	} {
		_, data := s.request("POST", "/conversations/c1/ask", call)
		require.JSONEq(t, want, data)
		require.Equal(t, 400, s.errorOf(t, "POST", "/conversations/c1/ask", call))
	}
}

// TestErrorTable goes through the contract's errors, each on every route that
// can have it. 401, 403 and 421 are on all of them; they have tests of their own
// beside their exceptions.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(202, "POST", "/conversations/over/ask", database)
	s.expect(200, "POST", "/conversations/over/respond", `{"answers":{"Which database?":"SQLite"}}`)
	phone := s.device("phone", web.CanAnswer)
	bot := s.device("bot", web.CanAsk)
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
	for _, c := range []struct {
		code         int
		method, path string
		body         string
		headers      []string
	}{
		{400, "POST", "/conversations/c1/ask", `{}`, nil},
		{400, "POST", "/conversations/c1/ask?wait=-1s", database, nil},
		{400, "GET", "/conversations/c1/questions/toolu_1?wait=soon", "", nil},
		{400, "POST", "/conversations/c1/respond", `{}`, nil},
		{400, "POST", "/conversations/c1/respond?revision=0", good, nil},
		{400, "POST", "/conversations/c1/respond?revision=", good, nil},
		{400, "POST", "/conversations/c1/respond?question=", good, nil},
		{400, "POST", "/conversations/c1/respond?question=100%", good, nil},
		{400, "POST", "/conversations/c1/respond?question=a;b", good, nil},
		{400, "POST", "/conversations/c1/respond?question=toolu_1&question=toolu_2", good, nil},
		{400, "POST", "/conversations/c1/cancel?question=%zz", "", nil},
		{400, "POST", "/conversations/c1/cancel?revision=-1", "", nil},
		{400, "POST", "/conversations/c1/questions/toolu_1/settle", `{"outcome":"won"}`, nil},
		{400, "POST", "/conversations/c1/questions/toolu_1/received", `[]`, nil},
		{400, "POST", "/devices", `{"name":"../x","can":"answer"}`, nil},
		{400, "POST", "/devices", `{"name":"x","can":"fly"}`, nil},
		{400, "POST", "/answer", "a0=0", []string{"Content-Type", urlencoded, "Accept", json}},
		{403, "POST", "/conversations/c1/ask", database, []string{"Authorization", "Bearer " + phone}},
		{403, "POST", "/conversations/c1/respond", good, []string{"Authorization", "Bearer " + bot}},
		{404, "GET", "/conversations/c1/questions/toolu_1", "", []string{"Authorization", "Bearer " + bot}},
		{404, "GET", "/conversations/c", "", nil},
		{404, "POST", "/conversations/c/respond", good, nil},
		{404, "POST", "/conversations/c1/respond?question=toolu", good, nil},
		{404, "POST", "/conversations/c/cancel", "", nil},
		{404, "POST", "/conversations/c1/cancel?question=toolu", "", nil},
		{404, "GET", "/conversations/c1/questions/toolu", "", nil},
		{404, "GET", "/conversations/c1/questions/toolu?wait=30s", "", nil},
		{404, "POST", "/conversations/c1/questions/toolu/settle", `{"outcome":"answered"}`, nil},
		{404, "POST", "/conversations/c1/questions/toolu/received", `{"consumed":true}`, nil},
		{404, "DELETE", "/devices/nobody", "", nil},
		{404, "POST", "/codes", `{"name":"nobody"}`, nil},
		{404, "GET", "/admin", "", nil},
		{404, "GET", "/conversations/", "", nil},
		{404, "GET", "/conversations//c1", "", nil},
		{404, "POST", "/conversations/x/../c1/respond", good, nil},
		{404, "POST", "/conversations/c1/./cancel", "", nil},
		{401, "GET", "/admin", "", []string{"Authorization", ""}},
		{401, "GET", "/conversations//c1", "", []string{"Authorization", ""}},
		{405, "PUT", "/conversations/c1/respond", good, nil},
		{405, "DELETE", "/conversations/c1", "", nil},
		{405, "POST", "/events", "", nil},
		{401, "PUT", "/conversations/c1/respond", good, []string{"Authorization", ""}},
		{409, "POST", "/conversations/over/respond", good, nil},
		{409, "POST", "/conversations/over/respond?question=toolu_1", good, nil},
		{409, "POST", "/conversations/over/cancel", "", nil},
		{409, "POST", "/conversations/over/questions/toolu_1/settle", `{"outcome":"answered"}`, nil},
		{409, "POST", "/answer", form(rec, "3"), []string{"Content-Type", urlencoded, "Accept", json}},
		{412, "POST", "/conversations/c1/respond?revision=99", good, nil},
		{412, "POST", "/conversations/c1/cancel?revision=99", "", nil},
		{412, "POST", "/answer", form(open, "99"), []string{"Content-Type", urlencoded, "Accept", json}},
	} {
		require.Equal(t, c.code, s.errorOf(t, c.method, c.path, c.body, c.headers...), "%s %s", c.method, c.path)
	}
	s.stillOpen(t)
	now := s.find("c1", "")
	require.Equal(t, open.Revision, now.Revision)
}

// A browser's cookie reads with HEAD as it does with GET.
func TestHead(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	cookie := s.logIn(t, web.Owner)
	s.expect(200, "HEAD", "/conversations", "", "Authorization", "", "Cookie", cookie)
}
