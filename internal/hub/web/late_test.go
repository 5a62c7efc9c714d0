package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// hold sends a request but for the last byte of its body, and returns what sends
// that and reads the reply.
func (s *site) hold(method, path, body string, headers ...string) (finish func() *http.Response) {
	s.t.Helper()
	c := acptest.Must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
	s.t.Cleanup(func() { c.Close() })
	var lines strings.Builder
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&lines, "%s: %s\r\n", headers[i], headers[i+1])
	}
	acptest.Must(fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", method, path, lines.String(), len(body), body[:len(body)-1]))
	return func() *http.Response {
		acptest.Must(c.Write([]byte(body[len(body)-1:])))
		return acptest.Must(http.ReadResponse(bufio.NewReader(c), nil))
	}
}

// What a device may do is what it may do when it is done: not when the headers of
// its request came.
func TestARightThatEndsBeforeTheBody(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(202, "POST", "/conversations/over/ask", database)
	s.expect(200, "POST", "/conversations/over/respond", `{"answers":{"Which database?":"SQLite"}}`)
	open := s.find("c1", "toolu_1")
	over := s.find("over", "toolu_1")
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm("toolu_1")}, "revision": {fmt.Sprint(open.Revision)}, "asked": {open.Fingerprint()}, "a0": {"0"}}.Encode()
	const jsonKind, formKind = "application/json", "application/x-www-form-urlencoded"
	requests := []struct{ method, path, kind, body string }{
		{"POST", "/conversations/c1/respond", jsonKind, `{"answers":{"Which database?":"SQLite"}}`},
		{"POST", "/conversations/c1/cancel", jsonKind, "{}"},
		{"POST", "/conversations/c9/ask", jsonKind, database},
		{"POST", "/answer", formKind, form},
		{"POST", "/devices", jsonKind, `{"name":"mine","can":"admin"}`},
		{"DELETE", "/devices/phone", jsonKind, "{}"},
		{"POST", "/codes", jsonKind, `{"name":"owner"}`},
		{"DELETE", "/history?by=owner", jsonKind, "{}"},
		{"POST", "/push", jsonKind, `{"endpoint":"https://push.example/x","keys":{"p256dh":"x","auth":"y"}}`},
	}
	_ = s.device("phone", web.CanAnswer)
	for name, end := range map[string]func(token, cookie string){
		"removed": func(string, string) { require.NoError(t, s.access.Remove("admin")) },
		"another of its name": func(string, string) {
			require.NoError(t, s.access.Remove("admin"))
			_ = s.device("admin", web.CanAdmin)
		},
		"logged out": func(_, cookie string) { s.expect(303, "POST", "/logout", "", browserOf(cookie, s.url)...) },
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			token := s.device("admin", web.CanAdmin)
			cookie := s.logIn(t, "admin")
			var finish []func() *http.Response
			for _, r := range requests {
				with := []string{"Authorization", "Bearer " + token, "Content-Type", r.kind}
				if name == "logged out" {
					with = append(browserOf(cookie, "http://localhost")[2:], "Content-Type", r.kind)
				}
				finish = append(finish, s.hold(r.method, r.path, r.body, with...))
			}
			end(token, cookie)
			for i, f := range finish {
				reply := f()
				reply.Body.Close()
				require.Equal(t, 401, reply.StatusCode, requests[i].path)
			}
			_ = s.access.Remove("admin")
		})
	}
	s.t = t
	for _, want := range []*hub.Record{open, over} {
		require.Equal(t, want, s.find(want.Conversation, want.ID))
	}
	require.Len(t, s.board.Conversations(), 2)
	require.Len(t, s.access.List(), 1)
}

// A hub that is cut off from NATS changes nothing, and when it is back, who was
// removed elsewhere meanwhile has no right there either.
func TestARightThatEndsWhereTheHubIsCutOff(t *testing.T) {
	t.Parallel()
	one, two, between := twoSitesApart(t)
	phone := one.device("phone", web.CanAnswer)
	admin := one.device("admin", web.CanAdmin)
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	one.expect(202, "POST", "/conversations/c1/ask", database)
	two.eventually(200, "GET", "/conversations/c1", "", as(phone)...)
	two.eventually(200, "GET", "/devices", "", as(admin)...)
	between.Set(netfault.LoseAll)
	require.NoError(t, one.access.Remove("phone"))
	require.NoError(t, one.access.Remove("admin"))
	behind(between, func() {
		done := make(chan int, 3)
		for _, r := range []struct{ method, path, body, token string }{
			{"POST", "/conversations/c1/respond?question=toolu_1&group=owner", `{"answers":{"Which database?":"SQLite"}}`, phone},
			{"POST", "/conversations/c1/cancel?question=toolu_1&group=owner", "", phone},
			{"POST", "/devices", `{"name":"mine","can":"admin"}`, admin},
		} {
			go func() {
				reply, _ := two.request(r.method, r.path, r.body, as(r.token)...)
				done <- reply.StatusCode
			}()
		}
		for range 3 {
			require.Contains(t, []int{401, 503}, <-done)
		}
	})
	require.True(t, one.find("c1", "toolu_1").Open())
	require.Empty(t, one.access.List())
}

