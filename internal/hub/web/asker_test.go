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

// Whoever can only ask cannot answer: what another process says of a question is
// nothing to the one that asks it.
func TestOnlyTheAskerTellsOfItsQuestion(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	const (
		at    = "/conversations/c1/questions/toolu_1"
		asks  = `","call":{"ID":"toolu_1","Questions":[{"Text":"Go on?","Options":[{"Label":"Yes"},{"Label":"No"}]}]}}`
		anna  = `{"outcome":"answered","by":"Anna","answers":[{"Selected":["Yes"]}]`
		asked = "/conversations/c1/ask?dialect=bridge&wait="
	)
	s.expect(202, "POST", asked+"0s", `{"asker":"p1`+asks)
	for _, other := range []string{`}`, `,"asker":"p2"}`} {
		s.expect(409, "POST", at+"/settle", anna+other)
	}
	// One that asks the same and speaks for its own user is not heard by the first.
	s.expect(202, "POST", asked+"0s", `{"asker":"p2`+asks)
	s.expect(200, "POST", at+"/settle", anna+`,"asker":"p2"}`)
	require.NotContains(t, s.expect(200, "GET", at, ""), `"Yes"`)
	s.expect(202, "POST", asked+"0s", `{"asker":"p1`+asks)
	open, _ := s.board.Waiting(10)
	require.Len(t, open, 1)
}

// Nor by one that waits meanwhile: what was said elsewhere is the word of who said it.
func TestWhatWasSaidElsewhereIsNoAnswer(t *testing.T) {
	end := hub.End{Outcome: "answered", Elsewhere: true, By: "Anna", Taker: "p2", Answers: []convert.Answer{{Text: "Yes"}}}
	require.Equal(t, convert.Answered, end.ResultFor("p2").Status)
	for _, other := range []string{"", "p1"} {
		require.Equal(t, convert.Failed, end.ResultFor(other).Status)
		require.Empty(t, end.ResultFor(other).Answers)
	}
	end.Taker = ""
	require.Equal(t, convert.Failed, end.ResultFor("").Status)
	end.Elsewhere = false
	require.Equal(t, convert.Answered, end.ResultFor("p1").Status)
}

// What became of an answer is for those to say who asked.
func TestOnlyTheAskerTellsOfItsAnswer(t *testing.T) {
	s := newSite(t, hub.Options{})
	const at = "/conversations/c1/questions/toolu_1"
	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", `{"asker":"p1","call":{"ID":"toolu_1","Questions":[{"Text":"Go on?"}]}}`)
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_1", `{"answers":["Yes"]}`)
	for _, said := range []string{`{"refused":"no"}`, `{"consumed":true}`, `{"refused":"no","asker":"p2"}`} {
		s.expect(409, "POST", at+"/received", said)
	}
	require.Equal(t, "accepted", gjson.Get(s.expect(200, "GET", at, ""), "receipt").Str)
	s.expect(200, "POST", at+"/received", `{"asker":"p1"}`)
	require.Equal(t, "delivered", gjson.Get(s.expect(200, "GET", at, ""), "receipt").Str)
	// A successor that has found it says so.
	s.expect(200, "POST", at+"/received", `{"consumed":true,"asker":"p2"}`)
	require.Equal(t, "consumed", gjson.Get(s.expect(200, "GET", at, ""), "receipt").Str)
}

// A phone that looks does not keep an agent there that is gone.
func TestALookIsNoAsker(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{Lease: 200 * time.Millisecond})
	bot, err := s.access.Add("bot", web.CanAsk)
	require.NoError(t, err)
	s.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", "Bearer "+bot)
	looked := make(chan string)
	go func() { looked <- s.requestStatus(200, "GET", "/conversations/c1/questions/toolu_1?wait=5m", "") }()
	require.Eventually(t, func() bool {
		r, err := s.board.Find("c1", "toolu_1")
		return err == nil && r.Gone
	}, patience, 5*time.Millisecond)
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_1", `{"answers":{"Which database?":"SQLite"}}`)
	require.Contains(t, <-looked, "SQLite")
}

// An answer without a name goes to what waits first, and a permission is too much for
// that: the one that was meant may have been answered a moment ago.
func TestAPermissionIsAnsweredByItsID(t *testing.T) {
	s := newSite(t, hub.Options{})
	r := s.askPermission("c1", "Run it?", "rm -rf /prod")
	s.expect(400, "POST", "/conversations/c1/respond", `{"answers":["Allow"]}`)
	require.True(t, r.Open())
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_c1", `{"answers":["Allow"]}`)
}

// Logins and links that a device made for another end with it.
func TestARemovedAdminLeavesNoLogins(t *testing.T) {
	s := newSite(t, hub.Options{})
	admin, err := s.access.Add("boss", web.CanAdmin)
	require.NoError(t, err)
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
	t.Parallel()
	s := newSite(t, hub.Options{})
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

// Who asks without an id, has its answer, and asks the same once more at once, asks
// something new. That answer is not for it.
func TestAskedOnceMoreAtOnce(t *testing.T) {
	s := newSite(t, hub.Options{})
	const asks = `{"asker":"p1","call":{"Questions":[{"Text":"Go on?"}]}}`
	for i := range 10 {
		at := fmt.Sprintf("/conversations/c%d", i)
		s.expect(202, "POST", at+"/ask?dialect=bridge", asks)
		s.expect(200, "POST", at+"/respond", `{"answers":["Yes"]}`)
		// The next one comes over another connection, which the hub reads at once.
		s.expect(200, "POST", at+"/ask?dialect=bridge", asks, "Connection", "close")
		s.expect(202, "POST", at+"/ask?dialect=bridge", asks, "Connection", "close")
	}
}
