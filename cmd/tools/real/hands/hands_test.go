package hands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// types presses a key for each letter, as quick as hands are.
func (p *tab) types(text string) {
	p.t.Helper()
	for _, c := range text {
		if c == '\n' {
			p.key("Enter")
		} else {
			p.letter(string(c))
		}
		time.Sleep(15 * time.Millisecond)
	}
}

// finger taps an element, on a screen that takes fingers.
func (p *tab) finger(selector string) {
	p.t.Helper()
	p.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true})
	p.until(`document.readyState === "complete" && !document.querySelector(".moved") && document.querySelector(` + fmt.Sprintf("%q", selector) + `)`)
	var at struct{ X, Y float64 }
	p.reads(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center", behavior: "instant"}); const b = e.getBoundingClientRect(); return {X: b.x + b.width/2, Y: b.y + b.height/2}; })()`, selector), &at)
	p.call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []map[string]any{{"x": at.X, "y": at.Y}}})
	p.call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []map[string]any{}})
}

// rests is what hands do before keys count again.
func (p *tab) rests() { p.eval(`new Promise((done) => setTimeout(done, 2200))`) }

// Reasons and notes are typed where they are shown, however they were opened: the field has
// the focus at once, and the words allow nothing.
func TestAFieldThatOpensHasTheFocus(t *testing.T) {
	t.Parallel()
	const words = "always use 1 ninja, 2 please"
	for name, open := range map[string]func(p *tab, selector string){
		"pointer": (*tab).click,
		"finger":  (*tab).finger,
		"hurried": func(p *tab, selector string) {
			p.twice = true
			p.click(selector)
			p.twice = false
		},
		"Enter": func(p *tab, selector string) {
			p.tabTo(fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, selector))
			p.key("Enter")
		},
		"key": func(p *tab, selector string) {
			if selector == ".acts .reject" {
				p.letter("j")
				p.eval(`window.news = document.getElementById("news"); 0`)
				p.settle()
				p.letter("r")
				return
			}
			p.click(selector)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
			r := s.permit("c1", "Bash", "execute", "rm", map[string]any{"command": "rm -rf build"})
			q := s.ask("c2", db)
			p := s.visit(b, 390, false)
			p.until(`document.querySelector(".acts .allow:not(:disabled)")`)
			for _, field := range []string{".reason", ".note"} {
				open(p, map[string]string{".reason": ".acts .reject", ".note": ".note summary"}[field])
				p.until(fmt.Sprintf(`document.activeElement === document.querySelector("%s textarea")`, field))
				p.types(words)
				p.until(fmt.Sprintf(`document.querySelector("%s textarea").value === %q`, field, words))
			}
			s.open(r, q)
			require.Equal(t, "0", p.eval(`document.querySelectorAll("input:checked").length`))
			p.click(".reason .dismiss")
			p.until(`document.querySelector(".dismiss").textContent.includes("lose")`) // it asks once more
			p.click(".reason button")
			require.Equal(t, []convert.Answer{{Selected: []string{"Reject"}, Note: words}}, s.answered(r))
		})
	}
}

// A card that ends under somebody who types takes the field away. What they go on to type
// is no key of another card: not at once, not when the receipt has gone, and not after they
// have thought for a while.
func TestTypingGoesOnAfterACardHasEnded(t *testing.T) {
	t.Parallel()
	const sentence = "no: ask a lawyer, as 1 always does. just keep it\n and a\n"
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 4)
	p.click(".acts .reject")
	p.click(".reason textarea")
	p.types("I think ")
	_, err := s.board.Cancel(t.Context(), list[0].Ref(), "phone")
	require.NoError(t, err)
	p.until(`nth(0).matches(".over")`)
	again := s.permit("c1", "Bash", "execute", "echo 0", map[string]any{"command": "echo 0"}, func(a *hub.Asking) { a.Call.ID = "anew" })
	p.until(`document.querySelectorAll(".card:not(.over)").length === 4`)
	p.letter("j")
	require.Equal(t, `"What you were typing in has ended. Keys count again when you pause."`, p.eval(`news.textContent`))
	p.types(sentence)
	p.eval(`going.forEach((f) => f())`) // the receipt goes
	p.types(sentence)
	p.rests()
	p.types(sentence)
	require.Equal(t, "0", p.eval(`document.querySelectorAll(".sending:not([hidden])").length`))
	p.eval(`new Promise((done) => setTimeout(done, 3500))`) // for longer than a send waits
	s.open(append(list[1:], again)...)
	require.Equal(t, "0", p.eval(`[...document.querySelectorAll(".card:not(.over) textarea")].filter((t) => t.value !== t.defaultValue).length`))

	// Whoever has rested, and goes to a card, has keys.
	p.rests()
	p.eval(`news.textContent = ""; 0`)
	p.insists(`document.activeElement.matches(".card .acts .allow")`, func() {
		p.letter("j")
		p.settle()
		p.letter("a")
	})
	p.key("Enter")
	p.until(`document.querySelector(".sending:not([hidden]), .over .receipt")?.innerText.includes("Allow")`)
}

