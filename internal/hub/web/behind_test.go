package web_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// behind runs a request at a hub that has not seen what was done last: it comes
// back to the others only after the request had time to go wrong.
func behind(between *netfault.Proxy, request func()) {
	done := make(chan struct{})
	go func() { defer close(done); request() }()
	select {
	case <-done:
	case <-time.After(300 * time.Millisecond):
	}
	between.Set(netfault.Pass)
	<-done
}

// A hub that is behind in one group denies nothing of it because it has seen the
// same names in another.
func TestBehindInOneGroup(t *testing.T) {
	t.Parallel()
	one, two, between := twoSitesApart(t)
	as := map[string]string{}
	for _, group := range []string{"red", "blue"} {
		as[group] = "Bearer " + one.device(group+"-bot", "ask", group)
		two.eventually(http.StatusNotFound, "GET", "/conversations/other", "", "Authorization", as[group])
	}
	one.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", as["red"])
	two.expect(200, "GET", "/conversations/c1/questions/toolu_1", "", "Authorization", as["red"])
	between.Set(netfault.LoseAll)
	one.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", as["blue"])
	behind(between, func() {
		two.expect(200, "POST", "/conversations/c1/questions/toolu_1/settle", `{"outcome":"cancelled"}`, "Authorization", as["blue"])
	})
	red := acptest.Must(one.board.FindRef(hub.Ref{Group: "red", Conversation: "c1", ID: "toolu_1"}))
	require.True(t, red.Open())
}

// Who answers without a group what another hub has shown answers nothing else,
// because that is all that this hub has seen.
func TestBehindNothingIsGuessed(t *testing.T) {
	t.Parallel()
	one, two, between := twoSitesApart(t)
	one.expect(202, "POST", "/conversations/c1/ask?group=red", database)
	two.expect(200, "GET", "/conversations/c1?group=red", "")
	between.Set(netfault.LoseAll)
	one.expect(202, "POST", "/conversations/c1/ask?group=blue", database)
	behind(between, func() {
		two.expect(400, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	})
	red := acptest.Must(one.board.FindRef(hub.Ref{Group: "red", Conversation: "c1", ID: "toolu_1"}))
	require.True(t, red.Open())
}

// What was asked last under an id is what an agent gets the outcome of, also at a
// hub that knows only of what was asked before.
func TestBehindAnotherQuestionUnderTheSameID(t *testing.T) {
	t.Parallel()
	one, two, between := twoSitesApart(t)
	one.expect(202, "POST", "/conversations/c1/ask", database)
	two.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	between.Set(netfault.LoseAll)
	other := strings.ReplaceAll(database, "Which database?", "Drop which database?")
	one.expect(202, "POST", "/conversations/c1/ask", other)
	behind(between, func() {
		said := two.expect(200, "GET", "/conversations/c1/questions/toolu_1?group=owner", "")
		require.Contains(t, said, "Drop which database?")
		require.NotContains(t, said, "answered")
	})
	// And who waits there gets no end that is none.
	between.Set(netfault.LoseAll)
	one.expect(202, "POST", "/conversations/c1/ask", strings.ReplaceAll(database, "Which database?", "Then which?"))
	behind(between, func() {
		for end := time.Now().Add(patience); ; { // on a busy machine it may be behind for longer than that
			said := two.expect(200, "GET", "/conversations/c1/questions/toolu_1?group=owner&wait=3s", "")
			require.Equal(t, "awaiting_user_response", gjson.Get(said, "state.type").Str, said)
			if strings.Contains(said, "Then which?") {
				return
			}
			require.True(t, time.Now().Before(end), said)
		}
	})
}

// A form that another hub has shown can be sent to any.
func TestBehindForm(t *testing.T) {
	t.Parallel()
	one, two, between := twoSitesApart(t)
	cookie := one.logIn(t, web.Owner)
	browser := append(browserOf(cookie, two.url), "Content-Type", "application/x-www-form-urlencoded")
	two.eventually(http.StatusOK, "GET", "/", "", "Authorization", "", "Cookie", cookie)
	between.Set(netfault.LoseAll)
	one.expect(202, "POST", "/conversations/c1/ask", database)
	r := one.find("c1", "toolu_1")
	form := url.Values{"conversation": {"YzE"}, "question": {"dG9vbHVfMQ"}, "revision": {strconv.FormatUint(r.Revision, 10)}, "asked": {r.Fingerprint()}, "a0": {"1"}}
	behind(between, func() { two.expect(303, "POST", "/answer", form.Encode(), browser...) })
	r = two.find("c1", "toolu_1")
	require.Equal(t, "SQLite", r.End.Answers[0].Selected[0])
}
