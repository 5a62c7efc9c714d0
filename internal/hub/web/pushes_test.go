package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// wanting is a subscription that says what it wants to be told of.
func (b *browser) wanting(kinds string) string {
	return strings.TrimSuffix(b.subscription(), "}") + `,"kinds":` + kinds + "}"
}

// buttons of a push, by their words: what the worker posts for each.
func buttonsOf(t *testing.T, said map[string]any) map[string]string {
	t.Helper()
	list, _ := said["actions"].([]any)
	posts := map[string]string{}
	for _, one := range list {
		a := one.(map[string]any)
		body := map[string]any{"token": a["token"]}
		maps.Copy(body, said["ref"].(map[string]any))
		raw := acptest.Must(json.Marshal(body))
		posts[a["title"].(string)] = strings.TrimSuffix(string(raw), "}") + `,"pick":` + a["action"].(string) + "}"
	}
	return posts
}

// A push has buttons only where it shows all that they decide, and never one that
// permits more than that.
func TestButtonsOfAPushDecideWhatItShows(t *testing.T) {
	s, service := pushSiteBeside(t)
	s.expect(200, "GET", "/push", "")
	b := newBrowser(t, service.URL+"/b")
	s.expect(200, "POST", "/push", b.wanting(`["question","text"]`))
	pushed := func(r *hub.Record) map[string]any {
		s.server.Push(t.Context(), r, "abc", web.PushQuestion, false)
		return b.open((<-service.got).body)
	}
	ls := func(input map[string]any) func() *hub.Record {
		return func() *hub.Record { return s.permit("c", "Bash", "execute", "Bash", input) }
	}
	yesNo := []convert.Option{{Label: "Yes"}, {Label: "No"}}
	question := func(q ...convert.Question) func() *hub.Record {
		return func() *hub.Record { return s.ask("c", q...) }
	}
	for name, c := range map[string]struct {
		ask  func() *hub.Record
		text string
		want []string
	}{
		"a short command":                 {ls(map[string]any{"command": "npm test", "description": "Run the tests"}), "npm test", []string{"Allow", "Reject"}},
		"a long one":                      {ls(map[string]any{"command": "echo " + strings.Repeat("x", 100)}), "Open it", nil},
		"two lines":                       {ls(map[string]any{"command": "ls\nrm -rf /"}), "Open it", nil},
		"spaces that push":                {ls(map[string]any{"command": "ls      ; rm -rf /"}), "Open it", nil},
		"letters that look like others":   {ls(map[string]any{"command": "сurl example.com"}), "Open it", nil},
		"a command that is not all of it": {ls(map[string]any{"command": "npm test", "dangerouslyDisableSandbox": true}), "Open it", nil},
		"an edit": {func() *hub.Record {
			return s.permit("c", "Edit", "edit", "Edit a", map[string]any{"file_path": "a", "old_string": "a", "new_string": "b"})
		}, "Open it", nil},
		"a fetch": {func() *hub.Record {
			return s.permit("c", "WebFetch", "fetch", "Fetch", map[string]any{"url": "https://a.example", "prompt": "x"})
		}, "Open it", nil},
		"a plan": {func() *hub.Record {
			return s.permit("c", "ExitPlanMode", "switch_mode", "Ready to code?", map[string]any{"plan": "ls"})
		}, "Open it", nil},
		"a question with two options":       {question(convert.Question{Text: "Go on?", Options: yesNo}), "Go on?", []string{"Yes", "No"}},
		"with what they mean":               {question(convert.Question{Text: "Go on?", Options: []convert.Option{{Label: "Yes", Description: "and push"}, {Label: "No"}}}), "Go on?\nYes: and push", []string{"Yes", "No"}},
		"with three":                        {question(convert.Question{Text: "Go on?", Options: append(yesNo, convert.Option{Label: "Later"})}), "Go on?", nil},
		"with several picks":                {question(convert.Question{Text: "Go on?", Options: yesNo, MultiSelect: true}), "Go on?", nil},
		"with a preview":                    {question(convert.Question{Text: "Go on?", Options: []convert.Option{{Label: "Yes", Preview: "x"}, {Label: "No"}}}), "Go on?", nil},
		"two questions":                     {question(convert.Question{Text: "Go on?", Options: yesNo}, convert.Question{Text: "And?", Options: yesNo}), "Go on?", nil},
		"a question that is long":           {question(convert.Question{Text: strings.Repeat("word ", 50), Options: yesNo}), "word", nil},
		"a question with turned text":       {question(convert.Question{Text: "Go \u202eno?", Options: yesNo}), "Go", nil},
		"an option with turned text":        {question(convert.Question{Text: "Go on?", Options: []convert.Option{{Label: "Y\u202ees"}, {Label: "No"}}}), "Go on?", nil},
		"a question without options at all": {question(convert.Question{Text: "Go on?"}), "Go on?", nil},
	} {
		t.Run(name, func(t *testing.T) {
			said := pushed(c.ask())
			require.Contains(t, said["text"], c.text)
			require.Contains(t, said["title"], "Claude Code")
			posts := buttonsOf(t, said)
			var got []string
			for _, title := range c.want {
				if posts[title] != "" {
					got = append(got, title)
				}
			}
			require.Equal(t, c.want, got)
			require.Len(t, posts, len(c.want))
			acptest.Must(s.board.Cancel(t.Context(), s.find("c", "").Ref(), "owner"))
		})
	}
}