// No letter allows: it takes a second key, and what was allowed so can be taken back.
// Letters that mean nothing, selected text or an open field show that keys are not meant.
func TestNoLetterAllows(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 3)
	run := func() { p.eval(`new Promise((done) => setTimeout(done, 3500))`) }
	none := func(why string) {
		t.Helper()
		run()
		s.open(list...)
		require.Equal(t, "0", p.eval(`document.querySelectorAll(".sending:not([hidden])").length`), why)
	}
	p.letter("j")
	p.settle()
	for _, keys := range []string{"a", "1", "2", "3", "A", "a ", "1 ", "aa", "always a\n", "a1a1", "2 \n"} {
		p.types(keys)
		none(keys)
		p.eval(`document.activeElement.blur(); 0`)
	}
	var at struct{ X, Y float64 } // in the middle of the command
	p.reads(`(() => { const r = document.createRange(); r.selectNodeContents(nth(0).querySelector(".thing .l")); const b = r.getBoundingClientRect(); return {X: b.x + b.width / 4, Y: b.y + b.height / 2}; })()`, &at)
	p.presses(at.X, at.Y, 2)
	require.Equal(t, `"echo"`, p.eval(`getSelection().toString().trim()`))
	p.settle()
	p.types("a\n")
	none("text is selected")
	p.eval(`getSelection().empty(); 0`)

	allow := func() {
		t.Helper()
		p.insists(`document.activeElement === nth(0).querySelector(".allow")`, func() { p.settle(); p.letter("a") })
		p.key("Enter")
		p.until(`nth(0).querySelector(".sending").innerText.includes("Allow")`)
	}
	for _, undo := range []string{"z", "x"} { // by its key, and by one that means nothing
		allow()
		p.letter(undo)
		p.until(`nth(0).querySelector(".sending").hidden`)
		none(undo)
	}
	allow()
	p.letter("j") // who goes on has not changed their mind
	require.Equal(t, []string{"Allow"}, s.answered(list[0])[0].Selected)
	s.open(list[1:]...)

	// A click that meets what has just come there goes to no card, and letters after it to none.
	_, err := s.board.Cancel(t.Context(), list[1].Ref(), "phone")
	require.NoError(t, err)
	p.until(`nth(1).matches(".over")`)
	run()
	list = list[2:]
	p.reads(`(() => { document.activeElement.blur(); going.forEach((f) => f()); const b = nth(2).querySelector(".reject").getBoundingClientRect(); return {X: b.x + 9, Y: b.y + 9}; })()`, &at)
	p.presses(at.X, at.Y, 2)
	p.until(`news.textContent.includes("just moved") || document.activeElement.matches("textarea")`)
	p.settle()
	p.types("a\n")
	none("the click was for nothing")
}

// A press whose click was passed over, or went elsewhere, has gone to no card: letters after
// it are those of somebody who does not know that yet. Nor has the second click of a double
// click gone to one, if the first was for something else.
func TestAPressThatCameToNothingChoosesNoCard(t *testing.T) {
	t.Parallel()
	const goes, waits = `going.forEach((f) => f())`, `new Promise((done) => setTimeout(done, 700))`
	type step struct {
		kinds string
		at    int // whose button; 0 is the place of the step before
		eval  string
	}
	for name, steps := range map[string][]step{
		"the page moves under a press":         {{"mousePressed", 1, goes}, {"mouseReleased", 0, ""}},
		"it is let go of in another card":      {{"mousePressed", 1, ""}, {"mouseReleased", 2, ""}},
		"a double click meets two cards":       {{"mousePressed mouseReleased", 2, waits}, {"mousePressed mouseReleased 2", 1, ""}},
		"its first click meets what has moved": {{"mousePressed mouseReleased", -1, waits}, {"mousePressed mouseReleased 2", 1, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for {
				b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
				p, list := s.commands(b, 4)
				_, err := s.board.Cancel(t.Context(), list[0].Ref(), "phone")
				require.NoError(t, err)
				p.until(`nth(0).matches(".over") && going.length === 1`)
				p.settle()
				var at struct{ X, Y float64 }
				late := false // for what has just moved
				for _, step := range steps {
					begun := time.Now()
					if step.at < 0 {
						p.eval(goes)
					}
					if step.at != 0 {
						p.reads(fmt.Sprintf(`(() => { const b = nth(%d).querySelector(".reject").getBoundingClientRect(); return {X: b.x + 9, Y: b.y + 9}; })()`, max(step.at, 1)), &at)
					}
					for _, kind := range strings.Fields(step.kinds) {
						if kind != "2" {
							p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": strings.Count(step.kinds, "2") + 1})
						}
					}
					late = late || step.at < 0 && time.Since(begun) > 400*time.Millisecond
					p.eval(step.eval)
				}
				if late {
					continue
				}
				p.eval(waits)
				p.types("a\n")
				require.Equal(t, "0", p.eval(`document.querySelectorAll(".sending:not([hidden]), textarea:focus").length`))
				s.open(list[1:]...)
				require.Contains(t, p.eval(`news.textContent`), "Keys count again")
				return
			}
		})
	}
}

