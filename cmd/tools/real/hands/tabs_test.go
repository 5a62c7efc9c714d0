package hands_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// Whoever logs out in one tab has answered in the others, too: what is pending there, or on
// its way, arrives first, and the login stays if the hub does not take it.
func TestLoggingOutSendsWhatIsPendingElsewhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pending", "on its way", "not accepted"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			r := s.ask("c1", db)
			one, two, three := s.visit(b, 390, false), s.visit(b, 390, true), s.visit(b, 390, true)
			run := two.holdsBack(s.url)
			two.keepsReceipts()
			two.keepsSends()
			three.until(`document.querySelector(".live .card")`) // it has nothing to send
			two.click(".option label")
			two.until(`document.querySelector(".sending:not([hidden])")`)
			if name == "on its way" {
				run()
				two.until(`sends.length === 1`)
			}
			one.click(".menu summary")
			one.click("#logout button")
			two.until(`sends.length === 1`)
			one.waits(1500)
			require.Equal(t, "true", one.eval(`Boolean(document.getElementById("cards"))`), "it waits")
			x, y := two.middle(".option + .option label") // nothing new begins meanwhile
			two.insists(`document.querySelector("#news").textContent.startsWith("You are logging out")`, func() { two.presses(x, y, 1) })
			if name == "not accepted" {
				_, err := s.board.Cancel(t.Context(), r.Ref(), "phone")
				require.NoError(t, err)
				two.eval(`sends[0](); 0`)
				one.until(`document.querySelector("#news").textContent.startsWith("You are still logged in")`)
				two.until(`document.querySelector(".receipt b")?.textContent === "Not accepted"`)
				other := s.ask("c2", db) // and the page is of use again
				for _, p := range []*tab{two, one} {
					p.until(`document.querySelector("[data-talk$=c2]")`)
				}
				two.click("[data-talk$=c2] .option + .option label")
				two.click("[data-talk$=c2] .now")
				two.until(`sends.length === 2`)
				two.eval(`sends[1](); 0`)
				require.Equal(t, []string{"SQLite"}, s.answered(other)[0].Selected)
				return
			}
			two.eval(`sends[0](); 0`)
			require.Equal(t, []string{"PostgreSQL"}, s.answered(r)[0].Selected)
			for _, p := range []*tab{one, two, three} {
				p.until(`!document.getElementById("cards") && document.readyState === "complete"`)
			}
		})
	}
}

// A login that has ended otherwise takes nothing away in silence: the page says what was not
// sent before it goes.
func TestALoginThatHasEndedSaysWhatWasNotSent(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db)
	p := s.visit(b, 390, false)
	p.holdsBack(s.url)
	p.keepsReceipts()
	p.eval(`window.alert = (text) => sessionStorage.setItem("alerted", text); 0`)
	p.click(".option label")
	p.until(`document.querySelector(".sending:not([hidden])")`)
	p.call("Network.clearBrowserCookies", nil)
	p.eval(`dispatchEvent(new Event("offline")); 0`) // it looks again
	p.until(`!document.getElementById("cards") && document.readyState === "complete"`)
	require.Equal(t, `"You are logged out. Not sent: Which database should we use?"`, p.eval(`sessionStorage.getItem("alerted")`))
	s.open(r)
}
