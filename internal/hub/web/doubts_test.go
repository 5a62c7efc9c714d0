package web_test

import (
	"fmt"
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
		p.click(".reason summary")
		p.click(".reason textarea")
		p.words("not on a Friday")
		p.click(".acts .allow")
		p.until(seesAll(".card .problem"))
		p.click(".reason button")
		p.until(`document.querySelector(".card.over .receipt")?.innerText.includes("echo step · you, on this device")`)
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
		offline(false)
		s.ask("c2", free) // the page looks again
		p.until(`document.querySelector(".card .problem").hidden && document.querySelector(".card input:checked")`)
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
