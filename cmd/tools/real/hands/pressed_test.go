package hands_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// Undo makes room for the buttons that it had taken the place of: the second click of a
// hurried hand presses none of them.
func TestUndoPressedTwiceTakesBack(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(s *site, b *chromium) (*hub.Record, *tab){
		"a wide yes": func(s *site, b *chromium) (*hub.Record, *tab) {
			r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "rm -rf build"}, func(a *hub.Asking) {
				a.Call.Questions[0].Options[0].Label = "Yes, run this command now, just this once"
			})
			p := s.visit(b, 390, false)
			p.holdsBack(s.url)
			p.until(`document.querySelector(".acts .allow:enabled")`)
			p.letter("j")
			p.insists(`document.activeElement.matches(".acts .allow")`, func() { p.waits(700); p.letter("a") })
			p.key("Enter")
			return r, p
		},
		"a form that is declined": func(s *site, b *chromium) (*hub.Record, *tab) {
			_, r := s.serverForm("c1", `{"type":"object","properties":{"f":{"type":"string"}},"required":["f"]}`)
			p := s.visit(b, 390, false)
			p.holdsBack(s.url)
			p.click(".decline")
			return r, p
		},
	} {
		for _, finger := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", by finger: ", finger), func(t *testing.T) {
				t.Parallel()
				b, s := newChromium(t), newSite(t, hub.Options{})
				r, p := begin(s, b)
				p.until(`document.querySelector(".sending:not([hidden])") && !document.querySelector(".moved")`)
				x, y := p.middle(".sending .undo")
				if finger {
					p.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true})
					for range 2 {
						p.call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []map[string]any{{"x": x, "y": y}}})
						p.call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []map[string]any{}})
					}
				} else {
					p.presses(x, y, 2)
				}
				p.until(`document.querySelector("#news").textContent === "The page has just moved. Click again."`)
				p.waits(300)
				require.Equal(t, "true", p.eval(`document.querySelector(".sending").hidden && !document.querySelector(".card").mine`))
				s.open(r)
			})
		}
	}
}

// An arrow key picks, and sends nothing: also where a press on the option came to no click of it.
func TestAnArrowKeyIsNoTap(t *testing.T) {
	t.Parallel()
	which := convert.Question{Text: "What to delete?", Options: []convert.Option{{Label: "none, keep all of it"}, {Label: "production, all of it"}, {Label: "staging"}}}
	for name, press := range map[string]func(p *tab){
		"its words are selected": func(p *tab) {
			var at struct{ X, Y, W float64 }
			p.reads(`(() => { const b = document.querySelectorAll(".option .label")[1].getBoundingClientRect(); return {X: b.x, Y: b.y + b.height / 2, W: b.width}; })()`, &at)
			for i, kind := range []string{"mousePressed", "mouseMoved", "mouseMoved", "mouseReleased"} {
				p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X + 2 + float64(min(i, 2))*(at.W-6)/2, "y": at.Y, "button": "left", "buttons": 1, "clickCount": 1})
			}
			require.NotEqual(p.t, `""`, p.eval(`getSelection().toString()`))
		},
		"another is being sent": func(p *tab) {
			p.eval(`window.fetch = ((ask) => (...what) => what[0] === "/answer" ? new Promise((_, not) => { window.fails = () => not(new TypeError("gone")); }) : ask(...what))(fetch); 0`)
			p.click(".option label")
			p.click(".now")
			p.until(`window.fails && !document.querySelector(".moved")`)
			x, y := p.middle(".option + .option label")
			p.presses(x, y, 1)
			p.until(`document.querySelector("#news").textContent === "This is still being sent."`)
			p.eval(`fails(); 0`)
			p.until(`!document.querySelector(".card").mine`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			r := s.ask("c1", which)
			p := s.visit(b, 1100, false)
			p.holdsBack(s.url)
			press(p)
			p.insists(`document.querySelector(".option + .option :checked")`, func() { // it counts for what has stood for a while
				p.until(`!document.querySelector(".moved")`)
				p.waits(600)
				p.eval(`document.querySelector(".option input").focus(); 0`)
				p.key("ArrowDown")
			})
			require.Equal(t, "true", p.eval(`document.querySelector(".sending").hidden`))
			s.open(r)
		})
	}
}

// What comes and goes in the menu moves nothing else in it.
func TestTheMenuStands(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 2)
	p.until(`document.querySelector("main .bulk:not([hidden])")`)
	p.click("#menu summary")
	p.until(`document.querySelector(".menu .bulk").checkVisibility() && document.getElementById("ask-notify").checkVisibility()`)
	const places = `[...document.querySelectorAll(".sheet :is(button, input):not(.bulk)")].map((e) => e.checkVisibility() && Math.round(e.getBoundingClientRect().top))`
	var before, now []any
	p.reads(places, &before)
	_, err := s.board.Cancel(t.Context(), list[1].Ref(), "phone")
	require.NoError(t, err)
	p.until(`document.querySelector(".menu .bulk").hidden`)
	p.reads(places, &now)
	require.Equal(t, before, now, fmt.Sprint(before))
}

