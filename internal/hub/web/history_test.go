package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// asNDJSON asks for an export.
var asNDJSON = []string{"Accept", "application/x-ndjson"}

// How long an answer took is the time between the two that are told.
func TestHistorySeconds(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(200, "POST", "/conversations/c1/cancel", "")
	one := gjson.Get(s.expect(200, "GET", "/history", ""), "history.0")
	asked := acptest.Must(time.Parse(time.RFC3339Nano, one.Get("asked").Str))
	at := acptest.Must(time.Parse(time.RFC3339Nano, one.Get("at").Str))
	require.InDelta(t, at.Sub(asked).Seconds(), one.Get("seconds").Num, 1e-6)
}

// Page by page, everything that was there is seen once, also when more is settled
// meanwhile.
func TestHistoryPageByPage(t *testing.T) {
	s := siteBeside(t)
	settle := func(n int) {
		id := fmt.Sprintf("/conversations/c%d", n)
		s.expect(202, "POST", id+"/ask", database)
		s.expect(200, "POST", id+"/respond", `{"answers":{"Which database?":"SQLite"}}`)
	}
	for n := range 7 {
		settle(n)
	}
	var seen []string
	after, pages := "", 0
	for {
		page := gjson.Parse(s.expect(200, "GET", "/history?limit=3&after="+after, ""))
		for _, r := range page.Get("history").Array() {
			seen = append(seen, r.Get("conversation").Str)
		}
		settle(100 + pages)
		pages++
		if after = page.Get("next").Str; after == "" {
			break
		}
	}
	require.Equal(t, []string{"c6", "c5", "c4", "c3", "c2", "c1", "c0"}, seen)
	require.Equal(t, 3, pages)
	// An export has no limit but a given one, and then says where it goes on.
	reply, body := s.request("GET", "/history", "", asNDJSON...)
	require.Equal(t, 10, strings.Count(body, "\n"))
	require.Empty(t, reply.Header.Get("Acp-Bridge-Next"))
	reply, first := s.request("GET", "/history?limit=4", "", asNDJSON...)
	_, rest := s.request("GET", "/history?after="+reply.Header.Get("Acp-Bridge-Next"), "", asNDJSON...)
	require.Equal(t, body, first+rest)
	for line := range strings.Lines(body) {
		require.True(t, json.Valid([]byte(line)))
	}
}

// History tells only what a person did as theirs, and says that an answer is kept for an
// agent that is gone only of answers that are.
func TestHistoryIsTrue(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{Lease: 200 * time.Millisecond})
	as := []string{"Authorization", "Bearer " + s.device("nightly-bot", web.CanAsk)}
	page := func(path string) string { return s.expect(200, "GET", path, "", "Accept", "text/html") }
	require.Contains(t, page("/"), "acp-bridge hook install", "until something has come")
	for _, c := range []string{"withdrawn", "dismissed", "fetched", "kept"} {
		s.expect(202, "POST", "/conversations/"+c+"/ask", database, as...)
	}
	// A program that does not say who it is has the name of its credential, and its
	// conversation the name that it has given it.
	for _, part := range []string{"<bdi>nightly-bot</bdi> asks", "“withdrawn”", "“kept”"} {
		require.Contains(t, page("/"), part)
	}
	s.expect(200, "POST", "/conversations/withdrawn/questions/toolu_1/settle", `{"outcome":"cancelled","reason":"The question was withdrawn"}`, as...)
	require.Contains(t, s.expect(409, "POST", "/conversations/withdrawn/respond?question=toolu_1", `{"answers":{"Which database?":"SQLite"}}`), "it was withdrawn already")
	s.expect(200, "POST", "/conversations/dismissed/cancel", "")
	for _, c := range []string{"fetched", "kept"} {
		s.expect(200, "POST", "/conversations/"+c+"/respond", `{"answers":{"Which database?":"SQLite"}}`)
	}
	s.expect(200, "POST", "/conversations/fetched/ask?wait=1m", database, as...)
	told := func(c string) string { return page("/conversations/" + c) }
	const gone = "kept until"
	require.Eventually(t, func() bool { return strings.Contains(told("kept"), gone) }, patience, 20*time.Millisecond)
	require.Contains(t, told("kept"), "It is kept until the agent comes back.")
	require.NotContains(t, told("fetched"), gone)
	require.Contains(t, told("withdrawn"), "Withdrawn.")
	require.NotContains(t, told("withdrawn"), "Dismissed")
	require.Contains(t, told("dismissed"), "Dismissed by owner.")

	// Both pages have it in lines, by day, and the ends of turns among them.
	s.expect(200, "POST", "/conversations/kept/turn", `{"agent":"Kimi","event":"failed","dir":"/src/web"}`, as...)
	require.Regexp(t, `(?s)<strong>Today</strong>.*Failed</b>.*Kimi.*web.*SQLite</b> · .*nightly-bot.*Withdrawn\.`, page("/history"))
	require.Regexp(t, `(?s)All answered\..*SQLite</b>`, page("/"))
}

// A line of the history has the words of the receipt that its person got.
func TestHistoryHasTheWordsOfReceipts(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]convert.Answer{
		"Allowed": {Selected: []string{"Allow"}}, "Rejected": {Selected: []string{"Reject"}}, "Rejected: use make": {Selected: []string{"Reject"}, Note: "use\nmake"},
		"Approved as edited": {Selected: []string{"Yes, with my plan"}, Note: "# Another plan"}, "Always allow Bash(npm test:*)": {Selected: []string{"Always allow Bash(npm test:*)"}},
	} {
		s := newSite(t, hub.Options{})
		r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "npm test"}, func(r *hub.Asking) {
			r.About.Picks, r.Call.Questions[0].Options = append(r.About.Picks, "allow_edited"), append(r.Call.Questions[0].Options, convert.Option{Label: "Yes, with my plan"})
		})
		acptest.Must(s.board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{a}, nil }, "phone"))
		require.Contains(t, s.expect(200, "GET", "/history", "", "Accept", "text/html"), `<b dir="auto">`+want+`</b> · <span dir="auto">npm test</span>`)
		require.NotContains(t, s.expect(200, "GET", "/conversations/c1", "", "Accept", "text/html"), "(note: ")
	}
}