// What another hub was told before counts for all that is written, also where it was
// not heard of yet: watching is not what makes it so.
func TestARightThatEndedElsewhere(t *testing.T) {
	t.Parallel()
	one, two, _ := twoSitesApart(t)
	bot := one.device("bot", web.CanAsk)
	phone := one.device("phone", web.CanAnswer)
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	for _, c := range []string{"open", "over"} {
		one.expect(202, "POST", "/conversations/"+c+"/ask", database, as(bot)...)
	}
	one.expect(200, "POST", "/conversations/over/respond", `{"answers":{"Which database?":"SQLite"}}`)
	for _, c := range []string{"open", "over"} {
		two.eventually(200, "GET", "/conversations/"+c, "", as(bot)...)
		two.eventually(200, "GET", "/conversations/"+c, "", as(phone)...)
	}
	two.access.Close() // it hears of nothing more
	require.NoError(t, one.access.Remove("phone"))
	require.NoError(t, one.access.Remove("bot"))
	for _, r := range []struct{ path, body, token string }{
		{"/conversations/new/ask", database, bot},
		{"/conversations/open/ask", strings.ReplaceAll(database, "Which database?", "Which one?"), bot},
		{"/conversations/open/questions/toolu_1/settle", `{"outcome":"cancelled"}`, bot},
		{"/conversations/over/questions/toolu_1/received", "{}", bot},
		{"/conversations/over/questions/toolu_1/received", `{"consumed":true}`, bot},
		{"/conversations/over/questions/toolu_1/received", `{"refused":"no"}`, bot},
		{"/conversations/open/respond", `{"answers":{"Which database?":"SQLite"}}`, phone},
		{"/conversations/open/cancel", "", phone},
	} {
		two.expect(401, "POST", r.path, r.body, as(r.token)...)
	}
	require.True(t, one.find("open", "toolu_1").Open())
	require.Equal(t, "accepted", one.find("over", "toolu_1").End.Receipt())
	require.Len(t, one.board.Conversations(), 2)
}

// An answer that was allowed, and lay in a network that stood still while its device was
// removed elsewhere, does not count when the network goes on.
func TestARightThatEndsWhileTheAnswerIsUnderWay(t *testing.T) {
	t.Parallel()
	one, two, between := twoSitesApart(t)
	phone := one.device("phone", web.CanAnswer)
	one.expect(202, "POST", "/conversations/c1/ask", database)
	two.eventually(200, "GET", "/conversations/c1", "", "Authorization", "Bearer "+phone)
	ref := hub.Ref{Conversation: "c1", ID: "toolu_1"}
	checks, release := 0, func() {}
	something, held := make(<-chan struct{}), make(chan struct{})
	ref.May = func(context.Context) error {
		if checks++; checks > 1 {
			return hub.ErrRight
		}
		something, release = between.Hold()
		close(held)
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- acptest.Err(two.board.Cancel(t.Context(), ref, "phone")) }()
	<-held
	<-something
	require.NoError(t, one.access.Remove("phone"))
	release()
	require.ErrorIs(t, <-done, hub.ErrRight)
	require.True(t, one.find("c1", "toolu_1").Open())
}

// Whoever has removed a device, or ended a login, can rely on it: what had been allowed
// by then is written by then, too.
func TestARemovalWaitsForWhatWasAllowed(t *testing.T) {
	s := siteBeside(t)
	for name, end := range map[string]func() error{
		"removed": func() error { return s.access.Remove("phone") },
		"changed": func() error { return s.access.SetOwner(token + "-new") },
	} {
		t.Run(name, func(t *testing.T) {
			_ = s.device("phone", web.CanAnswer)
			before := s.access.Written()
			ask := func(id string) *hub.Record {
				return acptest.Must(s.board.Ask(t.Context(), hub.Asking{Conversation: name, Call: convert.Call{ID: id, Questions: []convert.Question{{Text: "Go?"}}}}))
			}
			ask("q")
			later := make(chan *hub.Record, 1)
			ref := hub.Ref{Conversation: name, ID: "q", May: func(context.Context) error {
				go func() {
					require.NoError(t, end())
					later <- ask("later")
				}()
				require.Eventually(t, func() bool { return s.access.Written() > before }, patience, time.Millisecond)
				return nil
			}}
			r := acptest.Must(s.board.Cancel(t.Context(), ref, "phone"))
			require.Less(t, r.Revision, (<-later).Revision)
			_ = s.access.Remove("phone")
		})
	}
}

// Under an id that is used again, an answer to what stood there before is late: it is not
// judged by what stands there now, nor taken for what the same person said to that.
func TestALateAnswerToAnIDThatIsUsedAgain(t *testing.T) {
	s := newSite(t, hub.Options{})
	ask := func(kind, text string) *hub.Record {
		r := acptest.Must(s.board.Ask(t.Context(), hub.Asking{Conversation: "c", Kind: kind, Dialect: "bridge", Asker: "p", Detail: text,
			Call: convert.Call{ID: "toolu_1", Questions: []convert.Question{{Text: text, Closed: true, Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}}))
		return r
	}
	mark := ""
	answer := func(r *hub.Record) int {
		form := url.Values{"conversation": {inForm("c")}, "question": {inForm("toolu_1")}, "revision": {fmt.Sprint(r.Revision)}, "asked": {r.Fingerprint()}, "a0": {"0"}}
		if r.Kind == "permission" {
			form.Set("seen", mark)
		}
		reply, _ := s.request("POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
		return reply.StatusCode
	}
	before := ask("question", "Is it red?")
	after := ask("permission", "May I paint it?")
	mark = regexp.MustCompile(`data-seen="(\w+)"`).FindStringSubmatch(s.expect(200, "GET", "/", ""))[1]
	require.Equal(t, http.StatusOK, answer(after))
	require.Equal(t, http.StatusOK, answer(after), "said twice")
	require.Equal(t, http.StatusPreconditionFailed, answer(before), "nobody has accepted this")
}
