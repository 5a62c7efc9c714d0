package web_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

func (s *site) askIn(agent, dir, conversation, id, text string) *hub.Record {
	s.t.Helper()
	r := acptest.Must(s.board.Ask(s.t.Context(), hub.Asking{Conversation: conversation, Agent: agent, Machine: "laptop", Dir: dir, Dialect: "bridge",
		About: about.About{Title: "About " + conversation}, Call: convert.Call{ID: id, Questions: []convert.Question{{Text: text}}}}))
	return r
}

var asksOnPage = regexp.MustCompile(`id="(q[0-9a-f]+)"[^>]* data-topic="Question ([0-9]+)\.`)

func (s *site) listed(query string) (list []string) {
	s.t.Helper()
	for _, m := range asksOnPage.FindAllStringSubmatch(s.expect(200, "GET", "/cards?"+query, ""), -1) {
		list = append(list, m[2])
	}
	return list
}

// Whoever has waited longest is on top, the questions of a conversation stand
// together, and all of them can be reached: the first fifty whole, the others as lines until
// somebody opens them.
func TestTheList(t *testing.T) {
	s := siteBeside(t)
	for i := range 330 {
		s.askIn(fmt.Sprint("Agent", i%2), fmt.Sprint("/src/p", i%3), fmt.Sprint("c", i%10), fmt.Sprint("q", i), fmt.Sprintf("Question %d.", i))
	}
	first := s.listed("")
	require.Len(t, first, 300)
	require.Equal(t, []string{"0", "30"}, first[:2], "of project 0 and conversation 0")
	seen := map[string]bool{}
	for _, from := range []string{"0", "300"} {
		for _, q := range s.listed("from=" + from) {
			require.False(t, seen[q], q)
			seen[q] = true
		}
	}
	require.Len(t, seen, 330)
	page := s.expect(200, "GET", "/", "")
	require.Contains(t, page, "330 waiting")
	require.Contains(t, page, "1 to 300 of 330")
	cards := s.expect(200, "GET", "/cards", "")
	require.Equal(t, 50, strings.Count(cards, `class="answer"`))
	require.Less(t, len(cards), 50*4500+250*800)
	lines := regexp.MustCompile(` row stub" id="(q[0-9a-f]+)"[^>]* data-topic="Question ([0-9]+)\.`).FindAllStringSubmatch(cards, -1)
	require.Len(t, lines, 250)
	for _, how := range []string{"also=", "whole="} {
		opened := s.expect(200, "GET", "/cards?"+how+lines[99][1], "")
		require.Equal(t, 51, strings.Count(opened, `class="answer"`))
		require.Len(t, s.listed(how+lines[99][1]), 300)
	}
	require.Equal(t, []string{"299"}, s.listed("q="+url.QueryEscape("question 299.")))
	require.Len(t, s.listed("agent=Agent1&from=100"), 65)
	project := regexp.MustCompile(`value="(lane[0-9a-f]+)"`).FindStringSubmatch(page)[1]
	require.Len(t, s.listed("project="+project), 110)
	require.Contains(t, s.expect(200, "GET", "/cards?q=nothing", ""), "Nothing matches the filter")
}

// Those whose agent is gone stand apart, and are dismissed together: just
// those that were seen.
func TestThoseWhoseAgentIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{Lease: 200 * time.Millisecond})
	for i := range 3 {
		s.askIn("Agent", "/src", fmt.Sprint("c", i), "q", fmt.Sprintf("Question %d.", i))
	}
	var page string
	require.Eventually(t, func() bool {
		page = s.expect(200, "GET", "/cards", "")
		return strings.Contains(page, "Dismiss all 3 of these")
	}, patience, 20*time.Millisecond)
	require.Contains(t, page, `id="lanegone"`)
	post := []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json", "Origin", s.url}
	these := func(query string) string {
		list := regexp.MustCompile(`name="these" value="([^"]*)"`).FindStringSubmatch(s.expect(200, "GET", "/cards?"+query, ""))
		require.NotNil(t, list)
		return "these=" + url.QueryEscape(list[1])
	}
	waiting := func() int { _, n := s.board.Waiting(1); return n }
	all := these("")
	one := these("q=question+1.")
	require.Contains(t, s.expect(200, "POST", "/dismiss", one, post...), `"dismissed":1`)
	s.askIn("Agent", "/src", "c3", "q", "Question 3.")
	require.Eventually(t, func() bool { return strings.Contains(s.expect(200, "GET", "/cards", ""), "Dismiss all 3 of these") }, patience, 20*time.Millisecond)
	for _, old := range []string{all, one, "these=", "these=q0", regexp.MustCompile(`-[0-9]+-`).ReplaceAllString(these("q=question+2."), "-99-")} { // three there are, but others
		require.Contains(t, s.expect(409, "POST", "/dismiss", old, post...), "nothing was dismissed", old)
	}
	require.Equal(t, 3, waiting())
	require.Contains(t, s.expect(200, "POST", "/dismiss", these(""), post...), `"dismissed":3`)
	require.Zero(t, waiting())
}

