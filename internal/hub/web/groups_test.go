package web_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

const blueCall = `{"id":"toolu_1","name":"AskUserQuestion","input":{"questions":[{"question":"Which azure database?","header":"Azure","multiSelect":false,"options":[{"label":"SQLite","description":""},{"label":"Postgres","description":""}]}]}}`

// groupsSite has a question of the blue group in conversation c1, one of the red
// group in the same conversation under the same id, and a settled one of blue's
// in c2.
func groupsSite(t *testing.T) (s *site, as map[string]string) {
	s = newSite(t, hub.Options{})
	as = map[string]string{"owner": "Bearer " + token}
	add := func(name string, can web.Can, groups ...string) {
		token := s.device(name, can, groups...)
		as[name] = "Bearer " + token
	}
	add("blue-bot", web.CanAsk, "blue")
	add("blue-phone", web.CanAnswer, "blue")
	add("red-bot", web.CanAsk, "red")
	add("red-phone", web.CanAnswer, "red")
	add("plain-phone", web.CanAnswer)
	add("both-phone", web.CanAnswer, "red", "blue")
	s.expect(202, "POST", "/conversations/c1/ask", blueCall, "Authorization", as["blue-bot"])
	s.expect(202, "POST", "/conversations/c2/ask", blueCall, "Authorization", as["blue-bot"])
	s.expect(200, "POST", "/conversations/c2/respond", `{"answers":{"Which azure database?":"Postgres"}}`, "Authorization", as["blue-phone"])
	s.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", as["red-bot"])
	return s, as
}

// What a group asks is not there for others: on no route, in no list, in no
// count, and they can neither answer nor take it back.
func TestGroupsSeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	s, as := groupsSite(t)
	blue, err := s.board.FindRef(hub.Ref{Group: "blue", Conversation: "c1"})
	require.NoError(t, err)
	encoded := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	form := url.Values{
		"group": {"blue"}, "conversation": {encoded("c1")}, "question": {encoded("toolu_1")},
		"revision": {fmt.Sprint(blue.Revision)}, "asked": {blue.Fingerprint()}, "a0": {"0"}, "do": {"answer"},
	}.Encode()
	const azure = `{"answers":{"Which azure database?":"SQLite"}}`
	const settled = `{"outcome":"answered","answers":[{"Selected":["SQLite"]}],"by":"me"}`
	for _, c := range []struct {
		who                string
		status             int
		method, path, body string
	}{
		// Lists, counts and the page.
		{"plain-phone", 200, "GET", "/conversations", ""},
		{"red-phone", 200, "GET", "/conversations", ""},
		{"plain-phone", 200, "GET", "/questions", ""},
		{"red-phone", 200, "GET", "/questions", ""},
		{"red-phone", 200, "GET", "/", ""},
		{"red-phone", 200, "GET", "/cards", ""},
		{"red-phone", 200, "GET", "/history", ""},
		{"red-phone", 200, "GET", "/history?q=azure", ""},
		{"red-phone", 200, "GET", "/history?text=azure", ""},
		{"red-phone", 403, "GET", "/history?group=blue", ""},
		{"red-phone", 403, "GET", "/history?group=nobody-has-this", ""},
		{"red-phone", 403, "GET", "/questions?group=blue", ""},
		{"red-phone", 403, "GET", "/conversations?group=blue", ""},
		{"red-phone", 403, "GET", "/questions?group=nobody-has-this", ""},
		{"red-phone", 403, "GET", "/events?group=blue", ""},
		// One conversation: c2 is blue's alone, c1 is red's own for red.
		{"red-phone", 404, "GET", "/conversations/c2", ""},
		{"plain-phone", 404, "GET", "/conversations/c1", ""},
		{"red-phone", 200, "GET", "/conversations/c1", ""},
		{"red-phone", 403, "GET", "/conversations/c1?group=blue", ""},
		{"red-phone", 403, "GET", "/conversations/c1/events?group=blue", ""},
		{"red-phone", 404, "GET", "/conversations/c2/questions/toolu_1", ""},
		{"red-bot", 404, "GET", "/conversations/c2/questions/toolu_1", ""},
		{"red-bot", 403, "GET", "/conversations/c1/questions/toolu_1?group=blue", ""},
		// Answers.
		{"plain-phone", 404, "POST", "/conversations/c1/respond", azure},
		{"red-phone", 400, "POST", "/conversations/c1/respond", azure}, // red was not asked this
		{"red-phone", 403, "POST", "/conversations/c1/respond?group=blue", azure},
		{"plain-phone", 404, "POST", "/conversations/c1/cancel", ""},
		{"red-phone", 403, "POST", "/conversations/c1/cancel?group=blue", ""},
		{"red-phone", 404, "POST", "/answer", form},
		{"plain-phone", 404, "POST", "/answer", form},
		// Asking, and what an asker may do.
		{"red-bot", 403, "POST", "/conversations/c1/ask?group=blue", blueCall},
		{"red-bot", 403, "POST", "/conversations/c1/questions/toolu_1/settle?group=blue", settled},
		{"red-bot", 404, "POST", "/conversations/c2/questions/toolu_1/settle", settled},
		{"red-bot", 403, "POST", "/conversations/c1/questions/toolu_1/received?group=blue", `{"consumed":true}`},
		{"red-bot", 404, "POST", "/conversations/c2/questions/toolu_1/received", `{"consumed":true}`},
	} {
		headers := []string{"Authorization", as[c.who]}
		if c.path == "/answer" {
			headers = append(headers, "Content-Type", "application/x-www-form-urlencoded")
		}
		for _, accept := range []string{"", "text/html", "application/x-ndjson"} {
			if accept != "" && !strings.HasPrefix(c.path, "/history") {
				continue
			}
			reply, body := s.request(c.method, c.path, c.body, append(headers, "Accept", accept)...)
			require.Equal(t, c.status, reply.StatusCode, "%s %s %s: %s", c.who, c.method, c.path, body)
			require.NotContains(t, strings.ToLower(body), "azure database", "%s %s %s", c.who, c.method, c.path)
			require.NotContains(t, body, "2 questions wait", "%s %s", c.who, c.path)
		}
	}
	now, err := s.board.FindRef(hub.Ref{Group: "blue", Conversation: "c1"})
	require.NoError(t, err)
	require.Equal(t, blue.Revision, now.Revision, "nobody touched it")
	// It is there for its own group, and for who administers the hub.
	for _, who := range []string{"blue-phone", "owner", "both-phone"} {
		for _, path := range []string{"/questions", "/conversations", "/", "/cards", "/history", "/history?group=blue", "/conversations/c1?group=blue", "/conversations/c2/questions/toolu_1", "/questions?group=blue"} {
			reply, body := s.request("GET", path, "", "Authorization", as[who])
			require.Equal(t, 200, reply.StatusCode, path)
			require.Regexp(t, "azure database|Azure|Which azure|Postgres", body, "%s %s", who, path)
		}
	}
}