// What can be taken back says so where somebody looks, however tall its card is.
func TestUndoIsInView(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	q := convert.Question{Text: "Which one?"}
	for i := range 40 {
		q.Options = append(q.Options, convert.Option{Label: fmt.Sprint("option ", i), Description: "what it does"})
	}
	r := s.ask("c1", q)
	p := s.phone(b)
	run := p.holdsBack(s.url)
	at := p.at(".option label")
	p.click(".option label")
	p.until(seesAll(".sending:not([hidden]) .undo"))
	require.InDelta(t, at, p.at(".option label"), 1, "it moves nothing")
	p.click(".undo")
	p.until(`document.querySelector(".sending").hidden`)
	run()
	s.open(r)
}

// The line with Undo and Send takes the place of the buttons: a hand that was on its way to
// one of these presses none of the others.
func TestALineThatComesIsNotPressed(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "rm -rf build"})
	p := s.visit(b, 390, false)
	p.holdsBack(s.url)
	p.until(`document.querySelector(".acts .allow:enabled")`)
	p.letter("j")
	p.insists(`document.activeElement.matches(".acts .allow")`, func() { p.waits(700); p.letter("a") })
	// A hand that is quicker than half a second, however slow the machine is.
	p.eval(`document.querySelector(".sending").addEventListener("click", () => { window.met = true; }, true);
		new MutationObserver(() => document.querySelector(".sending:not([hidden]) .now")?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }))).observe(document.querySelector(".sending"), { attributes: true, attributeFilter: ["hidden"] }); 0`)
	p.key("Enter")
	p.until(`document.querySelector("#news").textContent.startsWith("Not sent")`)
	p.waits(300)
	require.Equal(t, "null", p.eval(`window.met ?? null`))
	s.open(r)
}

// What would be lost with an answer is asked about first, whatever the answer is.
func TestWhatIsLostIsAsked(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newHooked(t)
	r, told := s.planned()
	p := s.visit(b, 390, false)
	p.holdsBack(s.url)
	p.click(".dots")
	p.click(".edit summary")
	p.until(`document.activeElement.matches(".edit textarea")`)
	p.eval(`document.activeElement.select()`)
	p.key("Backspace")
	p.reload() // also what was emptied, and is in sight
	p.until(`document.querySelector(".edit[open] textarea")?.value === ""`)
	p.click(".acts .reject")
	p.click(".reason .reject")
	p.until(`document.querySelector(".reason .reject").textContent === "Reject, and lose what you wrote?"`)
	s.open(r)
	p.click(".reason .reject")
	require.Contains(t, <-told, `"deny"`)

	site := newSite(t, hub.Options{})
	form := site.deployForm("c1")
	p = site.visit(b, 390, false)
	p.holdsBack(site.url)
	p.click("[name=t0]")
	p.words("shop")
	p.click(".decline")
	p.until(`document.querySelector(".decline").textContent === "Decline, and lose what you wrote?"`)
	require.Equal(t, "true", p.eval(`document.querySelector(".sending").hidden`))
	p.click(".decline")
	p.click(".now")
	require.Equal(t, []string{"Decline"}, site.answered(form)[0].Selected)
}

// What says that something is missing goes when it is there: the options come to another
// place, and the second click of a hurried hand picks none of them.
func TestTwoClicksAreOnePick(t *testing.T) {
	t.Parallel()
	for name, many := range map[string]bool{"one of them": false, "several": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			q := convert.Question{Text: "What about production?", MultiSelect: many, Options: []convert.Option{{Label: "keep it"}, {Label: "delete it"}}}
			s.ask("c1", q, db)
			p := s.visit(b, 390, false)
			p.click("button[value=answer]")
			p.until(`document.querySelectorAll(".missing").length === 2 && !document.querySelector(".moved")`)
			p.waits(600)
			var x, y float64
			var at struct{ X, Bottom float64 }
			p.reads(`(({ x, bottom }) => ({ x, bottom }))(document.querySelector(".option label").getBoundingClientRect())`, &at)
			x, y = at.X+60, at.Bottom-6
			p.presses(x, y, 2)
			p.until(`document.querySelectorAll(".missing").length === 1`)
			require.Equal(t, "true", p.eval(fmt.Sprintf(`document.elementFromPoint(%f, %f).closest("label")?.textContent.includes("delete it")`, x, y)), "the other one is there now")
			p.waits(300)
			require.JSONEq(t, `["keep it"]`, p.eval(`[...document.querySelectorAll(".option label:has(:checked) .label")].map((e) => e.textContent)`))
		})
	}
}

// A press on Undo has begun in time, also where the page is hidden before it ends.
func TestAPageThatIsHiddenWhileUndoIsPressed(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db)
	p := s.visit(b, 390, false)
	p.holdsBack(s.url)
	p.click(".option label")
	p.until(`document.querySelector(".sending:not([hidden])") && !document.querySelector(".moved")`)
	x, y := p.middle(".undo")
	p.call("Input.dispatchMouseEvent", map[string]any{"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1})
	p.eval(`Object.defineProperty(document, "hidden", { value: true }); document.dispatchEvent(new Event("visibilitychange"))`)
	p.until(`document.querySelector(".sending").hidden`)
	p.waits(500)
	s.open(r)
}

// What an input method has not finished is not sent.
func TestWordsThatAreBeingComposedAreNotSent(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", free)
	p := s.visit(b, 390, false)
	p.click(".card textarea")
	p.words("sto")
	enter := func(composing bool) {
		p.eval(fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true, isComposing: %t })); 0`, composing))
	}
	enter(true)
	p.waits(300)
	s.open(r)
	p.words("re")
	enter(false)
	require.Equal(t, "store", s.answered(r)[0].Text)
}
