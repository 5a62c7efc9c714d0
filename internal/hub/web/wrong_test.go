package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// What goes wrong is a page for people, whatever they did, and JSON for programs.
func TestErrorsArePagesForPeople(t *testing.T) {
	s := siteBeside(t)
	bot := s.device("bot", web.CanMeasure)
	cookie := s.logIn(t, web.Owner)
	s.expect(200, "HEAD", "/conversations", "", "Authorization", "", "Cookie", cookie)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	with := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for _, c := range []struct {
		name         string
		method, path string
		headers      []string
		status       int
		says         string
	}{
		{"an address with nothing at it", "GET", "/nothing", nil, 404, "There is nothing at this address."},
		{"one that is not clean", "GET", "/a//b", nil, 404, "There is nothing at this address."},
		{"a name that is not the hub's", "GET", "/", []string{"Host", "elsewhere.example"}, 421, "This hub is not called"},
		{"a form of another site", "POST", "/login", with(form, []string{"Origin", "http://evil.example"}), 403, "This request comes from another site."},
		{"a login that says not where it comes from", "POST", "/login", form, 403, "This request does not say where it comes from."},
		{"a login with more than it takes", "POST", "/login?x=1", with(form, []string{"Origin", s.url}), 400, "unknown parameter"},
		{"a wrong code", "POST", "/login", with(form, []string{"Origin", s.url}), 401, "That code or token does not work."},
		{"a form after the login has ended", "POST", "/answer", with(form, []string{"Origin", s.url, "Authorization", "", "Cookie", "none=1"}), 401, "Log in"},
		{"a form of a page that has lost its login", "POST", "/answer", with(form, []string{"Origin", s.url, "Authorization", "", "Cookie", cookie}), 403, "This page has lost its login."},
		{"a device that may not look", "GET", "/", []string{"Authorization", "Bearer " + bot}, 403, "may not do this"},
		{"a form that answers nothing", "POST", "/answer", with(form, []string{"Origin", s.url}), 400, "The form does not say which question it answers."},
		{"a method that is not taken", "POST", "/history", []string{"Origin", s.url}, 405, "This address takes GET"},
	} {
		reply, body := s.request(c.method, c.path, "", append(c.headers, "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")...)
		require.Equal(t, c.status, reply.StatusCode, "%s: %s", c.name, body)
		require.Contains(t, reply.Header.Get("Content-Type"), "text/html", c.name)
		require.Contains(t, body, c.says, c.name)
		require.Contains(t, body, "<h1>", c.name)
		reply, body = s.request(c.method, c.path, "", append(c.headers, "Accept", "*/*")...)
		require.Equal(t, c.status, reply.StatusCode, c.name)
		if c.path != "/login" || c.status != 401 { // nothing but a browser logs in
			require.Contains(t, body, `"error"`, c.name)
		}
	}
}
