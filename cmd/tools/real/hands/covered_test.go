package hands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// middle is the middle of an element.
func (p *tab) middle(selector string) (x, y float64) {
	p.t.Helper()
	var at struct{ X, Y float64 }
	p.reads(fmt.Sprintf(`(() => { const b = document.querySelector(%q).getBoundingClientRect(); return {X: b.x + b.width/2, Y: b.y + b.height/2}; })()`, selector), &at)
	return at.X, at.Y
}

// waits waits for some milliseconds of the page.
func (p *tab) waits(ms int) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`new Promise((done) => setTimeout(done, %d))`, ms))
}

// under puts the button that allows a card where the middle of something is that covers it.
func (p *tab) under(card int, selector string) (x, y float64) {
	p.t.Helper()
	x, y = p.middle(selector)
	p.eval(fmt.Sprintf(`{ const b = nth(%d).querySelector(".allow").getBoundingClientRect(); document.getElementById("cards").style.transform = `+"`translate(${%f - b.x - b.width/2}px, ${%f - b.y - b.height/2}px)`"+`; } 0`, card, x, y))
	return x, y
}

// A card says more, or less, of who asks: its buttons come to another place, though the card
// does not. A click on what has come under the pointer is for nothing.
func TestAHeadThatChangesMovesTheButtons(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: 3 * time.Second})
	r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "rm -rf build"})
	p := s.visit(b, 390, false)
	p.until(`document.querySelector(".card.away .acts .allow:enabled")`)
	p.click(".who h3") // a card that is in use stays in its place
	p.waits(1000)
	x, y := p.middle(".acts .reject")
	y += 18 // near its edge
	p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y})
	p.eval(`window.at = document.querySelector(".acts .reject").getBoundingClientRect().top; 0`)
	go s.board.Wait(t.Context(), s.find("c1", r.ID)) // its agent is back
	p.until(`document.querySelector(".card:not(.away)")`)
	require.Equal(t, "true", p.eval(`document.querySelector(".acts .reject").getBoundingClientRect().top < at`))
	require.Equal(t, "true", p.eval(fmt.Sprintf(`document.elementFromPoint(%f, %f).closest(".always") !== null`, x, y)), "what permits always is where the rejection was")
	p.presses(x, y, 1)
	p.waits(800)
	s.open(r)
	require.Contains(t, p.eval(`document.getElementById("news").textContent`), "The page has just moved.")
}

// Who is late for Undo does not press what was below it.
func TestWhoIsLateForUndoAllowsNothing(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 3)
	p.insists(`document.querySelector("#bulk[open]")`, func() { p.click("main .bulk") })
	p.waits(600) // a list that was just opened takes no click
	p.click("#bulk li:nth-child(1) input")
	p.insists(`document.querySelector(".many")`, func() { p.click("#bulk .allow") })
	x, y := p.under(0, ".many .undo")
	p.eval(`new Promise((done) => { const look = () => document.querySelector(".many") ? requestAnimationFrame(look) : done(); look(); })`)
	p.presses(x, y, 1)
	p.waits(800)
	s.answered(list[1])
	s.open(list[0])
}

// The second of two taps on a button that closes a dialog meets what the dialog had covered.
func TestWhatADialogCoveredIsNotPressed(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 3)
	p.insists(`document.querySelector("#bulk[open]")`, func() { p.click("main .bulk") })
	x, y := p.under(0, "#bulk .acts :last-child")
	p.waits(600)
	p.presses(x, y, 1)
	p.until(`!document.querySelector("#bulk")`)
	p.presses(x, y, 1)
	p.waits(800)
	s.open(list...)
}

// What ends while the list is there makes it shorter, and its button comes to where a box was.
func TestAListThatShrinksIsReadAgain(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	var list []*hub.Record
	for i := range 6 {
		list = append(list, s.permit(fmt.Sprint("c", i), "Bash", "execute", "", map[string]any{"command": fmt.Sprint("echo ", i)}, func(a *hub.Asking) {
			a.Dir = "/src/" + strings.Repeat("a-project-with-a-long-name", 4)
		}))
	}
	p := s.visit(b, 320, false)
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 320, "height": 4000, "deviceScaleFactor": 1, "mobile": true})
	p.until(`document.querySelector("main .bulk").textContent === "Allow the 6 you have seen…"`)
	p.insists(`document.querySelector("#bulk[open]")`, func() { p.click("main .bulk") })
	p.waits(600)
	at := p.at("#bulk .allow")
	for _, r := range list[:5] {
		_, err := s.board.Cancel(t.Context(), r.Ref(), "phone")
		require.NoError(t, err)
	}
	// A hand that is quicker than half a second, however slow the machine is.
	p.eval(`new Promise((done) => { const look = () => document.querySelectorAll("#bulk input:disabled").length === 5 ? done(document.querySelector("#bulk .allow").click()) : setTimeout(look, 1); look(); })`)
	require.Less(t, p.at("#bulk .allow"), at-40)
	require.Equal(t, "null", p.eval(`document.querySelector(".many")`))
	s.open(list[5])
}