// A button answers its asking, once, for the browser that was told and as long as its
// login holds. What is not a button's is refused, and leaves the asking open.
func TestAButtonOfAPush(t *testing.T) {
	s, service := pushSiteBeside(t)
	_ = s.device("phone", web.CanAnswer)
	cookie := s.logIn(t, "phone")
	worker := []string{"Authorization", "", "Cookie", cookie, "Origin", s.url, "Sec-Fetch-Site", "same-origin"} // it has no secret of the page
	s.expect(200, "GET", "/push", "", worker...)
	b := newBrowser(t, service.URL+"/b")
	s.expect(200, "POST", "/push", b.wanting(`["question","text"]`), browserOf(cookie, s.url)...)
	r := s.permit("c", "Bash", "execute", "Bash", map[string]any{"command": "npm test"})
	s.server.Push(t.Context(), r, "abc", web.PushQuestion, false)
	posts := buttonsOf(t, b.open((<-service.got).body))

	other := s.logIn(t, "phone")
	for why, c := range map[string]struct {
		body string
		as   []string
		code int
	}{
		"another pick":         {strings.Replace(posts["Allow"], `"pick":0`, `"pick":1`, 1), worker, 403},
		"another revision":     {strings.Replace(posts["Allow"], fmt.Sprintf(`"revision":%d`, r.Revision), `"revision":999`, 1), worker, 403},
		"another conversation": {strings.Replace(posts["Allow"], `"conversation":"`, `"conversation":"x`, 1), worker, 403},
		"another login":        {posts["Allow"], []string{"Authorization", "", "Cookie", other, "Origin", s.url}, 403},
		"no login":             {posts["Allow"], []string{"Authorization", "", "Origin", s.url}, 401},
		"another site":         {posts["Allow"], []string{"Authorization", "", "Cookie", cookie, "Origin", "https://evil.example"}, 403},
		"the owner's token":    {posts["Allow"], nil, 403},
	} {
		reply, body := s.request("POST", "/act", c.body, c.as...)
		require.Equal(t, c.code, reply.StatusCode, "%s: %s", why, body)
		require.True(t, s.find("c", r.ID).Open(), why)
	}
	s.expect(403, "POST", "/conversations/c/respond", `{"answers":{"Bash":"Allow"}}`, worker...)
	require.JSONEq(t, `{"accepted":true}`, s.expect(200, "POST", "/act", posts["Allow"], worker...))
	require.Equal(t, []string{"Allow"}, s.find(r.Conversation, r.ID).End.Answers[0].Selected)
	s.expect(409, "POST", "/act", posts["Reject"], worker...)

	// What is asked in the same words is another asking.
	s.permit("c", "Bash", "execute", "Bash", map[string]any{"command": "npm test"}, func(a *hub.Asking) { a.Call.ID = "again" })
	s.expect(409, "POST", "/act", posts["Reject"], worker...)
	_, total := s.board.Waiting(9)
	require.Equal(t, 1, total)
}