// A conversation has a page with all that was asked in it.
func TestAConversationsPage(t *testing.T) {
	s := siteBeside(t)
	s.askIn("Agent", "/src", "c1", "a", "Question 1.")
	acptest.Must(s.board.Cancel(t.Context(), hub.Ref{Conversation: "c1"}, "phone"))
	s.askIn("Agent", "/src", "c1", "b", "Question 2.")
	for _, command := range []string{"ls", "make"} {
		s.permit("c1", "Bash", "execute", "", map[string]any{"command": command}, func(a *hub.Asking) { a.Call.ID = command })
	}
	s.expect(200, "POST", "/conversations/c1/turn", `{"event":"done","text":"All **three** pass, with sk-ant-api03-abcdefghijklmnop."}`)
	s.expect(200, "POST", "/conversations/c2/turn", `{"event":"done","text":"Another one."}`)
	page := s.expect(200, "GET", "/conversations/c1", "", "Accept", "text/html")
	require.Less(t, strings.Index(page, "Question 1."), strings.Index(page, "Question 2."))
	for _, part := range []string{"About c1", "Dismissed by phone", "Answer it", "The agent is waiting for an answer.", "All <strong>three</strong> pass, with •••"} {
		require.Contains(t, page, part)
	}
	require.NotContains(t, page, "Another one")
	require.Equal(t, 1, strings.Count(page, "I will run the migration first"), "what was said before both is there once")
}

// A conversation is told in its order: what its user wrote, what was asked on the way, and
// what the agent said at the end, of each turn that the hub remembers, whoever told of it.
func TestAConversationIsToldInOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	token := s.device("claude", web.CanHook)
	ask := func(n int) {
		s.askIn("Agent", "/src", hookSession, fmt.Sprint(n), fmt.Sprintf("Question %d.", n))
		acptest.Must(s.board.Cancel(t.Context(), hub.Ref{Conversation: hookSession}, "phone"))
	}
	want := []string{}
	for n := range 8 {
		ask(n)
		prompt, said := fmt.Sprintf("Prompt %d, the password is hunter22.", n), fmt.Sprintf("Words %d.", n)
		if n%2 == 0 {
			s.expect(200, "POST", "/conversations/"+hookSession+"/turn", string(clean.JSON(map[string]string{"event": "done", "text": said, "prompt": prompt})))
		} else {
			s.expect(200, "POST", "/hooks/claude", says("Stop", "last_assistant_message", said), "Authorization", "Bearer "+token, about.Header, about.About{Prompt: prompt}.Encode())
		}
		if n < 3 { // of the last five turns it is told
			want = append(want, fmt.Sprintf("Question %d", n))
		} else {
			want = append(want, fmt.Sprintf("Prompt %d", n), fmt.Sprintf("Question %d", n), fmt.Sprintf("Words %d", n))
		}
	}
	ask(8)
	page := s.expect(200, "GET", "/conversations/"+hookSession, "", "Accept", "text/html")
	require.Equal(t, append(want, "Question 8"), regexp.MustCompile(`(?:Prompt|Question|Words) [0-9]`).FindAllString(page, -1))
	require.NotContains(t, page, "hunter22")
	require.Contains(t, page, `<p class="speaker">You, says claude,`)
}

// What an agent said at the end of a turn is shown to whoever may know of it: another agent
// that asks in the conversation is not one.
func TestWordsOfATurnAreNotForOtherAgents(t *testing.T) {
	s := siteBeside(t)
	one, two := "Bearer "+s.device("one", web.CanAsk), "Bearer "+s.device("two", web.CanAsk)
	s.expect(200, "POST", "/conversations/c1/turn", `{"event":"done","text":"Between us.","prompt":"Among us."}`, "Authorization", one)
	s.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", two)
	page := func(who ...string) string {
		return s.expect(200, "GET", "/conversations/c1", "", append(who, "Accept", "text/html")...)
	}
	require.Contains(t, page(), "Between us.")
	require.NotContains(t, page("Authorization", two), "Between us.")
	require.NotContains(t, page("Authorization", two), "Among us.")
}
