package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
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
		as[name] = "Bearer " + s.device(name, can, groups...)
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

// A stream tells each group of its own, from the beginning and after.
func TestStreamsOfGroups(t *testing.T) {
	t.Parallel()
	s, as := groupsSite(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	listen := func(who, path string) *bufio.Scanner {
		req := acptest.Must(http.NewRequestWithContext(ctx, "GET", s.url+path, nil))
		req.Header.Set("Authorization", as[who])
		req.Header.Set("Last-Event-ID", s.board.Name()+"-1") // everything that changed since then
		reply := acptest.Must(http.DefaultClient.Do(req))
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