// A browser is told of what its person wants, and of no more; without "text" it has no
// words and no buttons.
func TestKindsOfPushes(t *testing.T) {
	s, service := pushSiteBeside(t)
	s.expect(200, "GET", "/push", "")
	browsers := map[string]*browser{}
	for name, kinds := range map[string]string{"plain": `null`, "late": `["waiting"]`, "both": `["question","waiting"]`, "ends": `["done","failed","text"]`} {
		browsers["/"+name] = newBrowser(t, service.URL+"/"+name)
		s.expect(200, "POST", "/push", browsers["/"+name].wanting(kinds))
	}
	s.expect(400, "POST", "/push", browsers["/plain"].wanting(`["all"]`))
	r := s.permit("c", "Bash", "execute", "Bash", map[string]any{"command": "npm test"})
	told := func(n int) map[string]map[string]any {
		got := map[string]map[string]any{}
		for range n {
			p := <-service.got
			got[p.path] = browsers[p.path].open(p.body)
		}
		require.Empty(t, service.got)
		return got
	}
	names := func(m map[string]map[string]any) (list []string) {
		for _, name := range []string{"/plain", "/late", "/both", "/ends"} {
			if m[name] != nil {
				require.Empty(t, m[name]["actions"])
				require.NotContains(t, m[name]["text"], "npm")
				list = append(list, name)
			}
		}
		return list
	}
	s.server.Push(t.Context(), r, "abc", web.PushQuestion, false)
	require.Equal(t, []string{"/plain", "/both"}, names(told(2)))
	s.server.Push(t.Context(), r, "abc", web.PushWaiting, false)
	m := told(2)
	require.Equal(t, []string{"/late", "/both"}, names(m))
	require.Contains(t, m["/late"]["text"], "ten minutes")
	s.server.PushOver(t.Context(), r, "abc", web.PushWaiting, "It was answered.")
	require.Equal(t, []string{"/late"}, names(told(1)), "the others are told of its end as of every question's")

	stop, ended := make(chan struct{}), make(chan struct{})
	run := s.server.PushTurns(t.Context(), stop, false)
	go func() { defer close(ended); run() }()
	defer func() { close(stop); <-ended }()
	hook := s.device("hook", web.CanHook)
	says := func(body string) { s.expect(200, "POST", "/hooks/claude", body, "Authorization", "Bearer "+hook) }
	says(`{"hook_event_name":"Stop","session_id":"c1234567","cwd":"/src/web","last_assistant_message":"All tests pass."}`)
	p := <-service.got
	require.Equal(t, "/ends", p.path)
	said := browsers[p.path].open(p.body)
	require.Equal(t, "Claude Code is done · web", said["title"])
	require.Equal(t, "All tests pass.", said["text"])
	says(`{"hook_event_name":"StopFailure","session_id":"c7654321","cwd":"/src/web","error":"rate_limit"}`)
	p = <-service.got
	require.Equal(t, "Claude Code has failed · web", browsers[p.path].open(p.body)["title"])

	// Behind an editor or the proxy it is the bridge that tells.
	s.expect(400, "POST", "/conversations/c1/turn", `{"event":"idle"}`)
	s.expect(200, "POST", "/conversations/c1/turn", `{"event":"done","agent":"goose","dir":"/src/web","text":"All tests pass."}`)
	p = <-service.got
	require.Equal(t, "/ends", p.path)
	said = browsers[p.path].open(p.body)
	require.Equal(t, "goose is done · web", said["title"])
	require.Equal(t, "All tests pass.", said["text"])

	// One that can only be answered in its terminal waits there: that is a question's kind.
	s.expect(200, "POST", "/conversations/c2/turn", `{"event":"waits","agent":"Kimi Code","dir":"/src/web","text":"Running: make"}`)
	for range 2 {
		p = <-service.got
		require.Contains(t, []string{"/plain", "/both"}, p.path)
		require.Contains(t, browsers[p.path].open(p.body)["text"], "Kimi Code waits in its terminal")
	}
}
