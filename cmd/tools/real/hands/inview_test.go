package hands_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

func (s *site) askPermission(conversation, text, detail string) *hub.Record {
	s.t.Helper()
	return s.post(hub.Asking{Conversation: conversation, Kind: "permission", Agent: "Claude Code", Dialect: "bridge", Detail: detail,
		Call: convert.Call{ID: "toolu_" + conversation, Questions: []convert.Question{{Text: text, Closed: true, Options: []convert.Option{{Label: "Allow"}, {Label: "Reject"}}}}}})
}

// Permission counts only for what was in view: until the end of what is permitted
// was, there is nothing to allow it with, and what is sent all the same is refused.
func TestPermissionForWhatWasInView(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "echo", map[string]any{"command": strings.Repeat("echo working\n", 200) + "rm -rf /prod"})
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".card.permission .unfold")`)
	open := func(why string) {
		p.eval(`new Promise((done) => setTimeout(done, 300))`)
		now := s.find("c1", r.ID)
		require.True(t, now.Open(), why)
	}
	allow := `.acts button.allow`
	forced := func() {
		p.eval(`(() => { const b = document.querySelector("` + allow + `"); b.disabled = false; b.removeAttribute("data-gated"); b.click(); })()`)
	}
	require.Equal(t, `["Allow","Always allow Bash(npm test:*)"]`, p.eval(`[...document.querySelectorAll("form button:disabled")].map((b) => b.innerText.replace(/\s+/g, " "))`), "these are not there, the others are")
	require.Contains(t, p.eval(`document.querySelector(".fold").innerText`), "189 more lines")
	p.shot("permission-folded")
	forced()
	open("nobody has seen what it does")
	p.click(".unfold")
	p.until(`document.querySelector(".thing .end")`)
	p.until(`(() => { const b = document.querySelector(".more").getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight })()`)
	p.shot("permission-more-below")
	require.Equal(t, "true", p.eval(`(() => { const end = document.querySelector(".thing .end"); document.body.style.paddingBottom = "99rem"; scrollBy({top: end.getBoundingClientRect().top - 80, behavior: "instant"}); return [...document.querySelectorAll(".thing .l")].at(-1).getBoundingClientRect().top < 52; })()`))
	open("its last line was below the bar")
	require.Equal(t, "false", p.eval(`document.querySelector(".more").hidden`))
	forced()
	open("the end was not in view")
	p.eval(`document.querySelector(".thing .end").scrollIntoView({block: "center"}); 0`)
	p.until(`!document.querySelector("` + allow + `").disabled && document.querySelector(".more").hidden`)
	p.click(allow)
	require.Equal(t, []string{"Allow"}, s.answered(r)[0].Selected)
}

// What is short is there at once, and can be allowed when it was on the screen.
func TestPermissionOfOneLine(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "npm test", map[string]any{"command": "npm test"})
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".acts button.allow:not(:disabled)")`)
	require.Equal(t, "1", p.eval(`document.querySelector(".card").innerText.split("npm test").length - 2`), "the command is shown once, beside what is always allowed")
	p.click(`.acts button.always`)
	require.Equal(t, []string{"Always allow Bash(npm test:*)"}, s.answered(r)[0].Selected)
}

// One tap is an answer, and can be taken back for three seconds.
func TestOneTap(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db)
	p := s.visit(b, 360, false)
	run := p.holdsBack(s.url)
	at := p.at(".also")
	p.click(`.option label`)
	p.until(`document.querySelector(".sending:not([hidden]) .undo")`)
	p.shot("one-tap")
	require.InDelta(t, at, p.at(".also"), 1, "what is below stays there")
	p.click(".undo")
	p.until(`document.querySelector(".sending").hidden && !document.querySelector("input:checked")`)
	run()
	p.click(`.option + .option label`)
	p.until(`document.querySelector(".sending:not([hidden])")`)
	run()
	require.Equal(t, []string{"SQLite"}, s.answered(r)[0].Selected)
}

// A dismissal is one tap, and can be taken back for three seconds: then the agent is
// told, and what is on the card is as it was.
func TestDismissalIsTakenBack(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "npm test", map[string]any{"command": "npm test"})
	p := s.visit(b, 360, false)
	run := p.holdsBack(s.url)
	p.until(`document.querySelector(".acts .allow:not(:disabled)")`)
	p.click(".acts .reject")
	p.click(".dismiss")
	p.until(`document.querySelector(".sending:not([hidden])")?.innerText.includes("Dismissing")`)
	p.shot("dismissing")
	p.eval(`document.querySelector(".reason").dispatchEvent(new Event("toggle")); 0`) // a slow machine tells late that the field was opened, before
	require.Equal(t, "false", p.eval(`document.querySelector(".sending").hidden`))
	p.click(".undo")
	p.until(`document.querySelector(".sending").hidden && document.querySelector(".acts .allow").getClientRects().length`)
	run()
	now := s.find("c1", r.ID)
	require.True(t, now.Open())
	p.click(".dismiss")
	p.until(`document.querySelector(".sending:not([hidden])")`)
	run()
	p.until(`document.querySelector(".card.over")?.innerText.includes("Dismissed · npm test · you, on this device")`)
	now = s.find("c1", r.ID)
	require.Equal(t, "cancelled", now.End.Outcome)
}