// What permits is held by keys where it is several questions, too: Submit permits then.
func TestKeysThatSubmitAPermissionAreHeld(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	closed := func(text string) convert.Question {
		return convert.Question{Text: text, Closed: true, Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}
	}
	r := s.permit("c1", "Bash", "execute", "rm", map[string]any{"command": "rm -rf build"}, func(a *hub.Asking) {
		a.Call.Questions, a.About.Tool.Picks = []convert.Question{closed("Run it?"), closed("Outside of the sandbox?")}, nil
	})
	p := s.visit(b, 1100, false)
	p.until(`document.querySelector(".acts [data-gated]:not(:disabled)")`)
	p.click(`[name=a0][value="0"]`)
	p.click(`[name=a1][value="1"]`)
	for _, undo := range []string{".undo", ".now"} {
		p.insists(`document.querySelector(".sending:not([hidden])")?.textContent.includes("Yes")`, func() {
			for _, kind := range []string{"keyDown", "keyUp"} {
				p.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "modifiers": 2})
			}
		})
		s.open(r)
		p.click(undo)
	}
	require.Len(t, s.answered(r), 2)
}

// What is pending is what was shown. Whatever else is done in its card stops it, and the
// page says so; nothing is sent then.
func TestWhatIsPendingIsWhatWasShown(t *testing.T) {
	t.Parallel()
	one := convert.Question{Text: "Which to delete?", Header: "Delete", Options: []convert.Option{{Label: "none, keep all"}, {Label: "production"}}}
	send, dismiss := `.option label`, `.dismiss`
	for name, c := range map[string]struct {
		q     convert.Question
		begin string
		do    func(p *tab)
	}{
		"an arrow key":            {one, send, func(p *tab) { p.key("ArrowDown") }},
		"a note is opened":        {one, send, func(p *tab) { p.click(".note summary") }},
		"a note, by finger":       {one, send, func(p *tab) { p.finger(".note summary") }},
		"own words":               {one, send, func(p *tab) { p.click(".own") }},
		"own words, by Tab":       {one, send, func(p *tab) { p.tabTo(`document.activeElement.matches(".own")`) }},
		"letters":                 {one, send, func(p *tab) { p.types("but") }},
		"dismissal, then a tick":  {extras, dismiss, func(p *tab) { p.click(`.option label`) }},
		"dismissal, then a key":   {one, dismiss, func(p *tab) { p.tabTo(`document.activeElement.name === "a0"`); p.key("ArrowDown") }},
		"dismissal, then a field": {extras, dismiss, func(p *tab) { p.finger(".own") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			r := s.ask("c1", c.q)
			p := s.visit(b, 390, false)
			run := p.holdsBack(s.url)
			p.eval(`window.sent = 0; { const ask = fetch; window.fetch = (...what) => { if (what[0] === "/answer") sent++; return ask(...what); }; }; 0`)
			p.click(c.begin)
			p.until(`document.querySelector(".sending:not([hidden])")`)
			c.do(p)
			p.until(`document.querySelector(".sending").hidden`)
			p.until(`document.querySelector("#news").textContent.startsWith("Not ")`)
			run()
			require.Equal(t, "0", p.eval(`window.sent`))
			s.open(r)
		})
	}
}

// Nobody knows which card a click was meant for that was passed over: it stops what is pending.
func TestAClickThatIsPassedOverStopsWhatIsPending(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	one, two := s.ask("c1", db), s.ask("c2", db)
	p := s.visit(b, 390, false)
	run := p.holdsBack(s.url)
	p.click(`[data-talk$=c1] .option label`)
	p.until(`document.querySelector("[data-talk$=c1] .sending:not([hidden])") && !document.querySelector(".moved")`)
	x, y := p.middle(`[data-talk$=c2] .option label`)
	for _, kind := range []string{"mousePressed", "mouseReleased"} { // the second half of a double click
		p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 2})
	}
	p.until(`document.querySelector("[data-talk$=c1] .sending").hidden`)
	run()
	p.waits(300)
	s.open(one, two)
}

// Whoever has written why not does not allow it with the other button: the page asks.
func TestAReasonIsNoApproval(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "make"})
	p := s.visit(b, 390, false)
	p.until(`document.querySelector(".acts .allow:enabled")`)
	p.click(".acts .reject")
	p.words("not in the evening")
	p.click(".acts .allow")
	p.until(`document.querySelector(".card .problem").textContent === "A reason goes with a rejection. Clear it to allow this."`)
	p.waits(300)
	s.open(r)
}
