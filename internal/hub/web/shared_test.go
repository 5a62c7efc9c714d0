package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// twoSites are two hubs on one NATS server.
func twoSites(t *testing.T) (one, two *site) {
	t.Helper()
	one, two, _ = twoSitesApart(t)
	return one, two
}

// twoSitesApart are two hubs on one NATS server, and what is between the second one
// and the server.
func twoSitesApart(t *testing.T) (one, two *site, between *netfault.Proxy) {
	t.Helper()
	n := netfault.NATS(t, 0)
	between = netfault.Between(t, n.ClientURL())
	start := func(url string) *site {
		store, board := boardOf(t, hub.Options{}, hubstore.Options{URL: url})
		beside := acptest.Must(store.Beside(t.Context(), "-access", "", 0))
		access := acptest.Must(web.OpenShared(t.Context(), beside, token, nil))
		t.Cleanup(access.Close)
		return serve(t, board, access, web.Options{})
	}
	return start(n.ClientURL()), start("nats://" + between.Addr()), between
}

// eventually asks until the status is that one.
func (s *site) eventually(status int, method, path, body string, headers ...string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		reply, _ := s.request(method, path, body, headers...)
		return reply.StatusCode == status
	}, time.Minute, 5*time.Millisecond)
}

// A device of one hub is a device of all, and so is its end: its streams and
// what it waits for end everywhere.
func TestDevicesOfSharedHubs(t *testing.T) {
	one, two := twoSites(t)
	bearer := "Bearer " + one.device("phone", web.CanAnswer)
	one.expect(200, "GET", "/questions", "", "Authorization", bearer)
	two.eventually(200, "GET", "/questions", "", "Authorization", bearer)
	require.ErrorContains(t, acptest.Err(two.access.Add("phone", web.CanAnswer)), "is there already")

	req := acptest.Must(http.NewRequestWithContext(t.Context(), "GET", two.url+"/events", nil))
	req.Header.Set("Authorization", bearer)
	stream := acptest.Must(http.DefaultClient.Do(req))
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	require.True(t, lines.Scan()) // it has begun
	require.NoError(t, one.access.Remove("phone"))
	for lines.Scan() {
	}
	require.NoError(t, lines.Err(), "the stream has an end")
	two.expect(401, "GET", "/questions", "", "Authorization", bearer)
	one.expect(401, "GET", "/questions", "", "Authorization", bearer)
}

// A link that one hub printed logs in at another, once in all; the cookie works
// at both until the browser logs out.
func TestLoginsOfSharedHubs(t *testing.T) {
	one, two := twoSites(t)
	code := acptest.Must(one.access.Code(web.Owner))
	plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	login := func(s *site, code string) *http.Response {
		req := acptest.Must(http.NewRequestWithContext(t.Context(), "POST", s.url+"/login", strings.NewReader("code="+code)))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", s.url)
		reply := acptest.Must(plain.Do(req))
		defer reply.Body.Close()
		page := acptest.Must(io.ReadAll(reply.Body))
		for _, c := range reply.Cookies() {
			knowsPage(c.Name+"="+c.Value, string(page))
		}
		return reply
	}
	// The second hub hears of the code in a moment.
	var in *http.Response
	require.Eventually(t, func() bool { in = login(two, code); return in.StatusCode == http.StatusOK }, time.Minute, 50*time.Millisecond)
	require.Equal(t, http.StatusUnauthorized, login(one, code).StatusCode, "a code works once")
	cookie := in.Cookies()[0]
	pair := cookie.Name + "=" + cookie.Value
	two.expect(200, "GET", "/questions", "", "Authorization", "", "Cookie", pair)
	one.eventually(200, "GET", "/questions", "", "Authorization", "", "Cookie", pair)
	one.expect(303, "POST", "/logout", "", browserOf(pair, one.url)...)
	two.eventually(401, "GET", "/questions", "", "Authorization", "", "Cookie", pair)
}

// Of hubs that change devices at the same time none undoes what another did.
func TestSharedHubsUndoNothing(t *testing.T) {
	one, two := twoSites(t)
	var wg sync.WaitGroup
	var both atomic.Int32
	for i, s := range []*site{one, two} {
		wg.Go(func() {
			for j := range 5 {
				_ = s.device(string(rune('a'+i))+string(rune('0'+j)), web.CanAsk)
			}
		})
		wg.Go(func() {
			if _, err := s.access.Add("same", web.CanAsk); err == nil {
				both.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, both.Load(), "one name is given once")
	for _, s := range []*site{one, two} {
		require.Eventually(t, func() bool { return len(s.access.List()) == 11 }, time.Minute, time.Millisecond)
	}
}

// Two processes that wait have a question each, also under one id: each gets its own answer.
func TestTwoThatWaitHaveTheirOwn(t *testing.T) {
	s, _ := twoSites(t)
	ask := func(asker string) (*hub.Record, <-chan int) {
		replied := make(chan int, 1)
		go func() {
			reply, _ := s.request("POST", "/conversations/c1/ask?dialect=bridge&wait=5m", `{"asker":"`+asker+`","call":{"ID":"toolu_1","Questions":[{"Text":"Go on?"}]}}`)
			replied <- reply.StatusCode
		}()
		var rec *hub.Record
		require.Eventually(t, func() bool {
			r, err := s.board.Find("c1", "toolu_1")
			rec = r
			return err == nil && rec.Asker == asker
		}, patience, 5*time.Millisecond)
		return rec, replied
	}
	one, first := ask("p1")
	two, second := ask("p2")
	require.NotEqual(t, one.Key(), two.Key())
	for rec, replied := range map[*hub.Record]<-chan int{one: first, two: second} {
		s.expect(200, "POST", fmt.Sprintf("/conversations/c1/respond?question=toolu_1&revision=%d", web.SeenOf(rec)), `{"answers":["Yes"]}`)
		require.Equal(t, 200, <-replied)
	}
	open, _ := s.board.Waiting(10)
	require.Empty(t, open)
}
