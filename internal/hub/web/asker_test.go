package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// Nor by one that waits meanwhile: what was said elsewhere is the word of who said it.
func TestWhatWasSaidElsewhereIsNoAnswer(t *testing.T) {
	r := hub.Record{Asker: "p2", End: &hub.End{Outcome: "answered", Elsewhere: true, By: "Anna", Answers: []convert.Answer{{Text: "Yes"}}}}
	require.Equal(t, convert.Answered, r.ResultFor("p2").Status)
	for _, other := range []string{"", "p1"} {
		require.Equal(t, convert.Failed, r.ResultFor(other).Status)
		require.Empty(t, r.ResultFor(other).Answers)
	}
	r.Asker = ""
	require.Equal(t, convert.Failed, r.ResultFor("").Status)
	r.End.Elsewhere = false
	require.Equal(t, convert.Answered, r.ResultFor("p1").Status)
}

// Whoever looks does not keep a process there that is gone: a phone, or another with its credential.
func TestALookIsNoAsker(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{Lease: 200 * time.Millisecond})
	const named = `{"name":"toolu_1","asker":"a","call":{"ID":"toolu_1","Questions":[{"Text":"Which database?","Options":[{"Label":"SQLite"},{"Label":"PostgreSQL"}]}]}}`
	s.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", "Bearer "+s.device("bot", web.CanAsk))
	s.expect(202, "POST", "/conversations/c2/ask?dialect=bridge", named)
	for _, at := range []string{"c1", "c2"} {
		looked := make(chan string)
		go func() { looked <- s.expect(200, "GET", "/conversations/"+at+"/questions/toolu_1?wait=5m", "") }()
		require.Eventually(t, func() bool {
			r, err := s.board.Find(at, "toolu_1")
			return err == nil && r.Gone
		}, patience, 5*time.Millisecond)
		s.expect(200, "POST", "/conversations/"+at+"/respond?question=toolu_1", `{"answers":{"Which database?":"SQLite"}}`)
		require.Contains(t, <-looked, "SQLite")
	}
}

// A permission's answer names what was seen: another one may have taken its place, under its id.
func TestAPermissionIsAnsweredByItsRevision(t *testing.T) {
	s := newSite(t, hub.Options{})
	const at, body = "/conversations/c1/respond", `{"answers":["Allow"]}`
	first := s.askPermission("c1", "Run it?", "npm test")
	s.expect(200, "POST", "/conversations/c1/questions/toolu_c1/settle", `{"outcome":"failed","reason":"withdrawn"}`)
	r := s.askPermission("c1", "Run it?", "rm -rf /prod")
	for query, code := range map[string]int{"": 400, "?question=toolu_c1": 400, fmt.Sprintf("?question=toolu_c1&revision=%d", first.Revision): 412} {
		s.expect(code, "POST", at+query, body)
		s.expect(code, "POST", "/conversations/c1/cancel"+query, "")
	}
	s.expect(200, "POST", fmt.Sprintf("%s?question=toolu_c1&revision=%d", at, web.SeenOf(r)), body)
}

// Logins and links that a device made for another end with it.
func TestARemovedAdminLeavesNoLogins(t *testing.T) {
	s := newSite(t, hub.Options{})
	admin := s.device("boss", web.CanAdmin)
	code := func() string {
		return gjson.Get(s.expect(200, "POST", "/codes", `{"name":"owner"}`, "Authorization", "Bearer "+admin), "code").Str
	}
	logIn := func(code string) *http.Response {
		reply, _ := s.request("POST", "/login", url.Values{"code": {code}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded", "Origin", "null", "Sec-Fetch-Site", "same-origin", "Authorization", "")
		return reply
	}
	in := logIn(code())
	require.Len(t, in.Cookies(), 1)
	cookie := in.Cookies()[0].Name + "=" + in.Cookies()[0].Value
	s.expect(200, "GET", "/questions", "", "Authorization", "", "Cookie", cookie)
	unused := code()
	own := s.logIn(t, web.Owner) // by somebody at the machine
	require.NoError(t, s.access.Remove("boss"))
	s.expect(401, "GET", "/questions", "", "Authorization", "", "Cookie", cookie)
	require.Equal(t, 401, logIn(unused).StatusCode)
	s.expect(200, "GET", "/questions", "", "Authorization", "", "Cookie", own)
}

// leaver goes as soon as it has its outcome, as a hook does.
type leaver struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaver) Flush() {
	l.ResponseRecorder.Flush()
	l.leave()
}

// An asker that ends as soon as it has its outcome has it: the card says so.
func TestDeliveredToAnAskerThatLeaves(t *testing.T) {
	s := siteBeside(t)
	const asks = `{"asker":"p1","call":{"ID":"toolu_1","Questions":[{"Text":"Go on?"}]}}`
	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", asks)
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_1", `{"answers":["Yes"]}`)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, s.url+"/conversations/c1/ask?dialect=bridge&wait=1s", strings.NewReader(asks))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := leaver{httptest.NewRecorder(), leave}
	s.server.ServeHTTP(w, r)
	require.Equal(t, 200, w.Code, "%s", w.Body)
	require.Error(t, ctx.Err())
	require.Eventually(t, func() bool {
		return gjson.Get(s.expect(200, "GET", "/conversations/c1/questions/toolu_1", ""), "receipt").Str == "delivered"
	}, patience, 5*time.Millisecond, "a moment later")
}