// holdsBack opens the page again with the three seconds of what can be taken back in the
// test's hands, which may be slower than that: they are over when run is called.
func (p *tab) holdsBack(url string) (run func()) {
	p.t.Helper()
	p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{
		const [set, clear] = [setTimeout.bind(window), clearTimeout.bind(window)];
		window.held = [];
		window.setTimeout = (f, ms) => ms === 3000 ? -held.push(f) : ms === 5000 ? 0 : set(f, ms); // news stay
		window.clearTimeout = (id) => { if (id < 0) held[-id - 1] = null; else clear(id); };
	}`})
	p.call("Page.enable", nil)
	p.open(url + "/?held")
	p.until(`window.held && document.querySelector(".live .card")`)
	return func() { p.eval(`held.splice(0).forEach((f) => f?.()); 0`) }
}

// Blank lines and spaces push nothing out of sight.
func TestBlankRunsAreFolded(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	s.askPermission("c1", "npm test"+strings.Repeat("\n", 61)+"rm -rf /prod", "a"+strings.Repeat(" ", 4000)+"b")
	p := s.visit(b, 360, false)
	p.until(`document.querySelectorAll(".card").length === 1`)
	for _, fold := range []string{"⋯ 60 blank lines ⋯", "⋯ 4000 spaces ⋯"} {
		require.Equal(t, "true", p.eval(`document.body.innerText.includes("`+fold+`")`), fold)
	}
}

// What a browser remembers of a form belongs to another question by now.
func TestBackFillsNothingIn(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	first := s.ask("c1", db)
	other := s.ask("c2", db)
	p := s.visit(b, 360, false)
	p.until(`document.querySelectorAll(".card").length === 2`)
	p.click(`.card .note summary`)
	p.click(`.card textarea[name=n0]`)
	p.words("only for this one")
	p.click(`.card input[name=a0][value="0"]`)
	p.click(`nav a[href="/history"]`)
	p.until(`location.pathname === "/history" && document.readyState === "complete"`)
	_, err := s.board.Cancel(t.Context(), first.Ref(), "phone")
	require.NoError(t, err)
	p.eval(`history.back(); 0`)
	p.until(`location.pathname === "/" && document.readyState === "complete" && document.querySelectorAll(".card:not(.over)").length === 1`)
	p.eval(`new Promise((done) => setTimeout(done, 200))`) // the browser fills in what it remembers
	require.Equal(t, `""`, p.eval(`document.querySelector(".card textarea[name=n0]").value`))
	require.Equal(t, `false`, p.eval(`document.querySelector('.card input[name=a0][value="0"]').checked`))
	p.eval(`document.querySelector(".card textarea[name=n0]").value = "what another browser remembers"; dispatchEvent(new Event("pageshow")); 0`)
	p.click(`.card input[name=a0][value="1"]`)
	p.click(`button[value=answer]`)
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, s.answered(other))
}

// Nothing is allowed that the card does not write out: what does not fit on a button is
// part of what has to be seen.
func TestOptionsAreWrittenOut(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	rules := `Bash(grep -rn "` + strings.Repeat("a|", 200) + `b" src), Bash(rm -rf:*)`
	for i, options := range [][]convert.Option{
		{{Label: "Allow"}, {Label: "Always allow " + rules + " in all projects"}, {Label: "Reject"}},
		{{Label: "Allow"}, {Label: "Always allow Bash", Description: rules + " in all projects"}, {Label: "Reject"}},
		{{Label: "Allow"}, {Label: rules + "\nin all projects"}, {Label: "Reject"}},
	} {
		s.permit(fmt.Sprint("c", i), "Bash", "execute", "ls", map[string]any{"command": "ls"}, func(a *hub.Asking) { a.Call.Questions[0].Options = options })
	}
	r := s.permit("c9", "Bash", "execute", "ls", map[string]any{"command": strings.Repeat("ls\n", 40)}, func(a *hub.Asking) {
		a.Call.Questions[0].Options[1].Label = "Always allow " + rules
	})
	p := s.visit(b, 390, false)
	p.until(`document.querySelectorAll(".card").length === 4`)
	for i := range 3 {
		text := p.eval(fmt.Sprintf(`document.querySelectorAll(".card .thing")[%d].innerText.replace(/\s+/g, " ")`, i))
		require.Contains(t, text, "b\\\" src), Bash(rm -rf:*)")
		require.Contains(t, text, "in all projects")
	}
	require.Equal(t, "true", p.eval(`document.documentElement.scrollWidth <= 390`))
	p.shot("options-written-out")
	p.click(`.card[data-talk*=c9] .unfold`)
	p.until(`document.querySelector(".card[data-talk*=c9] .thing").innerText.includes("rm -rf:*")`)
	p.eval(`document.querySelector(".card[data-talk*=c9] .end").scrollIntoView({block: "center", behavior: "instant"}); 0`)
	p.until(`!document.querySelector(".card[data-talk*=c9] .always").disabled`)
	p.click(`.card[data-talk*=c9] .always`)
	require.Equal(t, []string{"Always allow " + rules}, s.answered(r)[0].Selected)
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
