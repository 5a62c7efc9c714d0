package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/hub"
	"github.com/acp-bridge/acp-bridge/adapter/web"
)

// A device that can ask sees and takes back what it asked, and nothing else.
func TestAnAskersQuestionsAreItsOwn(t *testing.T) {
	s := newSite(t, hub.Options{})
	bearer := func(name string) string {
		token, err := s.access.Add(name, web.CanAsk)
		require.NoError(t, err)
		return "Bearer " + token
	}
	bot, other := bearer("bot"), bearer("other")
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(202, "POST", "/conversations/c2/ask", database, "Authorization", bot)
	const settled = `{"outcome":"answered","answers":[{"Selected":["SQLite"]}],"by":"owner"}`
	for _, c := range []struct{ method, path, body string }{
		{"GET", "", ""},
		{"GET", "/events", ""},
		{"GET", "/questions/toolu_1", ""},
		{"POST", "/ask", database},
		{"POST", "/questions/toolu_1/settle", settled},
		{"POST", "/questions/toolu_1/received", `{"refused":"no"}`},
	} {
		for _, path := range []string{"/conversations/c1" + c.path, "/conversations/c2" + c.path} {
			s.expect(403, c.method, path, c.body, "Authorization", other)
		}
		s.expect(403, c.method, "/conversations/c1"+c.path, c.body, "Authorization", bot)
	}
	// What others asked there keeps nobody from asking something else.
	s.expect(202, "POST", "/conversations/c1/ask", features, "Authorization", bot)
	s.expect(200, "POST", "/conversations/c1/questions/toolu_2/settle", `{"outcome":"cancelled"}`, "Authorization", bot)
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	s.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", other)
	s.expect(200, "GET", "/conversations/c1/questions/toolu_1", "", "Authorization", other)
	s.expect(200, "GET", "/conversations/c2", "", "Authorization", bot)
	s.expect(202, "POST", "/conversations/c2/ask", database, "Authorization", bot)
	s.expect(200, "POST", "/conversations/c2/questions/toolu_1/settle", settled, "Authorization", bot)
	open, total := s.board.Waiting(10)
	require.Equal(t, 1, total)
	require.Equal(t, "c1", open[0].Conversation)
}

// A device that was removed gets no answer any more, also where it waits for one.
func TestARemovedDeviceGetsNoAnswer(t *testing.T) {
	for path, method := range map[string]string{"/ask?wait=5m": "POST", "/questions/toolu_1?wait=5m": "GET"} {
		t.Run(method, func(t *testing.T) {
			s := newSite(t, hub.Options{Lease: time.Hour})
			token, err := s.access.Add("bot", web.CanAsk)
			require.NoError(t, err)
			s.expect(202, "POST", "/conversations/c/ask", database, "Authorization", "Bearer "+token)
			waiting := make(chan *http.Response, 1)
			go func() {
				reply, _ := s.request(method, "/conversations/c"+path, database, "Authorization", "Bearer "+token)
				waiting <- reply
			}()
			require.Eventually(t, func() bool { return s.access.Watched("bot") }, patience, time.Millisecond)
			require.NoError(t, s.access.Remove("bot"))
			require.Equal(t, http.StatusUnauthorized, (<-waiting).StatusCode)
			s.expect(200, "POST", "/conversations/c/respond", `{"answers":{"Which database?":"SQLite"}}`)
			r, err := s.board.Find("c", "")
			require.NoError(t, err)
			require.Equal(t, "accepted", r.End.Receipt())
		})
	}
}
