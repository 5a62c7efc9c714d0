package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// asNDJSON asks for an export.
var asNDJSON = []string{"Accept", "application/x-ndjson"}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	phone := s.device("phone", web.CanAnswer)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	require.JSONEq(t, `{"history":[]}`, s.expect(200, "GET", "/history", ""), "what is open is at /questions")
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":{"selected":["SQLite"],"note":"for now"}}}`, "Authorization", "Bearer "+phone)
	s.expect(202, "POST", "/conversations/c2/ask", features)
	s.expect(200, "POST", "/conversations/c2/cancel", "")

	list := gjson.Get(s.expect(200, "GET", "/history", ""), "history").Array()
	require.Len(t, list, 2)
	require.Equal(t, "c2", list[0].Get("conversation").Str, "the last settled first")
	require.Equal(t, "cancelled", list[0].Get("outcome").Str)
	require.False(t, list[0].Get("questions.0.answer").Exists())
	one := list[1]
	for path, want := range map[string]string{
		"conversation": "c1", "question": "toolu_1", "kind": "question", "outcome": "answered", "by": "phone", "receipt": "accepted",
		"questions.0.question": "Which database?", "questions.0.header": "DB", "questions.0.options.#": "2",
		"questions.0.answer": `{"selected":["SQLite"],"note":"for now"}`,
	} {
		require.Equal(t, want, one.Get(path).String(), path)
	}
	asked, err := time.Parse(time.RFC3339Nano, one.Get("asked").Str)
	require.NoError(t, err)
	at, err := time.Parse(time.RFC3339Nano, one.Get("at").Str)
	require.NoError(t, err)
	require.InDelta(t, at.Sub(asked).Seconds(), one.Get("seconds").Num, 1e-6)

	// The same as NDJSON, one a line.
	lines := strings.Split(strings.TrimSuffix(s.expect(200, "GET", "/history", "", asNDJSON...), "\n"), "\n")
	require.Len(t, lines, 2)
	for i, line := range lines {
		require.JSONEq(t, list[i].Raw, line)
	}
	require.Empty(t, s.expect(200, "GET", "/history?text=nothing-like-this", "", asNDJSON...))

	for query, want := range map[string]int{
		"text=sqlite+phone": 1, "text=SQLITE": 1, "text=which": 2, "text=sqlite+features": 0,
		"since=1h": 2, "since=2000-01-01": 2, "since=2999-01-01T00:00:00%2B01:00": 0,
		"since=" + url.QueryEscape(one.Get("at").Str): 2, // that one, too
		"group=owner": 2, "limit=1": 1, "text=phone&since=1h&group=owner&limit=1000": 1,
	} {
		require.EqualValues(t, want, gjson.Get(s.expect(200, "GET", "/history?"+query, ""), "history.#").Int(), query)
	}
	for query, says := range map[string]string{
		"since=yesterday": "24h", "since=-1h": "how long ago", "limit=0": "from 1 to 1000", "limit=x": "number", "limit=1001": "1000",
		"after=x": "next of the page before", "after=" + inForm("1"): "next", "after=" + inForm("x y"): "next", "group=a+b": "letters",
	} {
		require.Contains(t, s.expect(400, "GET", "/history?"+query, ""), says, query)
		s.expect(400, "GET", "/history?"+query, "", asNDJSON...)
	}
}

// Page by page, everything that was there is seen once, also when more is settled
// meanwhile.
func TestHistoryPageByPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
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
	bot := s.device("nightly-bot", web.CanAsk)
	as := []string{"Authorization", "Bearer " + bot}
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

// An export has everything, also if that is more than a page can have.
func TestExportOfMany(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	const many = 2050
	var asking sync.WaitGroup
	for i := range 50 {
		asking.Go(func() {
			for j := i; j < many; j += 50 {
				ref := hub.Ref{Conversation: fmt.Sprint("c", i), ID: fmt.Sprint("q", j)}
				_, err := s.board.Ask(t.Context(), hub.Asking{Conversation: ref.Conversation, Call: convert.Call{ID: ref.ID, Questions: []convert.Question{{Text: "Go?"}}}})
				assert.NoError(t, err)
				_, err = s.board.Cancel(t.Context(), ref, "me")
				assert.NoError(t, err)
			}
		})
	}
	asking.Wait()
	found := map[string]bool{}
	for line := range strings.Lines(s.expect(200, "GET", "/history", "", asNDJSON...)) {
		found[gjson.Get(line, "question").Str] = true
	}
	require.Len(t, found, many)
	require.Equal(t, 3, strings.Count(s.expect(200, "GET", "/history?limit=3", "", asNDJSON...), "\n"))
}
