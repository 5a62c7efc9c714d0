package hands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// Several that were seen are allowed at once: a list names them first, each gets an answer of
// its own, once, and all of it can be taken back. Not in it are those that were not seen, or
// changed, ended or came since; nor what "always" or a plan would permit.
func TestAllowWhatWasSeen(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 4)
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1100, "height": 1500, "deviceScaleFactor": 1, "mobile": false})
	long := s.permit("c2", "Bash", "execute", "", map[string]any{"command": strings.Repeat("echo working\n", 60)})
	written := s.permit("c3", "Bash", "execute", "", map[string]any{"command": "make"})
	planned := s.permit("c4", "ExitPlanMode", "switch_mode", "", map[string]any{"plan": "# Rename a flag"})
	asked := s.ask("c5", db)
	p.until(`document.querySelectorAll(".card").length === 8`)
	p.click(fmt.Sprintf(`[data-revision^="%d-"] .acts .reject`, written.Revision))
	p.words("I think")
	p.eval(`scrollTo(0, document.body.scrollHeight); 0`)
	p.until(`document.querySelector("main .bulk").textContent === "Allow the 4 you have seen…"`)
	opens := func() {
		t.Helper()
		p.insists(`document.querySelector("#bulk[open]")`, func() { p.click("main .bulk") })
	}
	named := func(want ...string) {
		t.Helper()
		p.until(fmt.Sprintf(`[...document.querySelectorAll("#bulk label:has(:checked) > span")].map((e) => e.textContent).join() === %q`, strings.Join(want, ",")))
		p.until(fmt.Sprintf(`document.querySelector("#bulk .allow").textContent === "Allow %d"`, len(want)))
	}
	opens()
	named("echo 0", "echo 1", "echo 2", "echo 3")
	p.shot("bulk")

	// What happens while the list is there takes from it, and adds nothing.
	_, err := s.board.Cancel(t.Context(), list[0].Ref(), "phone")
	require.NoError(t, err)
	late := s.permit("c6", "Bash", "execute", "", map[string]any{"command": "echo late"})
	p.until(`nth(0).matches(".over") && document.querySelectorAll(".card:not(.over)").length === 8`)
	named("echo 1", "echo 2", "echo 3")
	p.click("#bulk li:nth-child(4) input")
	named("echo 1", "echo 2")
	require.Equal(t, "false", p.eval(fmt.Sprintf(`document.querySelector('[data-revision^="%d-"] .acts .allow').matches(":enabled")`, late.Revision)), "nobody sees what is behind a dialog")

	// All of it can be taken back, by one button, or each in its card.
	run := func() { p.eval(`new Promise((done) => setTimeout(done, 3500))`) }
	p.insists(`document.querySelector(".many")?.textContent.startsWith("Allowing 2…")`, func() { p.click("#bulk .allow") })
	p.until(`Number(document.querySelector("main .bulk").textContent.match(/[0-9]+/)[0]) < 3`) // two are on their way
	p.shot("bulk-undo")
	require.Equal(t, "true", p.eval(`(() => { const all = document.body.scrollHeight, b = document.querySelector("main .bulk"), was = b.hidden; b.hidden = !was; const now = document.body.scrollHeight; b.hidden = was; return all === now; })()`), "the page is as long with the button as without")
	p.click(".many .undo")
	p.until(`!document.querySelector(".many, .sending:not([hidden])")`)
	run()
	s.open(append(list[1:], long, written, planned, asked, late)...)

	opens()
	p.until(`document.querySelector("#bulk .allow").textContent.startsWith("Allow ")`)
	p.eval(`document.querySelectorAll("#bulk label").forEach((l) => { if (!/echo [123]/.test(l.textContent)) l.querySelector("input").click(); })`)
	named("echo 1", "echo 2", "echo 3")
	p.insists(`document.querySelector(".many")?.textContent.startsWith("Allowing 3…")`, func() { p.click("#bulk .allow") })
	p.eval(`nth(3).querySelector(".undo").click()`)
	p.until(`document.querySelector(".many").textContent.startsWith("Allowing 2…")`)
	for _, r := range list[1:3] {
		require.Equal(t, []string{"Allow"}, s.answered(r)[0].Selected)
	}
	p.until(`!document.querySelector(".many")`)
	s.open(list[3], long, written, planned, asked, late)
}

// What ends while the list is read makes it shorter: a click that was for one row is none for
// the row that has come under the pointer. A box that was cleared stays so.
func TestAShorterListTakesNoOldClick(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 3)
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1100, "height": 1500, "deviceScaleFactor": 1, "mobile": false})
	p.eval(`scrollTo(0, document.body.scrollHeight); 0`)
	p.until(`document.querySelector("main .bulk:not([hidden])").textContent === "Allow the 3 you have seen…"`)
	p.insists(`document.querySelector("#bulk[open]")`, func() { p.click("main .bulk") })
	p.waits(600)
	p.click("#bulk li:nth-child(3) input")
	p.until(`document.querySelectorAll("#bulk :checked").length === 2`)
	// The row moves under the pointer, and the click comes right after that.
	p.eval(`document.querySelector("#bulk").addEventListener("change", (e) => { window.changed = e.target; });
		window.clicks = new Promise((done) => new MutationObserver(() => {
			const label = document.querySelector("#bulk li:nth-child(3) label");
			label.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));
			done();
		}).observe(document.querySelector("#bulk li small"), { childList: true })); 0`)
	_, err := s.board.Cancel(t.Context(), list[0].Ref(), "phone")
	require.NoError(t, err)
	p.eval(`clicks`)
	require.Equal(t, "true", p.eval(`!window.changed && document.querySelectorAll("#bulk :checked").length === 1`))
	p.waits(600)
	p.click("#bulk li:nth-child(3) input")
	p.until(`document.querySelectorAll("#bulk :checked").length === 2`)
}

// A hurried hand, or Enter that is held down, opens the list and allows nothing. What has
// several yeses is not in it.
func TestTheListOfManyIsReadFirst(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p, list := s.commands(b, 2)
	list = append(list, s.permit("c5", "ask", "other", "Which database?", nil, func(a *hub.Asking) { a.About.Picks[1] = "allow_once" }))
	p.until(`(scrollTo(0, document.body.scrollHeight), document.querySelectorAll(".acts .allow:enabled").length === 3)`)
	p.until(`document.querySelector("main .bulk:not([hidden])").textContent === "Allow the 2 you have seen…"`)
	p.eval(`document.querySelector("main .bulk").addEventListener("click", () => { document.querySelector("#bulk .allow").click(); })`)
	p.click("main .bulk")
	p.until(`document.querySelector("#bulk[open]")`)
	for range 3 {
		p.key("Enter")
	}
	p.letter("a")
	require.Equal(t, "0", p.eval(`document.querySelectorAll(".sending:not([hidden])").length`))
	p.click("#bulk .acts :last-child")
	p.until(`!document.querySelector("#bulk")`)
	s.open(list...)
}
