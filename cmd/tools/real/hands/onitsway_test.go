package hands_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// keepsSends has what the page sends wait in the page: sends[n]() lets it go. What problems
// cards have told is noted.
func (p *tab) keepsSends() {
	p.t.Helper()
	p.eval(`{ const ask = fetch; window.sends = []; window.fetch = (...what) => what[0] === "/answer" ? new Promise((done, not) => sends.push((lost) => lost ? ask(...what).then(() => not(new TypeError("the reply is lost"))) : done(ask(...what)))) : ask(...what); }; 0`)
	p.hears()
}

// hears notes what problems cards tell, in told.
func (p *tab) hears() {
	p.t.Helper()
	p.patience = time.Minute
	p.eval(`window.told = []; new MutationObserver(() => { for (const e of document.querySelectorAll(".problem")) if (e.textContent && told.at(-1) !== e.textContent) told.push(e.textContent); }).observe(document.getElementById("cards"), { subtree: true, childList: true, characterData: true }); 0`)
}

// A card that is answered elsewhere while this page's own answer is on its way says who
// answered: it does not know yet whether that was its own person.
func TestAnsweredElsewhereWhileItsAnswerIsOnItsWay(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "make"})
	p := s.visit(b, 390, false)
	p.keepsReceipts()
	p.keepsSends()
	p.click(".acts .allow:enabled")
	p.until(`sends.length === 1`)
	_, err := s.board.Cancel(t.Context(), r.Ref(), "phone")
	require.NoError(t, err)
	p.until(`document.querySelector(".over .receipt")`)
	require.JSONEq(t, `"make · dismissed by phone"`, p.eval(`document.querySelector(".receipt > span").innerText.trim()`))
	p.eval(`sends[0]()`)
	p.until(`document.querySelector(".receipt b").textContent === "Not accepted"`)
	require.Contains(t, p.eval(`document.querySelector(".receipt").innerText`), "cancelled already by phone")
}

// Whoever taps a card again whose answer is on its way sends no second one, and what they
// have picked stays what was sent.
func TestASecondTapSendsNothing(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db)
	p := s.visit(b, 390, false)
	run := p.holdsBack(s.url)
	p.keepsSends()
	p.click(".option label")
	p.until(`document.querySelector(".sending:not([hidden])")`)
	run()
	p.until(`sends.length === 1 && !document.querySelector(".moved")`)
	for _, again := range []func(){
		func() { x, y := p.middle(".option + .option label"); p.presses(x, y, 1) },
		func() { p.letter("j"); p.waits(700); p.letter("2") },
	} {
		p.eval(`document.querySelector("#news").textContent = ""; 0`)
		p.insists(`["This is still being sent.", "Not yet."].includes(document.querySelector("#news").textContent)`, again)
		run()
		require.JSONEq(t, `[1, "0"]`, p.eval(`[sends.length, document.querySelector(".option :checked").value]`))
	}
	p.eval(`sends[0]()`)
	require.Equal(t, []string{"PostgreSQL"}, s.answered(r)[0].Selected)
}

// A hub that does not reply is told of: at first that the answer is still being sent, and when
// nobody waits any longer that nobody knows. What was written stays, and can be sent again.
func TestAHubThatDoesNotReply(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	proxy := netfault.Between(t, s.url[len("http://"):])
	s.url = "http://" + proxy.Addr()
	r := s.ask("c1", extras)
	p := s.visit(b, 390, false)
	p.keepsReceipts()
	p.hears()
	p.eval(`{ const wait = AbortSignal.timeout.bind(AbortSignal); AbortSignal.timeout = (ms) => wait(ms === 30000 ? 5000 : ms); }; 0`)
	p.click(".option label")
	p.click(".own")
	p.words("and a cache")
	p.until(`document.querySelector("button[value=answer]:enabled") && !document.querySelector(".moved")`)
	something, release := proxy.Hold()
	release = sync.OnceFunc(release)
	defer release()
	p.click("button[value=answer]")
	select {
	case <-something:
	case <-time.After(patience):
		t.Fatal("nothing was sent")
	}
	p.until(`told.includes("This is still being sent.")`)
	p.until(`document.querySelector(".card .problem").textContent.startsWith("The hub has not replied: it may have your answer, or not.")`)
	p.until(seesAll(".card .problem"))
	require.JSONEq(t, `["0", "and a cache"]`, p.eval(`[document.querySelector(".card :checked").value, document.querySelector(".own").value]`))
	release()
	p.insists(`document.querySelector(".over .receipt")`, func() { p.eval(`document.querySelector("button[value=answer]:enabled")?.click(); 0`) })
	require.Equal(t, "and a cache", s.answered(r)[0].Text)
	require.NotContains(t, p.eval(`told`), "not sent")
}

