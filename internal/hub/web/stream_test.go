package web_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// An event id of another store says nothing about this one: what waits is told. A store that was
// restored gives its revisions again: what has ended since is told, too.
func TestEventIDsOfBefore(t *testing.T) {
	t.Parallel()
	dir, backup := t.TempDir(), t.TempDir()
	before := newSiteWith(t, hub.Options{}, hubstore.Options{Dir: dir})
	before.expect(202, "POST", "/conversations/a/ask", database)
	require.NoError(t, os.CopyFS(backup, os.DirFS(dir)))
	before.expect(202, "POST", "/conversations/lost/ask", database)
	next, _ := before.stream("/events")
	next()
	seen, _ := next()
	require.True(t, strings.HasSuffix(seen.id, "-3"), seen.id)
	now := newSiteWith(t, hub.Options{}, hubstore.Options{Dir: backup})
	now.expect(202, "POST", "/conversations/c/ask", database)
	now.expect(200, "POST", "/conversations/a/cancel", "")
	now.expect(202, "POST", "/conversations/d/ask", database)
	for id, told := range map[string]string{seen.id: "cad", "x" + seen.id: "cd", "3": "cd", "x-3": "cd", "-": "cd", "-3": "cd"} {
		resumed, stop := now.stream("/events", "Last-Event-ID", id)
		for _, want := range told {
			e, _ := resumed()
			require.Equal(t, string(want), e.data["conversation"], id)
		}
		stop()
	}
}

// A list says from where a stream goes on: what the list has is not told again, what has
// changed since is.
func TestEventsAfterAList(t *testing.T) {
	s := siteBeside(t)
	at := func() string {
		return regexp.MustCompile(`data-at="([^"]+)"`).FindStringSubmatch(s.expect(200, "GET", "/cards", ""))[1]
	}
	for _, c := range []string{"a", "b"} {
		s.expect(202, "POST", "/conversations/"+c+"/ask", database)
	}
	next, _ := s.stream("/events?after=" + at())
	s.expect(202, "POST", "/conversations/c/ask", database)
	s.expect(200, "POST", "/conversations/a/cancel", "")
	for _, want := range []string{"c", "a"} {
		e, _ := next()
		require.Equal(t, want, e.data["conversation"])
	}
}

// A stream of a conversation in which nothing was asked yet opens and waits.
func TestEventsBeforeTheFirstQuestion(t *testing.T) {
	s := newSite(t, hub.Options{})
	bot := s.device("bot", "ask", "red")
	own, _ := s.stream("/conversations/c1/events", "Authorization", "Bearer "+bot)
	any, _ := s.stream("/conversations/c1/events")
	s.expect(202, "POST", "/conversations/c2/ask", database)
	s.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", "Bearer "+bot)
	for _, next := range []func() (event, bool){own, any} {
		e, ok := next()
		require.True(t, ok)
		require.Equal(t, "c1", e.data["conversation"])
		require.Equal(t, "awaiting_user_response", e.data["type"])
	}
}

// A conversation whose asker went away before it had the answer says so, and that
// nobody works on.
func TestAConversationWithoutItsAsker(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{Lease: 40 * time.Millisecond})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	require.Eventually(t, func() bool {
		return strings.Contains(s.expect(200, "GET", "/conversations/c1", ""), `"state":{"type":"idle","asker_gone":true}`)
	}, patience, 5*time.Millisecond)
}

// What waits behind a question that ended is told as it is now to whoever goes on after an
// event, not as it was told to others when it ended.
func TestWhatWaitsIsToldAsItIsNow(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{Lease: 200 * time.Millisecond})
	for _, id := range []string{"toolu_1", "toolu_2"} {
		call := strings.ReplaceAll(strings.ReplaceAll(database, "toolu_1", id), "Which database?", "Which database for "+id+"?")
		s.expect(202, "POST", "/conversations/c1/ask", call)
	}
	next, _ := s.stream("/events")
	until := func(next func() (event, bool), is func(event) bool) event {
		for {
			e, ok := next()
			require.True(t, ok)
			if is(e) {
				return e
			}
		}
	}
	asked := until(next, func(e event) bool { return e.data["question"] == "toolu_2" })
	s.expect(200, "POST", "/conversations/c1/cancel?question=toolu_1", "")
	s.expect(200, "POST", "/conversations/c1/questions/toolu_1/received", `{"consumed":true}`) // nobody has to be there for it
	ended := func(e event) bool { return e.data["question"] == "toolu_1" && e.data["receipt"] == "consumed" }
	require.Equal(t, "toolu_2", until(next, ended).data["tool_use_id"])
	require.Eventually(t, func() bool { // the stream may have told it before
		waits, err := s.board.Find("c1", "toolu_2")
		return err == nil && waits.Gone
	}, time.Minute, time.Millisecond)
	again, _ := s.stream("/events", "Last-Event-ID", asked.id)
	e := until(again, ended)
	require.Equal(t, "toolu_2", e.data["tool_use_id"])
	require.Equal(t, true, e.data["asker_gone"])
}