// Whoever types means no Enter, also where the first of the list has ended.
func TestWhoTypesInTheListAllowsNothing(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 3)
	p.insists(`document.querySelector("#bulk[open]")`, func() { p.click("main .bulk") })
	_, err := s.board.Cancel(t.Context(), list[0].Ref(), "phone")
	require.NoError(t, err)
	p.until(`document.querySelectorAll("#bulk input:disabled").length === 1`)
	p.waits(600)
	p.tabTo(`document.activeElement.matches("#bulk .allow")`)
	p.types("I\n")
	p.waits(3500)
	s.open(list[1:]...)
}

// How long ago a card was asked moves nothing in it.
func TestTimesMoveNothing(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	for i := range 10 {
		s.permit(fmt.Sprint("c", i), "Bash", "execute", "", map[string]any{"command": "ls"}, func(a *hub.Asking) { a.About.Title = strings.Repeat("word and ", i+1) })
	}
	p := s.visit(b, 320, false)
	p.until(`document.querySelectorAll(".card").length === 10`)
	require.Equal(t, "[]", p.eval(`[...document.querySelectorAll(".who")].map((e) => new Set(["now", "33 s", "1 min", "59 min", "1 h", "47 h", "12 days"].map((text) => {
		e.querySelector("time").textContent = text; return e.offsetHeight; })).size).filter((n) => n > 1)`))
}

// What was behind a dialog has been seen when it was in view for as long as anything else.
func TestWhatADialogCoveredIsSeenLater(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, _ := s.commands(b, 1)
	least := 1e9
	for n := range 5 { // the moment differs
		p.eval(`document.getElementById("keys-button").click(); 0`)
		p.until(`document.querySelector("#keys[open]")`)
		s.permit(fmt.Sprint("c", n+5), "Bash", "execute", "", map[string]any{"command": "ls"})
		p.until(fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, n+2))
		p.eval(`document.querySelector(".card:has(.allow:disabled)").scrollIntoView({ block: "center", behavior: "instant" }); 0`)
		p.waits(430 + 37*n)
		var ms float64
		p.reads(`new Promise((done) => { const c = document.querySelector(".card:has(.allow:disabled)"), t = performance.now(); document.getElementById("keys").close();
			const look = () => c.querySelector(".allow:enabled") ? done(performance.now() - t) : setTimeout(look, 1); look(); })`, &ms)
		least = min(least, ms)
	}
	require.GreaterOrEqual(t, least, 145.0)
}

// The line that leads to what is new goes when that has ended: who wanted to press it does
// not press what was below.
func TestWhatTheLineOfNewsCoveredIsNotPressed(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 4)
	late := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "echo late"}, func(a *hub.Asking) { a.Call.ID += "late" })
	p.until(`!document.getElementById("unseen").hidden`)
	x, y := p.under(0, "#unseen")
	p.waits(1000)
	_, err := s.board.Cancel(t.Context(), late.Ref(), "phone")
	require.NoError(t, err)
	p.eval(`new Promise((done) => { const look = () => document.getElementById("unseen").hidden ? done() : setTimeout(look, 1); look(); })`)
	p.presses(x, y, 1)
	p.waits(800)
	s.open(list...)
	require.Contains(t, p.eval(`news.textContent`), "The page has just moved.")
}

// A double click on what dismisses all that is left only asks, and so does Enter that is held.
func TestADoubleClickDismissesNothing(t *testing.T) {
	t.Parallel()
	for name, press := range map[string]func(p *tab){
		"a double click": func(p *tab) { x, y := p.middle(".dismiss-all button"); p.presses(x, y, 2) },
		"a held key": func(p *tab) {
			p.eval(`document.querySelector(".dismiss-all button").focus(); 0`)
			for _, again := range []bool{false, true} {
				p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r", "autoRepeat": again})
				p.waits(700)
			}
			p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{Lease: 50 * time.Millisecond})
			r := s.ask("c1", db)
			p := s.visit(b, 390, false)
			p.until(`document.querySelector(".dismiss-all button")?.textContent === "Dismiss it"`)
			p.waits(600)
			press(p)
			p.waits(800)
			s.open(r)
			p.until(`document.querySelector(".dismiss-all button").textContent.startsWith("Dismiss it?")`)
		})
	}
}