// A hub that is back is asked what became of an answer before anything is said of it: the
// agent may have it. Then the page says who answered, also if it was not connected by then.
func TestAReplyThatWasLost(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "make"})
	p := s.visit(b, 390, false)
	p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{
		const on = EventSource.prototype.addEventListener;
		EventSource.prototype.addEventListener = function (kind, f) { return on.call(this, kind, (event) => { if (!window.deaf) f(event); }); };
	}`})
	p.open(s.url + "/?deaf")
	p.keepsReceipts()
	p.keepsSends()
	p.click(".acts .allow:enabled")
	p.until(`sends.length === 1`)
	p.eval(`window.deaf = true; sends[0]("lost")`)
	s.answered(r)
	p.until(`told.length`)
	p.eval(`window.deaf = false; 0`)
	p.until(`document.querySelector(".over .receipt > span")?.innerText === "Allowed · make · by owner"`)
	require.NotContains(t, p.eval(`told`), "not sent")
}

// Only the hub says that it has an answer: not whatever replies in its place, as a network
// does that wants a login of its own.
func TestAReplyOfAnother(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "make"})
	p := s.visit(b, 390, false)
	p.hears()
	for _, said := range []string{"<html>Log in to this network", "{}", `{"login":"https://sso.example"}`, "null", ""} {
		p.eval(fmt.Sprintf(`told.length = 0; window.ask ??= fetch; window.fetch = async (...what) => what[0] === "/answer" && !window.ours ? new Response(%q, { status: 200 }) : ask(...what); 0`, said))
		p.click(".acts .allow:enabled")
		p.until(`told.includes("The hub cannot be reached. What you wrote is still here; try again.")`)
		require.Equal(t, "0", p.eval(`document.querySelectorAll(".over").length`), said)
		s.open(r)
		p.until(`told.includes("The hub is back. This was not sent.")`)
	}
	p.eval(`window.ours = true; 0`)
	p.click(".acts .allow:enabled")
	require.Equal(t, []string{"Allow"}, s.answered(r)[0].Selected)
}

// Whoever logs out has answered: what is pending, or on its way, arrives first. What is
// tapped meanwhile is refused in words, and who was not heard stays.
func TestLoggingOutSendsWhatIsPending(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pending", "on its way", "not accepted"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			r, other := s.ask("c1", db), s.ask("c2", db)
			p := s.visit(b, 390, false)
			run := p.holdsBack(s.url)
			p.keepsReceipts()
			p.keepsSends()
			p.click(".option label")
			p.until(`document.querySelector(".sending:not([hidden])")`)
			if name != "pending" {
				run()
				p.until(`sends.length === 1`)
			}
			p.eval(`document.getElementById("menu").open = true; 0`)
			p.click("#logout button")
			p.until(`sends.length === 1`)
			for _, at := range []string{".lane-name", `[data-talk$=c2] .option label`} { // once it refuses, it refuses all
				x, y := p.middle(at)
				p.insists(`document.querySelector("#news").textContent.startsWith("You are logging out")`, func() { p.presses(x, y, 1) })
				p.eval(`document.querySelector("#news").textContent = ""; 0`)
			}
			if name == "not accepted" {
				_, err := s.board.Cancel(t.Context(), r.Ref(), "phone")
				require.NoError(t, err)
				p.eval(`sends[0](); 0`)
				p.until(`document.querySelector("#news").textContent.startsWith("You are still logged in")`)
				p.eval(`document.getElementById("menu").open = true; 0`)
				p.click("#logout button")
			} else {
				p.eval(`sends[0](); 0`)
				require.Equal(t, []string{"PostgreSQL"}, s.answered(r)[0].Selected)
			}
			p.until(`!document.getElementById("cards") && document.readyState === "complete"`)
			s.open(other)
			require.Equal(t, "[]", p.eval(`Object.keys(localStorage).filter((k) => k.startsWith("acp-bridge draft"))`))
		})
	}
}

// What appears in a card by itself, and goes, moves what is below: that is marked as what has
// moved, like below a card that comes or ends.
func TestWhatMovesWithinACardIsMarked(t *testing.T) {
	t.Parallel()
	const loses = "a dismissal that would lose words"
	for name, do := range map[string]func(p *tab, run func()){
		"an answer that is sent": func(p *tab, run func()) {
			run()
			p.until(`sends.length === 1`)
			p.eval(`sends[0](); 0`)
			p.until(`document.querySelector(".over .receipt")`)
		},
		"one that is not accepted": func(p *tab, run func()) {
			p.eval(`window.fetch = ((ask) => async (...what) => what[0] === "/answer" ? new Response("{}", { status: 503 }) : ask(...what))(fetch); 0`)
			run()
			p.until(`document.querySelector(".card .problem:not([hidden])")`)
		},
		"one that is still being sent, and cannot be": func(p *tab, run func()) {
			run()
			p.until(`document.querySelector(".card .problem").textContent === "This is still being sent."`)
			p.eval(`sends[0]("lost"); 0`)
			p.until(`document.querySelector(".over .receipt")`)
		},
		"one that is taken back": func(p *tab, _ func()) {
			p.click(".undo")
			p.until(`document.querySelector(".card .sending").hidden`)
			p.click(".acts [value=answer]")
			p.until(`document.querySelector(".missing")`)
			p.click(`[name=a1]`)
			p.until(`document.querySelector(".missing")`)
		},
		loses: func(*tab, func()) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			if name == "an answer that is sent" || name == loses { // its bar is not as tall as its buttons
				s.permit("c1", "Bash", "execute", "", map[string]any{"command": "make"})
			} else {
				s.deployForm("c1")
			}
			s.ask("c2", db)
			p := s.phone(b)
			run := p.holdsBack(s.url)
			p.keepsReceipts()
			p.keepsSends()
			p.until(`document.querySelectorAll(".card").length === 2 && !document.querySelector(".moved")`)
			p.eval(`{
				window.shifts = 0; window.unmarked = [];
				const places = () => new Map([...document.querySelectorAll(".card:not(.over)")].map((c) => [c, [c.getBoundingClientRect().top, scrollY]]));
				let was = places();
				new MutationObserver(() => {
					const now = places();
					for (const [card, [top, y]] of now) {
						const [before, from] = was.get(card) ?? [top, y];
						if (Math.abs(top - before) < 1 || Math.abs(top + y - before - from) < 1) continue; // that was a hand
						shifts++;
						if (!card.matches(".moved")) unmarked.push(Math.round(top - before));
					}
					was = now;
				}).observe(document.getElementById("cards"), { subtree: true, childList: true, attributes: true, characterData: true });
			} 0`)
			if name == "an answer that is sent" {
				p.click(".acts .reject")
			}
			if name == loses {
				p.click(".acts .reject")
				p.until(`!document.querySelector(".moved")`)
				p.eval(`window.tall = document.activeElement.offsetHeight; 0`)
				p.words("because") // one line, where the hint had two
				require.Equal(t, "true", p.eval(`document.activeElement.offsetHeight < tall`))
				p.eval(`document.getElementById("cards").dataset.looked = "yes"; 0`)
				p.until(`shifts`)
				p.until(`!document.querySelector(".moved")`)
			}
			p.click(".decline, .reason .dismiss")
			p.until(`document.querySelector(".sending:not([hidden]), .dismiss[data-sure]")`)
			p.until(`!document.querySelector(".moved")`)
			do(p, run)
			require.JSONEq(t, "[]", p.eval(`unmarked`))
			require.NotEqual(t, "0", p.eval(`shifts`), "nothing has moved, and this looks at nothing")
		})
	}
}

// A list that the hub never sends keeps none of what comes later from the page.
func TestAListThatNeverComes(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 390, false)
	p.hears()
	p.eval(`{
		const wait = AbortSignal.timeout.bind(AbortSignal), ask = fetch;
		AbortSignal.timeout = (ms) => wait(ms === 30000 ? 1000 : ms);
		window.fetch = (...what) => {
			if (window.lost || !what[0].startsWith("/cards")) return ask(...what);
			window.lost = true;
			return new Promise((_, not) => what[1]?.signal?.addEventListener("abort", () => not(what[1].signal.reason)));
		};
	} 0`)
	s.ask("c1", db)
	p.until(`window.lost && document.querySelector(".card")`)
	p.until(`document.querySelector("#link").hidden`)
}

// What was kept of a question goes, if that has ended while no page was open; what is kept of
// one that waits stays.
func TestWhatWasKeptOfAQuestionGoesWithIt(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	gone, open := s.ask("c1", extras), s.ask("c2", extras)
	p := s.visit(b, 390, false)
	p.hears()
	for _, c := range []string{"c1", "c2"} {
		p.click(`[data-talk$=` + c + `] .option label`)
	}
	const kept = `Object.keys(localStorage).filter((k) => k.startsWith("acp-bridge draft")).length`
	p.until(kept + ` === 2`)
	p.open("about:blank")
	_, err := s.board.Cancel(t.Context(), gone.Ref(), "phone")
	require.NoError(t, err)
	p.open(s.url + "/?again")
	p.until(kept + ` === 1 && document.querySelector("[data-talk$=c2] :checked")`)
	s.open(open)
}
