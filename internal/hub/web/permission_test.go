package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

func (s *site) askPermission(conversation, text, detail string) *hub.Record {
	s.t.Helper()
	r := acptest.Must(s.board.Ask(s.t.Context(), hub.Asking{Conversation: conversation, Kind: "permission", Agent: "Claude Code", Dialect: "bridge", Detail: detail,
		Call: convert.Call{ID: "toolu_" + conversation, Questions: []convert.Question{{Text: text, Closed: true, Options: []convert.Option{{Label: "Allow"}, {Label: "Reject"}}}}}}))
	return r
}

// A store that was restored gives its revisions again: what was seen of one is no answer to another.
func TestRevisionsThatAreGivenAgain(t *testing.T) {
	before, now := newSite(t, hub.Options{}), newSite(t, hub.Options{})
	was, is := before.askPermission("c1", "Run it?", "npm test"), now.askPermission("c1", "Run it?", "rm -rf /")
	require.Equal(t, was.Revision, is.Revision)
	now.expect(412, "POST", answering(was), `{"answers":["Allow"]}`)
	now.expect(200, "POST", answering(is), `{"answers":["Allow"]}`)
}

// permit asks for permission as Claude Code's link does.
func (s *site) permit(conversation, tool, kind, title string, input any, more ...func(*hub.Asking)) *hub.Record {
	s.t.Helper()
	detail := acptest.Must(json.MarshalIndent(input, "", "  "))
	options := []convert.Option{{Label: "Allow"}, {Label: "Always allow " + tool + "(npm test:*)"}, {Label: "Reject"}}
	a := hub.Asking{
		Conversation: conversation, Kind: "permission", Agent: "Claude Code", Machine: "laptop", Dir: "/home/anna/src/orders-service", Dialect: "bridge", Detail: string(detail),
		About: about.About{
			Model: "Opus 5", Branch: "main", Title: "Set up CI for the orders service", Prompt: "make the tests pass on the **new** runner\n\nand tell me what you changed",
			Said: "I will run the migration first, then:\n\n- `npm ci`\n- the tests", Tool: about.Tool{Kind: kind, Picks: []string{"allow_once", "allow_always", "reject_once"}},
		},
		Call: convert.Call{ID: "toolu_" + conversation + tool, Name: tool, Questions: []convert.Question{{Text: title, Closed: true, Options: options}}},
	}
	for _, m := range more {
		m(&a)
	}
	return acptest.Must(s.board.Ask(s.t.Context(), a))
}

// The hub does not take a permission from a page that had no end of it.
func TestPermissionWithoutItsEnd(t *testing.T) {
	s := newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "echo", map[string]any{"command": strings.Repeat("echo\n", 100)})
	page := s.expect(200, "GET", "/cards", "")
	require.NotContains(t, page, "name=\"seen\"")
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm(r.ID)}, "revision": {strconv.FormatUint(r.Revision, 10)}, "asked": {r.Fingerprint()}, "a0": {"0"}}
	post := []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json", "Origin", s.url}
	require.Contains(t, s.expect(400, "POST", "/answer", form.Encode(), post...), "not seen the end")
	form.Set("seen", "0123456789abcdef01234567")
	s.expect(400, "POST", "/answer", form.Encode(), post...)
	whole := s.expect(200, "GET", "/cards?whole="+regexp.MustCompile(`id="(q[0-9a-f]+)"`).FindStringSubmatch(page)[1], "")
	form.Set("seen", regexp.MustCompile(`name="seen" value="([0-9a-f]+)"`).FindStringSubmatch(whole)[1])
	form.Set("n0", "but only once")
	require.Contains(t, s.expect(400, "POST", "/answer", form.Encode(), post...), "a reason goes with a rejection")
	form.Del("n0")
	s.expect(200, "POST", "/answer", form.Encode(), post...)
}

// An edited plan is the plan, and is approved as that alone.
func TestAPlanThatWasEdited(t *testing.T) {
	s := siteBeside(t)
	for i, c := range []struct{ pick, plan, want string }{
		{"0", "# Plan\r\n\r\n1. Build", `{"accepted":true}`}, {"0", "# Plan\n\n1. Ship", "the plan was edited"}, {"2", "# Plan\n\n1. Ship", `{"accepted":true}`},
		{"3", " ", "write the plan"}, {"3", "# Plan\n\n1. Ship", `{"accepted":true}`}, {"4", "# Plan", "not an option"}, {"-1", "# Plan", "not an option"},
	} {
		r := s.permit(fmt.Sprint("c", i), "ExitPlanMode", "switch_mode", "", map[string]any{"plan": "# Plan\n\n1. Build"}, func(a *hub.Asking) {
			a.About.Picks, a.Call.Questions[0].Options = append(a.About.Picks, "allow_edited"), append(a.Call.Questions[0].Options, convert.Option{Label: "Yes, with my plan"})
		})
		seen := regexp.MustCompile(`name="seen" value="([0-9a-f]+)"`).FindStringSubmatch(cardText(s, r.Conversation))[1]
		form := url.Values{"conversation": {inForm(r.Conversation)}, "question": {inForm(r.ID)}, "revision": {strconv.FormatUint(r.Revision, 10)}, "asked": {r.Fingerprint()}, "seen": {seen}, "a0": {c.pick}, "plan": {c.plan}}
		_, reply := s.request("POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
		require.Contains(t, reply, c.want)
		if now := s.find(r.Conversation, r.ID); c.pick == "3" && !now.Open() {
			require.Equal(t, []convert.Answer{{Selected: []string{"Yes, with my plan"}, Note: c.plan}}, now.End.Answers)
		}
	}
}

// What is known when a permission is asked for stands on its card, in the place of the model.
func TestWhatIsKnownIsOnTheCard(t *testing.T) {
	s := siteBeside(t)
	const known = "41% of the context used · $1.32 · Opus 5 · Plan mode"
	s.permit("c1", "Bash", "execute", "echo", map[string]any{"command": "echo"}, func(a *hub.Asking) { a.About.Known = known })
	s.permit("c2", "Bash", "execute", "echo", map[string]any{"command": "echo"})
	require.Contains(t, cardText(s, "c1"), "<span>"+known+"</span>")
	require.Contains(t, cardText(s, "c2"), "<span>Opus 5</span>")
}

// A fold hides at least five lines: a few more are better seen.
func TestNoFoldForAFewLines(t *testing.T) {
	s := siteBeside(t)
	for rest := range 9 { // a block of any length that is all shown, and lines behind it
		c := fmt.Sprint("p", rest)
		s.permit(c, "ExitPlanMode", "switch_mode", "", map[string]any{"plan": "# Plan\n" + strings.Repeat("word\n", 18), "more": strings.Repeat("x\n", rest) + "x"})
		if text := cardText(s, c); strings.Contains(text, "unfold") {
			require.NotRegexp(t, `>[1-4] more line`, text, "%d lines", rest)
		}
	}
}

func cardText(s *site, conversation string) string {
	for _, text := range regexp.MustCompile(`(?s)<article class="card .*?</article>`).FindAllString(s.expect(200, "GET", "/cards", ""), -1) {
		if strings.Contains(text, `data-talk="/conversations/`+conversation+`"`) {
			return text
		}
	}
	return ""
}
