package hands_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// Every state of the page that a person can get it into passes axe, and has a picture if
// somebody wants to look:
//
//	ACP_BRIDGE_CHROMIUM=$(command -v chromium) ACP_BRIDGE_SCREENSHOTS=DIR go -C cmd/tools test ./real/hands -run TestEvery
func TestEveryStateOfThePage(t *testing.T) {
	b := newChromium(t)
	if os.Getenv("ACP_BRIDGE_AXE") == "" && os.Getenv("ACP_BRIDGE_SCREENSHOTS") == "" {
		t.Skip("neither ACP_BRIDGE_AXE nor ACP_BRIDGE_SCREENSHOTS is set")
	}
	s := newSite(t, hub.Options{})
	s.kinds()
	s.ask("q0", free)
	_, err := s.board.Cancel(t.Context(), hub.Ref{Conversation: "q0"}, web.Owner)
	require.NoError(t, err)
	for _, width := range []int{390, 1100} {
		dark := width > 390
		s.ask(fmt.Sprint("q", width), db)
		p := s.visit(b, width, dark)
		state := func(name, script, there string) {
			t.Helper()
			p.eval(script + "; 0")
			p.until(there)
			p.shot(fmt.Sprintf("state-%s-%d", name, width))
			if os.Getenv("ACP_BRIDGE_AXE") != "" && (!dark || name == "list" || name == "permission-whole") { // one has all colours
				p.axe(fmt.Sprint(name, ", dark ", dark))
			}
		}
		p.until(`document.querySelectorAll(".card").length === 11`)
		state("list", ``, `true`)
		state("menu", `document.getElementById("menu").open = true`, `document.querySelector("#away input").getClientRects().length`)
		state("keys", `document.getElementById("keys-button").click()`, `document.querySelector("#keys[open]")`)
		state("filter", `document.getElementById("keys").close(); document.getElementById("filter-button").click()`, `!document.getElementById("filter").hidden`)
		state("nothing-fits", `const f = document.querySelector("#filter input[type=search]"); f.value = "no such words"; f.dispatchEvent(new Event("input", { bubbles: true }))`, `document.querySelector(".nothing")`)
		p.open(s.url + "/")
		p.until(`document.querySelectorAll(".card").length === 11`)
		state("permission-folded", `document.querySelector(".card .unfold").closest(".card").scrollIntoView()`, `true`)
		state("permission-whole", `document.querySelector(".card .unfold").click()`, `document.querySelector(".card.command .end")`)
		state("reason", `const r = document.querySelector(".card.command .reason"); r.open = true; r.scrollIntoView()`, `document.querySelector(".reason textarea").getClientRects().length`)
		state("said-before", `const d = document.querySelector(".before"); d.open = true; d.scrollIntoView()`, `true`)
		state("plan", `document.querySelector(".card.plan").scrollIntoView()`, `true`)
		state("diff", `document.querySelector(".card.diff").scrollIntoView()`, `true`)
		for i := 0; p.eval(`document.querySelector("main .bulk").hidden`) == "true"; i++ { // until two were seen
			p.eval(fmt.Sprintf(`document.querySelectorAll(".card.permission .thing")[%d %% 6]?.scrollIntoView({ block: "end", behavior: "instant" }); new Promise((done) => setTimeout(done, 400))`, i))
		}
		state("bulk", `document.querySelector("main .bulk").click()`, `document.querySelector("#bulk[open]")`)
		p.eval(`document.getElementById("bulk").close()`)
		p.click(`form[data-tap] .option label`)
		p.until(`document.querySelector(".sending:not([hidden]), .card.over") || document.querySelectorAll(".card").length < 11`)
		state("sending", ``, `true`) // or sent, if axe takes long
		// The question may be sent by now. A click on what has just moved counts for nothing.
		p.insists(`document.getElementById("aside")`, func() { p.eval(`document.querySelector(".card:not(.over, [hidden]) .later").click(); 0`) })
		state("put-aside", ``, `true`)
		state("hub-gone", `document.getElementById("link").textContent = "The hub cannot be reached. Trying again."; document.getElementById("link").hidden = false; document.getElementById("dot").classList.add("lost")`, `true`)
		for name, path := range map[string]string{"conversation": "/conversations/c1", "history": "/history", "nothing-here": "/nowhere"} {
			p.open(s.url + path)
			state(name, ``, `document.readyState === "complete"`)
		}
		_, _ = s.board.Cancel(t.Context(), hub.Ref{Conversation: fmt.Sprint("q", width)}, web.Owner) // unless it was sent
		p.eval(`localStorage.clear(); 0`)
	}
}

