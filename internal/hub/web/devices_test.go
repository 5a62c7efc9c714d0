package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// A device that can ask sees and takes back what it asked, and nothing else: what
// others ask is not there for it, whatever it is called.
func TestAnAskersQuestionsAreItsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	bearer := func(name string) string {
		token := s.device(name, web.CanAsk)
		return "Bearer " + token
	}
	bot, other := bearer("bot"), bearer("other")
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(202, "POST", "/conversations/c2/ask", database, "Authorization", bot)
	const settled = `{"outcome":"answered","answers":[{"Selected":["SQLite"]}],"by":"owner"}`
	for _, c := range []struct{ method, path, body string }{
		{"GET", "", ""},
		{"GET", "/questions/toolu_1", ""},
		{"POST", "/questions/toolu_1/settle", settled},
		{"POST", "/questions/toolu_1/received", `{"refused":"no"}`},
	} {
		for _, path := range []string{"/conversations/c1" + c.path, "/conversations/c2" + c.path} {
			s.expect(404, c.method, path, c.body, "Authorization", other)
		}
		s.expect(404, c.method, "/conversations/c1"+c.path, c.body, "Authorization", bot)
	}
	// Nor does an admin take what another device asked.
	s.expect(404, "POST", "/conversations/c2/questions/toolu_1/settle", settled)
	s.expect(404, "POST", "/conversations/c2/questions/toolu_1/received", `{"consumed":true}`)
	s.expect(202, "POST", "/conversations/c1/ask", features, "Authorization", bot)
	s.expect(200, "POST", "/conversations/c1/questions/toolu_2/settle", `{"outcome":"cancelled"}`, "Authorization", bot)
	s.expect(200, "GET", "/conversations/c2", "", "Authorization", bot)
	s.expect(200, "POST", "/conversations/c2/questions/toolu_1/settle", settled, "Authorization", bot)
	open, total := s.board.Waiting(10)
	require.Equal(t, 1, total)
	require.Equal(t, "c1", open[0].Conversation)
}

// Two devices that use one conversation and one id have two questions. Each gets its
// own answer, and who answers says which is meant.
func TestEachDeviceFindsItsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	var as [2][]string
	for i, name := range []string{"a", "b"} {
		token := s.device(name, web.CanAsk)
		as[i] = []string{"Authorization", "Bearer " + token}
	}
	const path, question = "/conversations/c1", "/conversations/c1/questions/toolu_1"
	revision := func(said string) string { return gjson.Get(said, "state.revision").Raw }
	first := revision(s.expect(202, "POST", path+"/ask", database, as[0]...))
	s.expect(200, "POST", path+"/respond?question=toolu_1", `{"answers":{"Which database?":"SQLite"}}`)
	second := revision(s.expect(202, "POST", path+"/ask", database, as[1]...))
	require.NotEqual(t, first, second)
	// A's answer is there, however it looks for it.
	require.Contains(t, s.expect(200, "GET", question, "", as[0]...), "SQLite")
	require.Contains(t, s.expect(200, "POST", path+"/ask?wait=1m", database, as[0]...), "SQLite")
	s.expect(200, "POST", question+"/received", `{"consumed":true}`, as[0]...)
	require.Contains(t, s.expect(200, "GET", question, "", as[1]...), "awaiting")
	// Both wait now, and the owner's own does too.
	third := revision(s.expect(202, "POST", path+"/ask", database, as[0]...))
	s.expect(202, "POST", path+"/ask", database)
	for _, do := range []struct{ what, body string }{{"respond", `{"answers":{"Which database?":"PostgreSQL"}}`}, {"cancel", ""}} {
		require.Contains(t, s.expect(409, "POST", path+"/"+do.what+"?question=toolu_1", do.body), "another question may be meant")
	}
	s.expect(200, "POST", path+"/respond?question=toolu_1&revision="+second, `{"answers":{"Which database?":"PostgreSQL"}}`)
	s.expect(200, "POST", path+"/cancel?question=toolu_1&revision="+third, "")
	require.Contains(t, s.expect(200, "POST", path+"/ask?wait=1m", database, as[1]...), "PostgreSQL")
	require.Contains(t, s.expect(200, "POST", path+"/ask?wait=1m", database, as[0]...), "deny")
	require.Contains(t, s.expect(200, "GET", question, ""), "awaiting", "that is the owner's")
}

// A device that was removed gets no answer any more, also where it waits for one.
func TestARemovedDeviceGetsNoAnswer(t *testing.T) {
	t.Parallel()
	for path, method := range map[string]string{"/ask?wait=5m": "POST", "/questions/toolu_1?wait=5m": "GET"} {
		t.Run(method, func(t *testing.T) {
			s := newSite(t, hub.Options{Lease: time.Hour})
			token := s.device("bot", web.CanAsk)
			s.expect(202, "POST", "/conversations/c/ask", database, "Authorization", "Bearer "+token)
			waiting := make(chan *http.Response, 1)
			http.DefaultTransport.(*http.Transport).CloseIdleConnections() // or a GET is sent again when it breaks
			go func() {
				defer close(waiting)
				reply, _ := s.request(method, "/conversations/c"+path, database, "Authorization", "Bearer "+token)
				waiting <- reply
			}()
			require.Eventually(t, func() bool { return s.access.Watched("bot") }, patience, time.Millisecond)
			require.NoError(t, s.access.Remove("bot"))
			reply := <-waiting
			require.NotNil(t, reply)
			require.Equal(t, http.StatusUnauthorized, reply.StatusCode)
			s.expect(200, "POST", "/conversations/c/respond", `{"answers":{"Which database?":"SQLite"}}`)
			r := s.find("c", "")
			require.Equal(t, "accepted", r.End.Receipt())
		})
	}
}

