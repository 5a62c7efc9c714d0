package web_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// Browsers send a cookie to every port of a host, and so to what an agent serves
// there. Whoever has it can look, and can neither change anything nor find what the
// page knows.
func TestACookieAloneChangesNothing(t *testing.T) {
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	stolen, other := s.logIn(t, web.Owner), s.logIn(t, web.Owner)
	mine, _ := secrets.Load(stolen)
	for _, secret := range []string{"", "x", browserOf(other, s.url)[7]} {
		for _, r := range routes {
			if r.method == "GET" || r.path == "/login" {
				continue
			}
			kind, body := "application/json", r.body
			if r.path == "/answer" || r.path == "/logout" {
				kind, body = "application/x-www-form-urlencoded", "page="+url.QueryEscape(secret)
			}
			s.expect(403, r.method, r.path, body, "Authorization", "", "Cookie", stolen, "Origin", s.url, "Content-Type", kind, "Acp-Bridge-Page", secret)
		}
	}
	for _, r := range routes {
		if r.method != "GET" || strings.HasSuffix(r.path, "/events") {
			continue
		}
		for _, accept := range []string{"text/html", "application/json"} {
			_, data := s.request("GET", r.path, "", "Authorization", "", "Cookie", stolen, "Accept", accept)
			require.NotContains(t, data, mine, r.path)
		}
	}
	s.stillOpen(t)
	s.expect(200, "POST", "/conversations/c1/cancel", "", browserOf(stolen, s.url)...)
}

// Without scripts, what the page knows goes from form to form.
func TestAPageWithoutScripts(t *testing.T) {
	s := siteBeside(t)
	rec := s.ask("c1", db)
	cookie := s.logIn(t, web.Owner)
	secret, _ := secrets.Load(cookie)
	browser := []string{"Authorization", "", "Cookie", cookie, "Origin", s.url, "Content-Type", "application/x-www-form-urlencoded"}
	known := "page=" + secret.(string)
	require.Contains(t, s.expect(200, "POST", "/page", known, browser...), `name="page" value="`+secret.(string)+`"`)
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm(rec.ID)}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()}}.Encode()
	problem := s.expect(400, "POST", "/answer", form+"&"+known, browser...)
	require.Contains(t, problem, `name="page" value="`+secret.(string)+`"`, "it can be mended")
	require.Contains(t, s.expect(200, "POST", "/answer", form+"&a0=1&"+known, browser...), "Your answer was accepted.")
	require.Equal(t, "SQLite", s.find(rec.Conversation, rec.ID).End.Answers[0].Selected[0])
	s.expect(303, "POST", "/logout", known, browser...)
	s.expect(401, "GET", "/questions", "", "Authorization", "", "Cookie", cookie)
}

// A stream ends with the login that it came with, and no other one does.
func TestStreamsEndWithTheLogin(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	browser := func(cookie string) []string {
		return append(browserOf(cookie, s.url), "Sec-Fetch-Site", "same-origin")
	}
	left, stays := s.logIn(t, web.Owner), s.logIn(t, web.Owner)
	leftNext, _ := s.stream("/events", browser(left)...)
	staysNext, _ := s.stream("/events", browser(stays)...)
	_, ok := leftNext()
	require.True(t, ok)
	_, ok = staysNext()
	require.True(t, ok)
	s.expect(303, "POST", "/logout", "", browser(left)...)
	_, ok = leftNext()
	require.False(t, ok)
	s.expect(200, "POST", "/conversations/c1/cancel", "")
	_, ok = staysNext()
	require.True(t, ok)
}

// However often a device logs in, the logins of others stay.
func TestLoginsOfOneDevice(t *testing.T) {
	s := siteBeside(t)
	phone := s.device("phone", web.CanAnswer)
	owner, first := s.logIn(t, web.Owner), s.logIn(t, "phone")
	cookie := ""
	for range 50 {
		reply, _ := s.request("POST", "/login", url.Values{"token": {phone}}.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Origin", s.url, "Authorization", "")
		require.Equal(t, 200, reply.StatusCode)
		cookie = reply.Cookies()[0].Name + "=" + reply.Cookies()[0].Value
	}
	s.expect(200, "GET", "/cards", "", "Authorization", "", "Cookie", owner)
	s.expect(200, "GET", "/cards", "", "Authorization", "", "Cookie", cookie)
	s.expect(401, "GET", "/cards", "", "Authorization", "", "Cookie", first)
}
