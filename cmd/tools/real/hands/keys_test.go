package hands_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// commands asks for permission for n commands of one conversation, and opens the page
// that has them.
func (s *site) commands(b *chromium, n int) (p *tab, list []*hub.Record) {
	s.t.Helper()
	for i := range n {
		command := fmt.Sprintf("echo %d", i)
		list = append(list, s.permit("c1", "Bash", "execute", command, map[string]any{"command": command}, func(a *hub.Asking) { a.Call.ID += command }))
	}
	p = s.visit(b, 1100, false)
	p.until(fmt.Sprintf(`document.querySelectorAll(".card").length === %d && !document.querySelector(".card .allow").disabled`, n))
	// News stay, and cards that are over go when the test says so.
	p.eval(`window.ids = [...document.querySelectorAll(".card")].map((c) => c.id); window.nth = (n) => document.getElementById(ids[n]);
		window.news = document.getElementById("news"); window.going = []; const real = setTimeout;
		window.setTimeout = (f, ms) => ms === 6000 ? (going.push(f), 0) : ms === 5000 ? 0 : real(f, ms); 0`)
	return p, list
}

func (s *site) open(list ...*hub.Record) {
	s.t.Helper()
	for _, r := range list {
		now, err := s.board.Find(r.Conversation, r.ID)
		require.NoError(s.t, err)
		require.True(s.t, now.Open(), "%s", r.ID)
	}
}

// settle waits for longer than a page stands still before a key counts.
func (p *tab) settle() {
	p.until(`!document.querySelector(".moved")`)
	p.eval(`news.textContent = ""; new Promise((done) => setTimeout(done, 700))`)
}

// A key counts for a card that is in view. Else it brings the card there.
func TestKeysCountForWhatIsInView(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 9)
	const seen = `nth(%d).getBoundingClientRect().top >= 50 && nth(%[1]d).getBoundingClientRect().bottom <= innerHeight && news.textContent.includes("out of view")`
	p.letter("j")
	for _, key := range []string{"a", "1", "r", "n"} {
		p.settle()
		p.eval(`scrollTo({top: 1e6, behavior: "instant"}); 0`)
		p.letter(key)
		p.until(fmt.Sprintf(seen, 0))
		s.open(list...)
	}
	p.settle()
	p.letter("a")
	p.key("Enter")
	s.answered(list[0])
	p.until(`nth(0).matches(".over")`)
	s.open(list[1:]...)

	// The same holds for a button that has the focus.
	p.eval(`nth(1).querySelector(".allow").focus()`)
	for _, key := range []string{"Enter", " "} {
		p.settle()
		p.eval(`scrollTo({top: 1e6, behavior: "instant"}); 0`)
		p.key(key)
		p.until(fmt.Sprintf(seen, 1))
		s.open(list[1:]...)
	}
	p.settle()
	p.key("Enter")
	s.answered(list[1])
	s.open(list[2:]...)
}

// After an answer the next one is the one below, not one that was passed over, and it
// is the person who goes there: a card that has got the focus by itself is not yet
// what a key is for.
func TestKeysAfterAnAnswer(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 5)
	at := func(n int) {
		t.Helper()
		p.until(fmt.Sprintf(`document.activeElement === nth(%d)`, n))
		p.settle()
	}
	allow := func(n int) {
		t.Helper()
		p.letter("a")
		p.key("Enter")
		s.answered(list[n])
		p.until(fmt.Sprintf(`nth(%d).matches(".over")`, n))
	}
	p.letter("j")
	p.letter("j")
	at(1)
	allow(1)
	p.letter("j")
	at(2)
	allow(2)
	p.eval(`going.forEach((f) => f())`)
	at(3)
	p.letter("a")
	p.until(`news.textContent.includes("choose")`)
	s.open(list[0], list[3], list[4])
	p.letter("j")
	at(3)
	allow(3)
	p.eval(`going.forEach((f) => f())`)
	at(4)
	p.letter("k")
	at(0)
	s.open(list[0], list[4])
}

// What a key is for is there for half a second before the key counts.
func TestKeysThatComeTooSoon(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 2)
	p.eval(`performance.now = () => 1e12`) // what moves from now on has moved just now
	p.letter("j")
	for _, k := range []string{"a", "1", "2", "r"} {
		p.eval(`news.textContent = ""`)
		p.letter(k)
		p.until(`news.textContent.includes("just moved")`)
	}
	require.Equal(t, `"ARTICLE"`, p.eval(`document.activeElement.tagName`), "no reason is open")
	s.open(list...)
}

// Escape leaves a field, and the next key counts.
func TestKeysAfterEscape(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		types func(p *tab)
		next  string // the keys that go to the next card
	}{
		"nothing": {func(*tab) {}, "j"},
		"a press that ends elsewhere, and chooses no card": {func(p *tab) {
			x, y := p.middle("textarea:focus")
			p.call("Input.dispatchMouseEvent", map[string]any{"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1})
			p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseReleased", "x": 3, "y": 890, "button": "left", "clickCount": 1})
		}, "jj"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			p, list := s.commands(b, 2)
			p.letter("j")
			p.settle()
			p.letter("r")
			p.until(`nth(0).querySelector("textarea:focus")`)
			c.types(p)
			p.key("Escape")
			p.until(`document.activeElement === nth(0)`)
			p.types(c.next)
			require.Equal(t, "true", p.eval(`document.activeElement === nth(1)`), p.eval(`news.textContent`))
			s.open(list...)
		})
	}
}

