package hands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// seesAll reports whether an element is in the window, all of it.
func seesAll(selector string) string {
	return fmt.Sprintf(`(() => { const e = document.querySelector(%q), b = e?.getBoundingClientRect(); return b && b.height > 0 && b.top >= 0 && b.bottom <= innerHeight && b.left >= 0 && b.right <= innerWidth; })()`, selector)
}

// Moments in which somebody with a phone was in doubt, each as it should be.
func TestDoubtsOfSomebodyWithAPhone(t *testing.T) {
	t.Parallel()
	t.Run("why a long script is not allowed is seen at the button", func(t *testing.T) {
		b, s := newChromium(t), newSite(t, hub.Options{})
		s.permit("c1", "Bash", "execute", "deploy", map[string]any{"command": strings.Repeat("echo step\n", 58) + "rm -rf ./build"})
		p := s.phone(b)
		p.click(".unfold")
		p.until(`document.querySelector(".thing .end")`)
		p.until(seesAll(".more"))
		p.eval(`document.querySelector(".end").scrollIntoView({ block: "center", behavior: "instant" }); 0`)
		p.until(`!document.querySelector(".acts .allow").disabled`)
		p.click(".acts .reject")
		p.click(".reason textarea")
		p.words("not on a Friday")
		p.click(".acts .allow")
		p.until(seesAll(".card .problem"))
		p.click(".reason button")
		p.until(`document.querySelector(".card.over .receipt")?.innerText.includes(" lines · you, on this device")`)
		require.NotContains(t, p.eval(`document.getElementById("news").textContent`), "A question was", "who answers need not be told")
	})
	t.Run("a hub that was away, and is back", func(t *testing.T) {
		b, s := newChromium(t), newSite(t, hub.Options{})
		s.ask("c1", extras)
		p := s.phone(b)
		offline := func(yes bool) {
			p.call("Network.emulateNetworkConditions", map[string]any{"offline": yes, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
		}
		p.call("Network.enable", nil)
		p.click(".option label")
		offline(true)
		p.click("button[value=answer]")
		p.until(seesAll(".card .problem"))
		p.until(`document.getElementById("dot").matches(".lost") && document.title.startsWith("Not connected")`) // a stream may seem to be open
		offline(false)
		p.until(`!document.getElementById("dot").matches(".lost")`)
		p.until(`document.querySelector(".card .problem").textContent.includes("This was not sent") && document.querySelector(".card input:checked")`)
		p.click("button[value=answer]")
		p.until(`document.querySelector(".card.over")`)
	})
	t.Run("what has no answer yet is where a submit leads", func(t *testing.T) {
		b, s := newChromium(t), newSite(t, hub.Options{})
		many := extras
		many.Options = append(slices.Clone(extras.Options), convert.Option{Label: "Cache"}, convert.Option{Label: "Queue"}, convert.Option{Label: "Search"})
		other := db
		other.Text = "And which one for the tests?"
		r := s.ask("c1", db, many, other, free)
		p := s.phone(b)
		p.until(`document.querySelectorAll(".ask").length === 4`)
		p.click(`textarea[name=t3]`)
		p.words("shop")
		p.click(`input[name=a0]`)
		submit := func(gap string, missing string) {
			p.insists(`document.activeElement.name === "`+gap+`"`, func() { p.click(`button[value=answer]`) })
			require.Equal(t, missing, p.eval(`[...document.querySelectorAll(".missing")].map((a) => a.querySelector("input").name)`))
			p.until(seesAll(".missing .text"))
			p.until(seesAll(".missing .option"))
		}
		submit("a1", `["a1","a2"]`)
		require.Equal(t, `"2 of 4 questions have no answer yet."`, p.eval(`document.querySelector(".problem:not([hidden])").textContent`))
		p.click(`input[name=a1]`)
		p.until(`document.querySelectorAll(".missing").length === 1`)
		submit("a2", `["a2"]`)
		p.click(`input[name=a2]`)
		p.click(`button[value=answer]`)
		require.Len(t, s.answered(r), 4)
	})
	t.Run("a filter, from far below", func(t *testing.T) {
		b, s := newChromium(t), newSite(t, hub.Options{})
		for i := range 4 {
			s.ask(fmt.Sprint("c", i), db)
		}
		p := s.phone(b)
		p.until(`document.querySelectorAll(".card").length === 4`)
		p.eval(`scrollTo({ top: 900, behavior: "instant" }); 0`)
		p.click("#filter-button")
		p.until(seesAll("#filter input[type=search]"))
		p.words("nothing like this")
		p.until(`document.querySelector(".nothing a")`)
		p.click(".nothing a")
		p.until(`document.querySelectorAll(".card").length === 4 && !location.search`)
	})
	t.Run("nothing is left of what was put aside, and the bar is whole", func(t *testing.T) {
		b, s := newChromium(t), newSite(t, hub.Options{})
		p := s.phone(b)
		require.Equal(t, "true", p.eval(`(() => { const h = document.querySelector(".bar h1"); return h.scrollWidth <= h.clientWidth; })()`))
		s.ask("c1", db)
		p.until(`document.querySelector(".card")`)
		p.click(".later")
		p.until(`document.getElementById("aside") && !document.querySelector(".lane-name").getClientRects().length`)
		p.open(s.url + "/history")
		require.Equal(t, "true", p.eval(seesAll(".search button")))
	})
	t.Run("the title says that the hub is gone", func(t *testing.T) {
		b, s := newChromium(t), newSite(t, hub.Options{})
		s.ask("c1", db)
		p := s.phone(b)
		p.until(`document.title.startsWith("1 question")`)
		s.server.Close()
		p.until(`document.title.startsWith("Not connected")`)
		p.until(seesAll("#link"))
	})
	t.Run("of two that allow, one is the main one", func(t *testing.T) {
		b, s := newChromium(t), newSite(t, hub.Options{})
		s.permit("c1", "Bash", "execute", "ls", map[string]any{"command": "npm test -- --reporter=dot"}, func(a *hub.Asking) {
			a.About.Picks = []string{"allow_once", "allow_once", "reject_once"}
			a.Call.Questions[0].Options = []convert.Option{{Label: "Allow"}, {Label: "Switch to Default Mode and allow once (recommended)"}, {Label: "Reject"}}
		})
		p := s.phone(b)
		p.until(`document.querySelector(".acts .allow:not(:disabled)")`)
		require.Equal(t, `["Allow"]`, p.eval(`[...document.querySelectorAll(".acts .allow")].map((b) => b.innerText)`))
		require.Equal(t, `["--","--reporter=dot"]`, p.eval(`[...document.querySelectorAll(".thing .w")].map((w) => w.getClientRects().length === 1 && w.innerText)`), "flags are not broken at their hyphens")
	})
}

// What a person has answered is told where they have pressed, and nothing of somebody
// else's comes there; what the same agent asks next comes into view, if they do nothing else.
func TestAfterAnAnswerOnAPhone(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	tall := []convert.Question{extras, db, free}
	tall[0].Options = append(slices.Clone(extras.Options), convert.Option{Label: "Cache"}, convert.Option{Label: "Queue"}, convert.Option{Label: "Search"})
	next := map[string]*hub.Record{}
	for _, c := range []string{"a", "b", "tall", "c", "d"} {
		if c == "tall" {
			next[c] = s.ask(c, tall...)
			continue
		}
		next[c] = s.permit(c, "Bash", "execute", "Bash", map[string]any{"command": "rm -rf " + c}, func(a *hub.Asking) {
			a.Dir = fmt.Sprint("/src/", c > "b") // before the tall one, or after it
		})
	}
	p := s.phone(b)
	p.until(`document.querySelectorAll(".card").length === 5`)
	p.eval(`{ const set = setTimeout.bind(window); window.setTimeout = (f, ms) => ms === 6000 || ms === 10000 ? 0 : set(f, ms); }; 0`) // however slow we are
	card := func(r *hub.Record) string { return fmt.Sprintf(`.card[data-revision^="%d-"]`, r.Revision) }
	top := func(r *hub.Record) (at float64) {
		p.reads(`document.querySelector('`+card(r)+`').getBoundingClientRect().top`, &at)
		return at
	}
	p.click(card(next["tall"]) + ` input[name=a0]`)
	p.click(card(next["tall"]) + ` input[name=a1]`)
	p.click(card(next["tall"]) + ` textarea[name=t2]`)
	p.words("zoe")
	press := card(next["tall"]) + ` button[value=answer]`
	p.eval(`document.querySelector('` + press + `').scrollIntoView({ block: "center", behavior: "instant" }); 0`)
	below := top(next["c"])
	p.click(press)
	p.until(`document.querySelector(".card.over")`)
	p.until(seesAll(".receipt"))
	require.InDelta(t, below, top(next["c"]), 2, "what is below stays where it is")

	// The same agent asks on, a while later.
	p.eval(`document.querySelector('` + card(next["b"]) + `').scrollIntoView({ block: "center", behavior: "instant" }); 0`)
	p.until(`!document.querySelector('` + card(next["b"]) + ` .allow').disabled`)
	p.click(card(next["b"]) + " .acts .reject")
	p.click(card(next["b"]) + " .reason .reject")
	s.answered(next["b"])
	p.until(`document.querySelector('` + card(next["b"]) + `.over')`)
	more := s.permit("b", "Bash", "execute", "Bash", map[string]any{"command": "#!/bin/bash\n" + strings.Repeat("echo more\n", 6)}, func(a *hub.Asking) { a.Dir = "/src/false" })
	p.until(`document.querySelector('` + card(more) + `')`)
	p.until(fmt.Sprintf(`(() => { const at = document.querySelector('%s').getBoundingClientRect().top; return at >= 56 && at < innerHeight * 0.6; })()`, card(more)))
	require.Equal(t, "true", p.eval(`document.querySelector('`+card(next["b"])+`').nextElementSibling.matches('`+card(more)+`')`), "below what was answered")

	// Whoever scrolls meanwhile is somewhere else.
	p.until(`!document.querySelector(".moved")`)
	p.eval(`document.querySelector('` + card(more) + ` .allow').scrollIntoView({ block: "center", behavior: "instant" }); 0`)
	p.until(`!document.querySelector('` + card(more) + ` .allow').disabled`)
	p.click(card(more) + " .acts .reject")
	p.click(card(more) + " .reason textarea")
	p.words("not today")
	p.click(card(more) + " .reason button")
	p.until(`document.querySelector('` + card(more) + `.over .receipt')?.innerText.startsWith("Rejected: not today · echo more")`)
	p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseWheel", "x": 100, "y": 300, "deltaX": 0, "deltaY": 1})
	p.until(`(scrollTo({ top: 1e6, behavior: "instant" }), document.querySelector('` + card(next["d"]) + `').getBoundingClientRect().bottom <= innerHeight)`) // the wheel may come late
	third := s.permit("b", "Bash", "execute", "Bash", map[string]any{"command": "echo third"}, func(a *hub.Asking) { a.Dir = "/src/false" })
	p.until(`document.querySelector('` + card(third) + `')`)
	require.Equal(t, "true", p.eval(`document.querySelector('`+card(next["d"])+`').getBoundingClientRect().bottom <= innerHeight`), "the end of the page, as before")
}
