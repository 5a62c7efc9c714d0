package hands_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// Where many wait, those that nobody is at are a line each, which a tap or a key opens.
// Nothing is decided in a line; what has been begun stays open, and after an answer the next
// one opens.
func TestManyAreLines(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	var list []*hub.Record
	for i := range 30 {
		command := fmt.Sprintf("echo %d", i)
		list = append(list, s.permit(fmt.Sprint("c", i), "Bash", "execute", "", map[string]any{"command": command}, func(a *hub.Asking) { a.Dir = fmt.Sprint("/src/", i/10) }))
	}
	p := s.visit(b, 390, false)
	p.keepsReceipts()
	at := func(r *hub.Record, more string) string {
		return fmt.Sprintf(`[data-revision^="%d-"]%s`, r.Revision, more)
	}
	opened := func(want ...*hub.Record) {
		t.Helper()
		for _, r := range want {
			p.until(fmt.Sprintf(`document.querySelector('%s')`, at(r, ":not(.row)")))
		}
		p.until(fmt.Sprintf(`document.querySelectorAll(".card:not(.row, .over)").length === %d`, len(want)))
	}
	opened()
	p.shot("rows")
	require.JSONEq(t, `[]`, p.eval(`[...document.querySelectorAll(".brief")].filter((l) => l.offsetHeight < 44 || l.scrollWidth > l.clientWidth).map((l) => l.innerText)`))
	require.Equal(t, "0", p.eval(`[...document.querySelectorAll(".row :is(.acts, form, label)")].filter((e) => e.checkVisibility()).length`))
	require.Equal(t, `"echo 7"`, p.eval(fmt.Sprintf(`document.querySelector('%s').textContent`, at(list[7], " .brief [dir]"))))

	p.click(at(list[7], " .brief"))
	opened(list[7])
	p.shot("rows-open")
	for _, dark := range []bool{false, true} {
		q := s.visit(b, map[bool]int{false: 320, true: 1280}[dark], dark)
		q.until(`document.querySelectorAll(".row").length === 30`)
		q.click(at(list[1], " .brief"))
		q.until(fmt.Sprintf(`document.querySelector('%s')`, at(list[1], " .acts .allow:enabled")))
		require.Equal(t, "true", q.eval(`document.documentElement.scrollWidth <= innerWidth`))
		q.shot(fmt.Sprint("rows-dark-", dark))
		if os.Getenv("ACP_BRIDGE_AXE") != "" {
			q.axe("lines")
		}
	}
	p.click(at(list[8], " .brief"))
	opened(list[8])
	p.click(at(list[8], " .acts .reject"))
	p.words("not now")
	p.eval(`document.activeElement.blur()`)
	p.click(at(list[20], " .brief"))
	opened(list[8], list[20]) // a reason has been begun
	p.until(fmt.Sprintf(`document.querySelector('%s')`, at(list[20], " .acts .allow:enabled")))
	p.click(at(list[20], " .acts .allow"))
	require.Equal(t, []string{"Allow"}, s.answered(list[20])[0].Selected)
	opened(list[8], list[21])

	// A double click on a line opens the card, and presses nothing in it.
	p.twice = true
	p.click(at(list[2], " .brief"))
	p.twice = false
	opened(list[8], list[2])
	p.eval(`getSelection().empty(); new Promise((done) => setTimeout(done, 3500))`)

	// Keys open what they go to, and decide nothing in a line.
	p.letter("j") // passed over: the second click went to nothing
	p.rests()
	p.letter("j") // it goes to the one that has the focus
	p.letter("j")
	opened(list[8], list[3])
	p.key("Tab")
	for range 60 {
		if p.eval(`document.activeElement.matches(".brief")`) == "true" {
			break
		}
		p.key("Tab")
	}
	p.letter("a")
	opened(list[8], list[4])
	p.key("Enter")
	p.eval(`new Promise((done) => setTimeout(done, 3500))`)
	s.open(append(list[:20:20], list[21:]...)...)

	// One that comes is a line, too; what says so goes when it was in view.
	late := s.permit("late", "Bash", "execute", "", map[string]any{"command": "echo late"})
	p.until(`!document.getElementById("unseen").hidden`)
	p.eval(fmt.Sprintf(`document.querySelector('%s').scrollIntoView({ block: "center", behavior: "instant" }); 0`, at(late, ".row")))
	p.until(`document.getElementById("unseen").hidden`)
	_, _ = s.board.Cancel(t.Context(), late.Ref(), "phone")

	// Where few are left all are open again.
	for _, r := range list[9:] {
		_, _ = s.board.Cancel(t.Context(), r.Ref(), "phone")
	}
	for _, r := range list[:4] {
		_, _ = s.board.Cancel(t.Context(), r.Ref(), "phone")
	}
	opened(list[4:9]...)
}

// Every kind of card has a line that is seen, whatever it shows when it is open.
func TestEveryKindHasALine(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	s.kinds()
	s.deployForm("c7")
	s.ask("c8", extras)
	p := s.visit(b, 390, false)
	p.until(`document.querySelectorAll(".row").length === 12`)
	require.JSONEq(t, `[]`, p.eval(`[...document.querySelectorAll(".row")].filter((c) => c.offsetHeight < 44).map((c) => c.textContent)`))
}

