package hands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// A phone of a group sees, hears of and answers what that group is asked, and nothing else,
// also if it knows the names; nor does it let others in.
func TestPageOfAGroup(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	_, err := s.access.Add("red-phone", web.CanAnswer, "red")
	require.NoError(t, err)
	ours := s.permit("ours", "Bash", "execute", "", map[string]any{"command": "echo ours"})
	theirs := s.permit("theirs", "Bash", "execute", "", map[string]any{"command": "echo theirs"}, func(a *hub.Asking) { a.Group = "red" })
	owner := s.visit(b, 390, false)
	owner.until(`document.querySelectorAll(".card").length === 2 && document.querySelector("#phone-button")`)
	var card, form string // as the owner's page has it
	owner.reads(`[...document.querySelectorAll(".card")].find((c) => c.textContent.includes("echo ours")).id`, &card)
	owner.reads(`new URLSearchParams([...new FormData(document.querySelector("#`+card+` form.answer")), ["a0", "0"], ["do", "answer"]].filter(([k]) => !["page", "n0"].includes(k))).toString()`, &form)

	code, err := s.access.Code("red-phone")
	require.NoError(t, err)
	p := newChromium(t).newTab(390, false)
	p.open(s.url + "/login?code=" + code)
	p.click("main button")
	p.until(`document.title === "1 question waiting · acp-bridge" && document.querySelector(".card").textContent.includes("echo theirs")`)
	require.Equal(t, "null", p.eval(`document.querySelector("#phone-button")`))
	asks := func(path, how string) string {
		return p.eval(fmt.Sprintf(`fetch(%q, %s).then(async (r) => r.status + " " + await r.text())`, path, how))
	}
	for _, path := range []string{"/cards?also=" + card, "/cards?whole=" + card, "/history", "/questions"} {
		require.NotContains(t, asks(path, "{}"), "echo ours", path)
	}
	require.Contains(t, asks("/conversations/ours", `{headers: {Accept: "text/html"}}`), `"404 `)
	secret := `{"Acp-Bridge-Page": localStorage.getItem("acp-bridge page"), Accept: "application/json", "Content-Type": `
	for _, body := range []string{form, form + "&group=red", strings.ReplaceAll(form, "do=answer", "do=cancel")} {
		require.Contains(t, asks("/answer", fmt.Sprintf(`{method: "POST", body: %q, headers: %s "application/x-www-form-urlencoded"}}`, body, secret)), `"404 `, body)
	}
	for _, path := range []string{"/phones", "/lan", "/codes", "/devices"} {
		require.Contains(t, asks(path, fmt.Sprintf(`{method: "POST", body: "{}", headers: %s "application/json"}}`, secret)), `"403 `, path)
	}
	s.open(ours)
	_, err = s.board.Cancel(t.Context(), ours.Ref(), "phone")
	require.NoError(t, err)
	p.click(".acts .allow:enabled")
	p.until(`document.querySelector(".receipt, .nothing")`)
	require.NotContains(t, p.eval(`news.textContent`), "dismissed", "what is not seen is not heard of")
	now, err := s.board.FindRef(theirs.Ref())
	require.NoError(t, err)
	require.Equal(t, "red-phone", now.End.By)
	owner.until(`document.querySelector(".count").textContent === "Nothing waiting"`)
}

// One person answers one card in two tabs at the same moment: one answer counts, and the other
// tab says that its was not accepted.
func TestOneCardInTwoTabs(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	r := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "make"})
	tabs := []*tab{s.visit(b, 390, false), s.visit(b, 390, true)}
	for i, p := range tabs {
		p.keepsReceipts()
		p.until(`document.querySelector(".acts .allow:enabled")`)
		// The stream says nothing, and the answer leaves when the test says so.
		p.eval(`{ const ask = fetch; window.fetch = (...what) => what[0] === "/answer" ? new Promise((done) => { window.goes = () => done(ask(...what)); }) : new Promise(() => {}); EventSource.prototype.addEventListener = () => {}; }; 0`)
		if i == 0 {
			p.click(".acts .allow")
		} else {
			p.click(".acts .reject")
			p.click(".reason .reject")
		}
		p.until(`window.goes`)
	}
	for _, p := range tabs {
		p.eval(`goes(); 0`)
	}
	given := s.answered(r)[0].Selected[0]
	for i, p := range tabs {
		p.until(`document.querySelector(".receipt b")?.textContent`)
		var said string
		p.reads(`document.querySelector(".receipt").innerText`, &said)
		if mine := []string{"Allow", "Reject"}[i]; mine == given {
			require.Contains(t, said, mine+"ed · make · you, on this device")
		} else {
			require.Regexp(t, `Not accepted|by owner`, said)
			require.NotContains(t, said, mine+"ed")
		}
	}
}

// A hub goes while the list of many is open, and comes back with less: what is not there any
// more is not allowed, and what is there is as it was.
func TestTheListOfManyOverARestart(t *testing.T) {
	t.Parallel()
	b, start := newChromium(t), restarting(t)
	s, stop := start()
	p, list := s.commands(b, 3)
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1100, "height": 1500, "deviceScaleFactor": 1, "mobile": false})
	p.until(`document.querySelector("main .bulk:not([hidden])").textContent === "Allow the 3 you have seen…"`)
	p.insists(`document.querySelector("#bulk[open]")`, func() { p.click("main .bulk") })
	stop()
	p.until(`!document.querySelector("#link").hidden`)
	s, stop = start()
	defer stop()
	_, err := s.board.Cancel(t.Context(), list[1].Ref(), "phone")
	require.NoError(t, err)
	again := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "echo 1"}, func(a *hub.Asking) { a.Call.ID += "anew" })
	p.until(`document.querySelector("#link").hidden && document.querySelectorAll("#bulk :checked").length === 2`)
	require.JSONEq(t, `["echo 0", "echo 2"]`, p.eval(`[...document.querySelectorAll("#bulk label:has(:checked) > span")].map((e) => e.textContent)`))
	p.insists(`document.querySelector(".many")`, func() { p.waits(600); p.click("#bulk .allow") })
	p.click(".many .now")
	for _, r := range []*hub.Record{list[0], list[2]} {
		require.Equal(t, []string{"Allow"}, s.answered(r)[0].Selected)
	}
	s.open(again)
}
