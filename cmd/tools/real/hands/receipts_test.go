package hands_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// The stream may tell how far an answer got before the hub's reply to it is read: a receipt
// goes on, and never back. The title that is the prompt's beginning is not told twice, and
// what describes an option is drawn as Markdown.
func TestReceiptsGoOn(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "Bash", map[string]any{"command": "make"}, func(a *hub.Asking) { a.About.Title = "make the tests pass on…" })
	p := s.visit(b, 390, false)
	p.until(`!document.querySelector(".card .acts .allow").disabled`)
	require.JSONEq(t, `"Conversation"`, p.eval(`document.querySelector(".where a").innerText`))
	p.eval(`{ const set = setTimeout.bind(window); window.setTimeout = (f, ms) => ms === 6000 ? 0 : set(f, ms); }; 0`) // it stays, however slow we are
	p.eval(`{ const ask = fetch; window.fetch = async (...what) => { const reply = await ask(...what); if (what[0] === "/answer") await new Promise((go) => { window.release = go; }); return reply; }; }; 0`)
	p.click(".acts .allow")
	p.until(`window.release`)
	_, err := s.board.Consumed(t.Context(), r.Ref())
	require.NoError(t, err)
	p.until(`document.querySelectorAll(".over .steps .done").length === 3`)
	p.eval(`release(); 0`)
	p.until(`document.querySelector(".over .receipt b").innerText === "Allowed"`)
	require.Equal(t, "3", p.eval(`document.querySelectorAll(".over .steps .done").length`))

	q := db
	q.Options = []convert.Option{{Label: "SQLite", Description: "in a `file`"}, {Label: "PostgreSQL"}}
	s.ask("c2", q)
	p.until(`document.querySelector(".option .description code")?.innerText === "file"`)
}

// That somebody is away is in the header for as long as it holds, and one tap ends it.
func TestAwayIsInTheHeader(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 320, false)
	require.Equal(t, "true", p.eval(`document.getElementById("back").hidden`))
	bar := p.eval(`document.querySelector(".bar").offsetHeight`)
	p.eval(`new MutationObserver(() => { // a hand that was on its way to what was there
		const back = document.getElementById("back");
		if (!back.hidden) back.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
	}).observe(document.getElementById("back"), { attributes: true, attributeFilter: ["hidden"] }); 0`)
	s.expect(200, "POST", "/away", `{"away":true}`) // acp-bridge away
	p.eval(`document.dispatchEvent(new Event("visibilitychange"))`)
	p.until(`document.getElementById("back").checkVisibility()`)
	p.shot("away")
	p.until(`document.getElementById("news").textContent === "The page has just moved. Click again."`)
	require.Equal(t, "true", p.eval(`document.documentElement.scrollWidth <= 320`))
	require.Equal(t, bar, p.eval(`document.querySelector(".bar").offsetHeight`), "nothing moves under a finger")
	p.reload()
	p.until(`document.getElementById("back").checkVisibility()`)
	p.insists(`document.getElementById("back").hidden && document.getElementById("news").innerText.includes("You are back")`, func() { p.click(`#back`) })
	require.JSONEq(t, `{"away":false}`, s.expect(200, "GET", "/away", ""))
}