// The next device of a name has nothing of the one before: no question, answer or secret.
func TestADeviceMadeAnewAsksForItself(t *testing.T) {
	t.Parallel()
	const form = `{"name":"f1","kind":"form","asker":"a","call":{"ID":"f","Server":"srv","Questions":[{"Text":"What is your API key?"}]}}`
	for where, remove := range map[string]func(s *site){
		"at the hub":       func(s *site) { s.expect(200, "DELETE", "/devices/bot", "") },
		"while no hub ran": func(s *site) { require.NoError(t, s.access.Remove("bot")) },
	} {
		s := newSite(t, hub.Options{})
		as := []string{"Authorization", "Bearer " + s.device("bot", web.CanAsk)}
		s.expect(202, "POST", "/conversations/open/ask", database, as...)
		s.expect(202, "POST", "/conversations/over/ask", database, as...)
		s.expect(200, "POST", "/conversations/over/respond", `{"answers":{"Which database?":"SQLite"}}`)
		s.expect(202, "POST", "/conversations/form/ask?dialect=bridge", form, as...)
		s.expect(200, "POST", "/conversations/form/respond", `{"answers":{"What is your API key?":"hunter2"}}`)
		remove(s)
		as[1] = "Bearer " + s.device("bot", web.CanAsk)
		require.NoError(t, s.server.Abandon(t.Context())) // as at a start
		s.expect(409, "POST", "/conversations/open/respond", `{"answers":{"Which database?":"SQLite"}}`)
		s.expect(202, "POST", "/conversations/over/ask", database, as...)
		s.expect(202, "POST", "/conversations/open/ask", database, as...)
		require.NotContains(t, s.expect(200, "GET", "/conversations/form/questions/f1", "", as...), "hunter2", where)
		require.NoError(t, s.server.Abandon(t.Context()))
		require.Contains(t, s.expect(200, "GET", "/conversations/open", ""), "awaiting", where)
	}
}

// Who has answered, as an asker says it, is told apart from what the hub knows, and
// is no longer than a name.
func TestAnAskersWordOnWhoAnswered(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	bot := s.device("bot", web.CanAsk)
	as := []string{"Authorization", "Bearer " + bot}
	settle := func(conversation, by string) gjson.Result {
		s.expect(202, "POST", "/conversations/"+conversation+"/ask", database, as...)
		s.expect(200, "POST", "/conversations/"+conversation+"/questions/toolu_1/settle", `{"outcome":"answered","answers":[{"Selected":["SQLite"]}],"by":"`+by+`"}`, as...)
		return gjson.Get(s.expect(200, "GET", "/history?limit=1", ""), "history.0")
	}
	said := settle("c1", "editor")
	require.Equal(t, "editor", said.Get("by").Str)
	require.True(t, said.Get("elsewhere").Bool())
	require.Contains(t, s.expect(200, "GET", "/history", "", "Accept", "text/html"), "by editor, according to the agent&#39;s machine.")
	for i, name := range []string{"owner", "Owner ", "you", "bot", "ow\u200bner"} { // not theirs to use
		require.Regexp(t, `^".*", says bot$`, settle(fmt.Sprint("taken", i), name).Get("by").Str)
	}
	require.NotContains(t, s.expect(200, "GET", "/metrics", ""), `by="owner"`)
	// What is made of a name says nothing about whether there is such a device: one that
	// can only ask could try them all. The device itself has not answered for all that.
	phone := s.device("phone", web.CanAnswer)
	for _, name := range []string{"phone", "Phone ", "nobody", "Nobody "} {
		require.Equal(t, name, settle("settled-"+strings.TrimSpace(name), name).Get("by").Str)
	}
	s.expect(409, "POST", "/conversations/settled-phone/respond?question=toolu_1", `{"answers":{"Which database?":"SQLite"}}`, "Authorization", "Bearer "+phone)
	require.NotContains(t, s.expect(200, "GET", "/metrics", ""), `by="phone"}`)
	require.Contains(t, s.expect(200, "GET", "/metrics", ""), `by="phone",elsewhere="true"}`)
	require.Less(t, len(settle("c2", strings.Repeat("long ", 1000)).Get("by").Str), 200)
	require.Less(t, len(s.expect(200, "GET", "/metrics", "")), 5000)
	s.expect(202, "POST", "/conversations/c3/ask", database)
	s.expect(200, "POST", "/conversations/c3/respond", `{"answers":{"Which database?":"SQLite"}}`)
	require.False(t, gjson.Get(s.expect(200, "GET", "/history?limit=1", ""), "history.0.elsewhere").Exists())
	for path, body := range map[string]string{
		"/conversations/c4/ask?dialect=bridge":         `{"kind":"question","asker":"%s","call":{"ID":"x","Questions":[{"Text":"Go?"}]}}`,
		"/conversations/c1/questions/toolu_1/settle":   `{"outcome":"answered","asker":"%s"}`,
		"/conversations/c1/questions/toolu_1/received": `{"consumed":true,"asker":"%s"}`,
	} {
		s.expect(400, "POST", path, strings.Replace(body, "%s", strings.Repeat("x", 513), 1), as...)
	}
}
