package web_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// A stream ends with the login that it came with, and no other one does.
func TestStreamsEndWithTheLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
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
	t.Parallel()
	s := newSite(t, hub.Options{})
	phone, err := s.access.Add("phone", web.CanAnswer)
	require.NoError(t, err)
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
