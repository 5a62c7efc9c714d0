package web_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

func (s *site) askPermission(conversation, text, detail string) *hub.Record {
	s.t.Helper()
	r, err := s.board.Ask(s.t.Context(), hub.Asking{Conversation: conversation, Kind: "permission", Agent: "Claude Code", Dialect: "bridge", Detail: detail,
		Call: convert.Call{ID: "toolu_" + conversation, Questions: []convert.Question{{Text: text, Closed: true, Options: []convert.Option{{Label: "Allow"}, {Label: "Reject"}}}}}})
	require.NoError(s.t, err)
	return r
}

// Permission counts only for what was in view: nothing can be submitted before the
// end of what is permitted was.
func TestPermissionForWhatWasInView(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	var script strings.Builder
	for range 200 {
		script.WriteString("echo working\n")
	}
	r := s.askPermission("c1", "Run it?", script.String()+"rm -rf /prod")
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".card.permission .more:not([hidden])")`)
	sign := `(() => { const b = document.querySelector(".more").getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight })()`
	p.until(sign)
	p.shot("permission-more-below")
	require.Equal(t, "true", p.eval(`document.querySelector("button[value=answer]").disabled`))
	require.Equal(t, "false", p.eval(`document.querySelector("button[value=cancel]").disabled`))
	p.eval(`document.querySelector("input[name=a0]").checked = true; document.querySelector("form.answer").requestSubmit(); 0`)
	p.eval(`document.querySelector("form.answer").dispatchEvent(new SubmitEvent("submit", {bubbles: true, cancelable: true})); 0`)
	p.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	now, err := s.board.Find("c1", r.ID)
	require.NoError(t, err)
	require.True(t, now.Open(), "nobody has seen what it does")
	p.eval(`scrollTo(0, document.querySelector("pre.detail .end").getBoundingClientRect().top + scrollY - 400)`)
	p.until(`!document.querySelector("button[value=answer]").disabled && document.querySelector(".more").hidden`)
	p.click(`input[name=a0][value="0"]`)
	p.click(`button[value=answer]`)
	require.Equal(t, []string{"Allow"}, s.answered(r)[0].Selected)
}

// Blank lines and spaces push nothing out of sight, and a box that scrolls says that
// there is more.
func TestBlankRunsAreFolded(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	s.askPermission("c1", "npm test"+strings.Repeat("\n", 61)+"rm -rf /prod", "a"+strings.Repeat(" ", 4000)+"b")
	s.ask("c2", convert.Question{Text: strings.Repeat("line\n", 300) + "the end"})
	p := s.visit(b, 360, false)
	p.until(`document.querySelectorAll(".card").length === 2`)
	for _, fold := range []string{"⋯ 60 blank lines ⋯", "⋯ 4000 spaces ⋯"} {
		require.Equal(t, "true", p.eval(`document.body.innerText.includes("`+fold+`")`), fold)
	}
	p.until(`document.querySelectorAll(".card:not(.permission) .text.below").length === 1`)
	p.eval(`document.querySelector(".card:not(.permission) .text").scrollTo(0, 1e6); 0`)
	p.until(`!document.querySelector(".text.below")`)
}

// What a browser remembers of a form belongs to another question by now.
func TestBackFillsNothingIn(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	other := s.ask("c1", db)
	first := s.ask("c2", db)
	p := s.visit(b, 360, false)
	p.until(`document.querySelectorAll(".card").length === 2`)
	p.click(`.card input[name=a0][value="0"]`)
	p.click(`.card summary`)
	p.click(`.card textarea[name=n0]`)
	p.words("only for this one")
	p.click(`nav a[href="/history"]`)
	p.until(`location.pathname === "/history" && document.readyState === "complete"`)
	_, err := s.board.Cancel(t.Context(), first.Ref(), "phone")
	require.NoError(t, err)
	p.eval(`history.back(); 0`)
	p.until(`location.pathname === "/" && document.readyState === "complete" && document.querySelectorAll(".card:not(.over)").length === 1`)
	p.eval(`new Promise((done) => setTimeout(done, 200))`) // the browser fills in what it remembers
	require.Equal(t, `""`, p.eval(`document.querySelector(".card textarea[name=n0]").value`))
	require.Equal(t, `false`, p.eval(`document.querySelector('.card input[name=a0][value="0"]').checked`))
	p.click(`.card input[name=a0][value="1"]`)
	p.click(`button[value=answer]`)
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, s.answered(other))
}