// Of what has come elsewhere a line says where. It covers nothing of the filter.
func TestNewsBelowCoverNoFilter(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	p := s.visit(b, 390, false)
	p.click("#filter-button")
	for i := range 40 {
		s.ask(fmt.Sprint("c", i), free)
	}
	p.until(`!document.getElementById("unseen").hidden && document.querySelectorAll(".row").length === 40`)
	p.eval(`document.activeElement.blur(); scrollTo(0, 0); 0`)
	require.JSONEq(t, `[]`, p.eval(`[...document.querySelectorAll("#filter :is(input, select)")].filter((e) => e.checkVisibility()).filter((e) => {
		const b = e.getBoundingClientRect(); return document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2) !== e; }).map((e) => e.name)`))
	p.shot("filter-unseen")
	p.eval(`scrollTo(0, 700); 0`)
	p.until(`document.getElementById("unseen").getBoundingClientRect().top < 99`)
}

// Of a hundred that wait all are in one list. Those far down are no more than their line until
// somebody opens it: by pointer, by key, or without scripts. What is decided then was in view.
func TestAHundredAreOneList(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	var list []*hub.Record
	for i := range 100 {
		list = append(list, s.permit(fmt.Sprint("c", i), "Bash", "execute", "", map[string]any{"command": fmt.Sprintf("echo %d", i)}))
	}
	p := s.visit(b, 390, false)
	p.keepsReceipts()
	card := func(i int, more string) string {
		return fmt.Sprintf(`[data-revision^="%d-"]%s`, list[i].Revision, more)
	}
	is := func(i int, more string) {
		t.Helper()
		p.until(fmt.Sprintf(`document.querySelector('%s')`, card(i, more)))
	}
	p.until(`document.querySelectorAll(".row").length === 100 && document.querySelectorAll(".stub").length === 50 && !document.querySelector(".pages span")`)
	p.shot("hundred")
	p.click(card(80, " .brief"))
	is(80, ":not(.row):focus .acts .allow:enabled")
	p.until(`document.querySelectorAll(".card:not(.row)").length === 1`)
	p.click(card(80, " .acts .reject"))
	p.words("not this one")
	p.eval(`document.activeElement.blur()`)
	p.click(card(79, " .brief"))
	is(79, ":not(.row) .acts .allow:enabled")
	is(80, ":not(.row)") // it has been begun
	p.click(card(79, " .acts .allow"))
	require.Equal(t, []string{"Allow"}, s.answered(list[79])[0].Selected)

	// What was begun is there again after a reload, and a line that has the focus keeps it.
	p.reload()
	is(80, ":not(.row, .stub) .reason[open]")
	require.Equal(t, `"not this one"`, p.eval(fmt.Sprintf(`document.querySelector('%s').value`, card(80, " textarea[name=n0]"))))
	p.eval(fmt.Sprintf(`document.querySelector('%s').focus()`, card(90, " .brief")))
	late := s.permit("late", "Bash", "execute", "", map[string]any{"command": "echo late"})
	p.until(`document.querySelectorAll(".card:not(.over)").length === 100`)
	require.Equal(t, "true", p.eval(fmt.Sprintf(`document.activeElement.matches('%s')`, card(90, ".stub .brief"))))
	p.key("Enter")
	is(90, ":not(.row):focus")

	// Whoever does something else meanwhile is not taken to it.
	p.eval(`{ const ask = fetch; window.fetch = (...what) => String(what[0]).startsWith("/cards") ? new Promise((done) => { window.comes = () => done(ask(...what)); }) : ask(...what); }; 0`)
	p.click(card(60, " .brief"))
	p.until(`window.comes`)
	p.click(card(2, " .brief"))
	is(2, ":not(.row):focus")
	p.eval(`comes()`)
	is(60, ".row:not(.stub)")
	is(2, ":focus")

	// A key on a line opens it, also while its card is on its way, and the next key counts.
	p.click(card(70, " .brief"))
	p.letter("a")
	p.until(fmt.Sprintf(`(window.comes(), document.querySelector('%s'))`, card(70, ":not(.row):focus")))
	p.letter("k")
	p.until(fmt.Sprintf(`(window.comes(), document.querySelector('%s'))`, card(69, ":not(.row):focus")))
	s.open(append(append(list[:79:79], list[80:]...), late)...)

	q := b.newTab(390, false)
	q.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	q.mute = true
	code, err := s.access.Code(web.Owner)
	require.NoError(t, err)
	q.open(s.url + "/login?code=" + code)
	q.click("main button")
	q.until(`document.querySelectorAll(".stub").length === 50`)
	comes := func(selector string) {
		q.eval(fmt.Sprintf(`document.querySelector('%s').scrollIntoView({ block: "center" }); 0`, selector))
	}
	comes(card(95, " .brief"))
	q.click(card(95, " .brief"))
	q.until(fmt.Sprintf(`location.hash && document.querySelector('%s')`, card(95, ":not(.stub) .acts .allow")))
	comes(card(95, " .acts .allow"))
	q.click(card(95, " .acts .allow"))
	require.Equal(t, []string{"Allow"}, s.answered(list[95])[0].Selected)
}