// A stream tells each group of its own, from the beginning and after.
func TestStreamsOfGroups(t *testing.T) {
	t.Parallel()
	s, as := groupsSite(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	listen := func(who, path string) *bufio.Scanner {
		req, err := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", as[who])
		req.Header.Set("Last-Event-ID", s.board.Name()+"-1") // everything that changed since then
		reply, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.Equal(t, 200, reply.StatusCode)
		t.Cleanup(func() { reply.Body.Close() })
		return bufio.NewScanner(reply.Body)
	}
	streams := []*bufio.Scanner{
		listen("red-phone", "/events"), listen("red-phone", "/conversations/c1/events"), listen("red-bot", "/conversations/c1/events"),
		listen("both-phone", "/events?group=red"), listen("owner", "/conversations/c1/events?group=red"),
	}
	// Something of blue's, and then something of red's.
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which azure database?":"SQLite"}}`, "Authorization", as["blue-phone"])
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`, "Authorization", as["red-phone"])
	for i, lines := range streams {
		ended := false
		for !ended && lines.Scan() {
			require.NotContains(t, lines.Text(), "azure", i)
			require.NotContains(t, lines.Text(), "blue", i)
			ended = strings.Contains(lines.Text(), `"outcome":"answered"`)
		}
		require.True(t, ended, i)
	}
}

// Who is in several groups, or in all, is told of each of them, in one stream.
func TestStreamsOfSeveralGroups(t *testing.T) {
	t.Parallel()
	s, as := groupsSite(t)
	for _, who := range []string{"both-phone", "owner"} {
		next, stop := s.stream("/events", "Authorization", as[who], "Last-Event-ID", s.board.Name()+"-4")
		for i, bot := range []string{"blue-bot", "red-bot", "blue-bot"} {
			conversation := fmt.Sprint(who, i)
			s.expect(202, "POST", "/conversations/"+conversation+"/ask", blueCall, "Authorization", as[bot])
			told := ""
			for ok := true; ok && told != conversation; {
				var e event
				e, ok = next()
				told, _ = e.data["conversation"].(string)
			}
			require.Equal(t, conversation, told, who)
		}
		stop()
	}
}

// Where several groups have a conversation of one name, nothing is guessed.
func TestGroupsWithOneNameForTwo(t *testing.T) {
	t.Parallel()
	s, as := groupsSite(t)
	for _, who := range []string{"both-phone", "owner"} {
		s.expect(400, "GET", "/conversations/c1", "", "Authorization", as[who])
		s.expect(400, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`, "Authorization", as[who])
	}
	s.expect(200, "POST", "/conversations/c1/respond?group=red", `{"answers":{"Which database?":"SQLite"}}`, "Authorization", as["both-phone"])
	red, err := s.board.FindRef(hub.Ref{Group: "red", Conversation: "c1"})
	require.NoError(t, err)
	require.Equal(t, "both-phone", red.End.By)
	blue, err := s.board.FindRef(hub.Ref{Group: "blue", Conversation: "c1"})
	require.NoError(t, err)
	require.True(t, blue.Open())
	// The same call again is the same question in its group, and another elsewhere.
	s.expect(202, "POST", "/conversations/c1/ask", blueCall, "Authorization", as["blue-bot"])
	s.expect(202, "POST", "/conversations/c1/ask?group=owner", blueCall)
	_, open := s.board.Waiting(10)
	require.Equal(t, 2, open)
	for _, groups := range []string{`["a b"]`, `["a","a"]`, `[""]`} {
		s.expect(400, "POST", "/devices", `{"name":"x","can":"ask","groups":`+groups+`}`)
	}
}