// One tap is an answer, also of somebody who is gone a moment later.
func TestATapBeforeThePageGoes(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	for i, leave := range []func(p *tab){
		func(p *tab) { p.call("Page.navigate", map[string]any{"url": "about:blank"}) },
		func(p *tab) { p.call("Page.close", nil) },
		func(p *tab) {
			p.eval(`Object.defineProperty(document, "hidden", {value: true}); document.dispatchEvent(new Event("visibilitychange"))`)
		},
	} {
		r := s.ask(fmt.Sprint("c", i), db)
		p := s.visit(b, 390, false)
		p.until(`document.querySelectorAll(".card").length === 1`)
		p.eval(`const real = setTimeout; window.setTimeout = (f, ms) => ms === 3000 ? 0 : real(f, ms); 0`) // it is never sent by itself
		p.click(`.option label`)
		p.until(`document.querySelector(".sending").innerText.includes("Sending")`)
		s.open(r)
		leave(p)
		require.Equal(t, []string{"PostgreSQL"}, s.answered(r)[0].Selected)
	}
}

// A key that is down on Undo has begun in time, however late it comes up. If it never does,
// because somebody went elsewhere, the answer is sent all the same.
func TestAKeyHeldOnUndo(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 2)
	space := func(kind string) {
		p.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": " ", "code": "Space", "windowsVirtualKeyCode": 32})
	}
	holds := func() {
		t.Helper()
		p.letter("j")
		p.insists(`document.activeElement.matches(".acts .allow")`, func() { p.settle(); p.letter("a") })
		p.key("Enter")
		p.until(`document.querySelector(".sending:not([hidden])")`)
		p.eval(`document.querySelector(".sending:not([hidden]) .undo").focus()`)
		space("keyDown")
		p.waits(4000)
		require.Equal(t, "1", p.eval(`document.querySelectorAll(".sending:not([hidden])").length`))
		s.open(list...)
	}
	holds()
	space("keyUp")
	p.until(`!document.querySelector(".sending:not([hidden])")`)
	p.waits(1500)
	s.open(list...)
	p.rests()
	holds()
	p.eval(`document.activeElement.blur()`)
	p.until(`document.querySelector(".over .receipt")`)
}

// Enter that is held on Undo, or pressed once more, is no Submit of what it has brought back.
func TestEnterOnUndoSubmitsNothing(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	_, r := s.serverForm("c1", `{"type":"object","properties":{"f":{"type":"string","enum":["staging","production"],"default":"production"}}}`)
	p := s.visit(b, 390, false)
	p.holdsBack(s.url)
	p.click(".decline")
	p.until(`document.querySelector(".sending:not([hidden])")`)
	p.eval(`document.querySelector(".undo").focus()`)
	p.until(`!document.querySelector(".moved")`)
	p.key("Enter")
	p.until(`document.querySelector(".sending").hidden`)
	p.waits(700)
	p.key("Enter")
	p.waits(500)
	s.open(r)

	// Also where Submit permits, and is held for that.
	closed := convert.Question{Text: "Run it?", Closed: true, Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}
	r = s.permit("c2", "Bash", "execute", "rm", map[string]any{"command": "rm -rf build"}, func(a *hub.Asking) {
		outside := closed
		outside.Text = "Outside of the sandbox?"
		a.Call.Questions, a.About.Tool.Picks = []convert.Question{closed, outside}, nil
	})
	p.until(`document.querySelector("[data-talk$=c2] .acts [data-gated]:enabled")`)
	p.click(`[data-talk$=c2] [name=a0]`)
	p.click(`[data-talk$=c2] [name=a1]`)
	p.insists(`document.querySelector("[data-talk$=c2] .sending:not([hidden])")`, func() {
		p.until(`!document.querySelector(".moved")`)
		for _, kind := range []string{"keyDown", "keyUp"} {
			p.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "modifiers": 2})
		}
	})
	p.eval(`document.querySelector("[data-talk$=c2] .undo").focus()`)
	p.until(`!document.querySelector(".moved")`)
	for range 3 {
		p.key("Enter")
		p.waits(600)
		require.Equal(t, "true", p.eval(`document.querySelector("[data-talk$=c2] .sending").hidden`))
	}
	s.open(r)
}

// A press whose end nobody hears of, because a menu or another finger has it, keeps no answer
// from being sent.
func TestAPressWithoutAnEnd(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 390, false)
	p.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true, "maxTouchPoints": 2})
	p.eval(`const real = setTimeout; window.setTimeout = (f, ms) => real(f, ms > 2900 && ms <= 3000 ? 15000 : ms); 0`) // the test may be slower
	for i, press := range []func(x, y float64){
		func(x, y float64) {
			p.call("Input.dispatchMouseEvent", map[string]any{"type": "mousePressed", "x": x, "y": y, "button": "right", "clickCount": 1})
		},
		func(x, y float64) {
			one, two := map[string]any{"x": x, "y": y, "id": 1}, map[string]any{"x": 9, "y": 890, "id": 2}
			for _, fingers := range [][]map[string]any{{one}, {one, two}, {}} {
				p.call("Input.dispatchTouchEvent", map[string]any{"type": map[bool]string{true: "touchEnd", false: "touchStart"}[len(fingers) == 0], "touchPoints": fingers})
			}
		},
	} {
		r := s.ask(fmt.Sprint("c", i), db)
		p.click(".card:not(.over) .option label")
		p.until(`document.querySelector(".sending:not([hidden])")`)
		press(p.middle(".sending:not([hidden]) span"))
		require.Equal(t, []string{"PostgreSQL"}, s.answered(r)[0].Selected)
	}
}