// After an answer the next thing of the same agent comes into view at its top, also if
// it was asked meanwhile and stands far away; somebody else's does not.
func TestTheNextOfTheSameAgentComesIntoView(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	one := s.permit("c1", "Bash", "execute", "Bash", map[string]any{"command": "npm ci"})
	for i := range 5 {
		s.permit(fmt.Sprint("d", i), "Bash", "execute", "Bash", map[string]any{"command": fmt.Sprint("ls ", i)})
	}
	two := s.permit("c1", "Edit", "edit", "Edit a", map[string]any{"file_path": "/a", "old_string": "a", "new_string": "b"})
	last := s.permit("c2", "Bash", "execute", "Bash", map[string]any{"command": "make"})
	p := s.visit(b, 390, false)
	p.until(`document.querySelectorAll(".card").length === 8`)
	card := func(r *hub.Record) string { return fmt.Sprintf(`[data-revision^="%d-"]`, r.Revision) }
	allow := func(r *hub.Record) {
		p.eval(fmt.Sprintf(`document.querySelector('%s').scrollIntoView({ block: "center", behavior: "instant" }); 0`, card(r)))
		p.until(fmt.Sprintf(`!document.querySelector('%s .allow').disabled`, card(r)))
		p.click(card(r) + " .acts .allow")
		s.answered(r)
	}
	allow(one)
	p.until(fmt.Sprintf(`(() => { const t = document.querySelector('%s').getBoundingClientRect(); return t.top >= 0 && t.top < innerHeight * 0.6; })()`, card(two)))
	allow(two)
	p.until(`document.querySelector(".card.over")`)
	y := p.eval(`scrollY`)
	p.until(`!document.querySelector(".card.over")`) // its receipt has gone
	require.NotEqual(t, "", y)
	now := s.find("c2", last.ID)
	require.True(t, now.Open())
}

// What was put aside is found again, on the smallest phone, too.
func TestPutAsideIsFoundAgain(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	s.ask("c1", db)
	p := s.visit(b, 320, false)
	p.until(`document.querySelector(".card")`)
	p.click(`.later`)
	p.until(`document.querySelector("#aside") && document.querySelector(".card").hidden`)
	require.Equal(t, "true", p.eval(`(() => { const b = document.getElementById("aside"), r = b.getBoundingClientRect(); return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) === b && r.right <= innerWidth; })()`))
	require.Equal(t, "true", p.eval(`(() => { const h = document.querySelector(".bar h1"); return h.scrollWidth <= h.clientWidth; })()`), "the count is whole")
	p.click(`#aside`)
	p.until(`!document.querySelector(".card").hidden && !document.getElementById("aside")`)
}

// The page says that its person is away, and back.
func TestPageAway(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 390, false)
	p.eval(`document.getElementById("menu").open = true; 0`)
	for _, away := range []bool{true, false} {
		p.click(`#away input`)
		p.until(fmt.Sprintf(`document.getElementById("news").textContent.startsWith(%q)`, map[bool]string{true: "You are away", false: "You are back"}[away]))
		require.Equal(t, away, s.access.Away(""))
		p.eval(`document.getElementById("menu").open = false; 0`)
		p.eval(`document.querySelector("#away input").checked = ` + fmt.Sprint(!away)) // another device may have said it
		p.eval(`document.getElementById("menu").open = true; 0`)
		p.until(`document.querySelector("#away input").checked === ` + fmt.Sprint(away))
	}
}

// The badge of the installed page says how many are waiting, and goes with the last one.
func TestTheBadgeIsTheCount(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	list := []*hub.Record{s.ask("c1", db), s.ask("c2", extras), s.ask("c3", free)}
	p := s.visit(b, 390, false)
	p.call("Page.enable", nil)
	p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `
		window.badges = [];
		Navigator.prototype.setAppBadge = async (n) => { badges.push(n); throw new Error("not installed"); };
		Navigator.prototype.clearAppBadge = async () => { badges.push(0); };`})
	p.open(s.url + "/?badge")
	for i, r := range list {
		p.until(fmt.Sprintf(`window.badges?.at(-1) === %d`, len(list)-i))
		_, err := s.board.Cancel(t.Context(), r.Ref(), web.Owner)
		require.NoError(t, err)
	}
	p.until(`badges.at(-1) === 0`)
}
