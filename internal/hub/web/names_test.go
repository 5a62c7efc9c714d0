package web_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// An answer for a question whose name is passed over goes to another one. So what
// changes something takes no name that it does not know: in its query, in its body,
// twice, or in other letters.
func TestUnknownNamesChangeNothing(t *testing.T) {
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	open := s.find("c1", "toolu_1")
	const jsonKind, formKind = "application/json", "application/x-www-form-urlencoded"
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm("toolu_1")}, "revision": {fmt.Sprint(open.Revision)}, "asked": {open.Fingerprint()}, "a0": {"0"}}.Encode()
	samples := map[string]struct{ path, kind, body string }{
		"POST /answer":                     {"/answer", formKind, form},
		"POST /page":                       {"/page", formKind, ""},
		"POST /dismiss":                    {"/dismiss", formKind, "these=q0"},
		"POST /login":                      {"/login", formKind, "token=" + token},
		"POST /logout":                     {"/logout", formKind, ""},
		"POST /conversations/{id}/ask":     {"/conversations/c1/ask?dialect=bridge", jsonKind, `{"kind":"question","call":{"ID":"x","Questions":[{"Text":"Go?"}]}}`},
		"POST /conversations/{id}/left":    {"/conversations/c1/left", jsonKind, `{"kind":"question","call":{"ID":"x","Questions":[{"Text":"Go?"}]}}`},
		"POST /conversations/{id}/respond": {"/conversations/c1/respond", jsonKind, `{"answers":{"Which database?":"SQLite"}}`},
		"POST /conversations/{id}/cancel":  {"/conversations/c1/cancel", jsonKind, "{}"},
		"POST /conversations/{id}/questions/{question}/settle":   {"/conversations/c1/questions/toolu_1/settle", jsonKind, `{"outcome":"cancelled"}`},
		"POST /conversations/{id}/questions/{question}/received": {"/conversations/c1/questions/toolu_1/received", jsonKind, `{"consumed":true}`},
		"POST /conversations/{id}/turn":                          {"/conversations/c1/turn", jsonKind, `{"event":"done"}`},
		"POST /hooks/claude":                                     {"/hooks/claude", jsonKind, `{"hook_event_name":"Stop","session_id":"c1234567"}`},
		"POST /away":                                             {"/away", jsonKind, `{"away":true}`},
		"POST /push":                                             {"/push", jsonKind, `{"endpoint":"https://push.example/x","keys":{"p256dh":"x","auth":"y"}}`},
		"POST /act":                                              {"/act", jsonKind, `{"pick":0,"token":"x"}`},
		"DELETE /push":                                           {"/push", jsonKind, `{"endpoint":"https://push.example/x"}`},
		"DELETE /history":                                        {"/history?by=nobody", jsonKind, ""},
		"POST /devices":                                          {"/devices", jsonKind, `{"name":"phone","can":"answer"}`},
		"DELETE /devices/{name}":                                 {"/devices/phone", jsonKind, ""},
		"POST /codes":                                            {"/codes", jsonKind, `{"name":"owner"}`},
		"POST /phones":                                           {"/phones", jsonKind, "{}"},
		"POST /lan":                                              {"/lan", jsonKind, `{"on":true}`},
	}
	refused := func(t *testing.T, pattern, method, path, body string, headers []string, why string) {
		t.Helper()
		reply, data := s.request(method, path, body, headers...)
		require.Equal(t, 400, reply.StatusCode, "%s: %s", pattern, data)
		require.Contains(t, data, why, pattern)
	}
	const agents = "POST /hooks/claude" // an agent says what is in its body, and will say more
	for _, pattern := range s.server.Changing() {
		c, ok := samples[pattern]
		require.True(t, ok, "%s has no sample", pattern)
		delete(samples, pattern)
		method, _, _ := strings.Cut(pattern, " ")
		headers := []string{"Origin", s.url, "Accept", jsonKind, "Content-Type", c.kind}
		for _, name := range []string{"Question", "tool_use_id", "questionID", "x"} {
			mark := "?"
			if strings.Contains(c.path, "?") {
				mark = "&"
			}
			refused(t, pattern, method, c.path+mark+name+"=toolu_1", c.body, headers, name)
			if pattern == agents {
				continue
			}
			body := url.Values{name: {"toolu_1"}}.Encode() + "&" + c.body
			if c.kind == jsonKind {
				body = strings.TrimSuffix(strings.TrimPrefix(c.body, "{"), "}")
				body = `{"` + name + `":"toolu_1"` + strings.Repeat(",", min(len(body), 1)) + body + "}"
			}
			refused(t, pattern, method, c.path, body, headers, name)
		}
		if first, rest, ok := strings.Cut(c.body, ":"); ok && c.kind == jsonKind && pattern != agents {
			refused(t, pattern, method, c.path, first+":null,"+strings.TrimPrefix(first, "{")+":"+rest, headers, "got two")
			refused(t, pattern, method, c.path, strings.ToUpper(first)+":"+rest, headers, "unknown")
		}
	}
	require.Empty(t, samples, "no such route")
	require.Equal(t, open, s.find("c1", "toolu_1"))
	require.Len(t, s.board.Conversations(), 1)
	require.Empty(t, s.access.List())
	for _, c := range []struct{ path, body string }{
		{"/conversations/c1/respond", `{"answers":{"Which database?":{"Selected":["SQLite"],"nOte":"x"}}}`},
		{"/conversations/c1/respond", `{"answers":{"Which database?":{"selected":["SQLite"],"selected":["PostgreSQL"]}}}`},
		{"/conversations/c1/respond", `{"answers":{"Which database?":"SQLite","Which database?":"PostgreSQL"}}`},
		{"/conversations/c1/ask?dialect=bridge", `{"kind":"question","call":{"ID":"x","Question":[],"Questions":[{"Text":"Go?"}]}}`},
	} {
		s.expect(400, "POST", c.path, c.body)
	}
	for _, change := range []string{"a1=0", "t7=x", "do=Cancel", "do=cancel&do=answer", "asked=x"} {
		s.expect(400, "POST", "/answer", form+"&"+change, "Content-Type", formKind, "Accept", jsonKind, "Origin", s.url)
	}
	s.stillOpen(t)
}
