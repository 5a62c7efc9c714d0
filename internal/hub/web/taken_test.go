package web_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// To look is not to take: whatever is read, by whomever, an answer stays for whoever
// asked.
func TestToLookIsNotToTake(t *testing.T) {
	s := siteBeside(t)
	as := []string{"Authorization", "Bearer " + s.device("bot", web.CanAsk)}
	s.expect(202, "POST", "/conversations/c1/ask", database, as...)
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	cookie := []string{"Authorization", "", "Cookie", s.logIn(t, web.Owner), "Sec-Fetch-Site", "cross-site"}
	answered := s.find("c1", "toolu_1")
	for _, pattern := range s.server.Looking() {
		path := strings.NewReplacer("{id}", "c1", "{question}", "toolu_1", "{$}", "").Replace(strings.TrimPrefix(pattern, "GET "))
		for _, who := range [][]string{nil, as, cookie} {
			if strings.HasSuffix(path, "/events") {
				continue // below
			}
			s.request("GET", path, "", who...)
			s.request("GET", path+"?wait=1m", "", who...)
			s.request("HEAD", path, "", who...)
		}
	}
	for path, who := range map[string][]string{"/events": nil, "/conversations/c1/events": as} {
		_, stop := s.stream(path, who...)
		stop()
	}
	require.Equal(t, answered, s.find("c1", "toolu_1"))
	// The agent that comes back has it. The same words under another id are
	// another question, as long as its asker may be there.
	require.Contains(t, s.expect(202, "POST", "/conversations/c1/ask", strings.ReplaceAll(database, "toolu_1", "toolu_2"), as...), "toolu_2")
	require.Contains(t, s.expect(200, "POST", "/conversations/c1/ask?wait=1m", database, as...), "SQLite")
}

// An answer that its asker could not have is not accepted from the page either, and the question
// stays open; testdata/scripts/ask.txtar has the API's.
func TestAnswersThatDoNotFit(t *testing.T) {
	const form = `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","message":"Deploy","requestedSchema":{"type":"object","required":["count"],"properties":{"count":{"type":"integer","title":"How many?"},"where":{"type":"array","title":"Where?","items":{"type":"string","enum":["EU","US"]}}}}}}`
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", form)
	rec := s.find("c1", "")
	fields := url.Values{"conversation": {inForm("c1")}, "question": {inForm(rec.ID)}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()}, "a0": {"other"}, "t0": {"many"}, "a1": {"0"}}
	post := []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", s.url, "Accept", "application/json"}
	s.expect(400, "POST", "/answer", fields.Encode(), post...)
	require.True(t, s.find("c1", rec.ID).Open())
	fields.Set("t0", "3")
	s.expect(200, "POST", "/answer", fields.Encode(), post...)
	require.JSONEq(t, `{"count":3,"where":["EU"]}`, gjson.Get(s.expect(200, "POST", "/conversations/c1/ask?wait=1m", form), "result.content").Raw)
}

// One session that is open in two windows has two bridges, which ask the same call
// under the same id. Each has its own question, its own answer, and its own word on
// what became of it.
func TestTwoBridgesOfOneSession(t *testing.T) {
	s := siteBeside(t)
	const call = `{"kind":"question","asker":%q,"call":{"ID":"toolu_1","Questions":[{"Text":"Which database?","Options":[{"Label":"SQLite"},{"Label":"PostgreSQL"}]}]}}`
	ask := func(window, wait string) (body string) {
		_, body = s.request("POST", "/conversations/c1/ask?dialect=bridge&wait="+wait, fmt.Sprintf(call, window))
		return body
	}
	got := map[string]chan string{"one": make(chan string, 1), "two": make(chan string, 1)}
	var open []*hub.Record
	for i, window := range []string{"two", "one"} {
		go func() { got[window] <- ask(window, "5m") }()
		require.Eventually(t, func() bool { open, _ = s.board.Waiting(9); return len(open) == i+1 }, patience, time.Millisecond) // the newest first
	}
	s.expect(409, "POST", "/conversations/c1/respond?question=toolu_1", `{"answers":{"Which database?":"SQLite"}}`)
	for i, window := range []string{"one", "two"} {
		label := []string{"SQLite", "PostgreSQL"}[i]
		s.expect(200, "POST", fmt.Sprintf("/conversations/c1/respond?question=toolu_1&revision=%d", web.SeenOf(open[i])), fmt.Sprintf(`{"answers":{"Which database?":%q}}`, label))
		require.Contains(t, <-got[window], `"Selected":["`+label+`"]`)
		s.expect(200, "POST", "/conversations/c1/questions/toolu_1/received", fmt.Sprintf(`{"consumed":true,"asker":%q}`, window))
		for j, r := range open {
			now := acptest.Must(s.board.FindRef(r.Ref()))
			require.Equal(t, j <= i, !now.Open() && now.End.Receipt() == "consumed")
		}
	}
}
