package hands_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// deployForm asks what a server wants to know, in a form with a field of each kind.
func (s *site) deployForm(conversation string) *hub.Record {
	s.t.Helper()
	_, rec := s.serverForm(conversation, `{"type":"object","required":["name","env","count"],"properties":{
		"name":{"type":"string","title":"Name of the service","description":"Lower case, with dashes"},
		"env":{"type":"string","title":"Environment","enum":["staging","production"],"enumNames":["Staging","Production"]},
		"count":{"type":"integer","title":"Replicas","minimum":1,"maximum":9,"default":3},
		"dry":{"type":"boolean","title":"Dry run","description":"Show what would be done, and do nothing"},
		"regions":{"type":"array","title":"Regions","items":{"type":"string","enum":["eu-west-1","us-east-1"]}}}}`)
	return rec
}

// keepsReceipts has receipts stay, so that a test that is slow can read them.
func (p *tab) keepsReceipts() {
	p.eval(`window.setTimeout = ((set) => (f, ms) => ms === 6000 ? 0 : set(f, ms))(setTimeout); 0`)
}

// A form says once who asks. Each field has its name, and a hint; defaults are filled in and
// count, and a field that may stay empty is left out: nothing else has to be answered.
func TestFormCard(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	rec := s.deployForm("c1")
	p := s.phone(b)
	p.until(`document.querySelectorAll(".ask").length === 5`)
	require.JSONEq(t, `["Name of the service|Lower case, with dashes", "Environment|", "Replicas|(a whole number from 1 to 9)", "Dry run|Show what would be done, and do nothing", "Regions|"]`,
		p.eval(`[...document.querySelectorAll(".ask .text")].map((e) => e.querySelector("p").textContent + "|" + (e.querySelector(".hint")?.textContent.trim() ?? ""))`))
	require.JSONEq(t, `["The MCP server \"deployer\" asks: Where does this go?"]`, p.eval(`[...document.querySelectorAll(".intro")].map((e) => e.textContent.trim())`))
	require.JSONEq(t, `["Staging", "Production", "eu-west-1", "us-east-1"]`, p.eval(`[...document.querySelectorAll(".ask .label")].map((e) => e.textContent)`))
	require.Equal(t, "0", p.eval(`document.querySelectorAll(".note").length`), "the server has no place for a note")
	require.Equal(t, "true", p.eval(`document.querySelector(".card").offsetHeight <= 844 * 1.5`), "it is longer than a phone's screen and a half")
	p.whole("form-card", 390)
	p.click(`[name=t0]`)
	p.types("shop")
	p.click(`button[value=answer]`)
	p.until(`document.querySelector(".card .problem").textContent === "1 of 5 questions have no answer yet."`)
	p.click(`[name=a1][value="0"]`)
	p.click(`button[value=answer]`)
	var given []string
	for _, a := range s.answered(rec) {
		given = append(given, a.Items()...)
	}
	require.Equal(t, []string{"shop", "Staging", "3", "Skip", "Skip"}, given)
}

// A form of several fields is declined with one button, which can be taken back; nothing
// has to be filled in for it.
func TestFormIsDeclinedAsAWhole(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	rec := s.deployForm("c1")
	p := s.phone(b)
	p.holdsBack(s.url)
	p.keepsReceipts()
	p.click(".decline")
	p.until(`document.querySelector(".sending").textContent.includes("Declining")`)
	p.click(".undo")
	p.until(`document.querySelector(".sending").hidden`)
	p.click(".decline")
	p.click(".now")
	p.until(`document.querySelector(".card.over .receipt b")?.textContent === "Declined"`)
	p.until(`document.querySelector(".receipt .what").textContent.includes("Where does this go?")`)
	given := s.answered(rec)
	require.Len(t, given, 5)
	for _, a := range given {
		require.Equal(t, []string{"Decline"}, a.Selected)
	}
}

// What was written is lost with a second click that was meant, not with that of a double
// click, however slow.
func TestADoubleClickLosesNoWords(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", free)
	p := s.visit(b, 390, false)
	p.holdsBack(s.url)
	p.click(`textarea[aria-label="Your answer"]`)
	p.words("store")
	p.until(`!document.querySelector(".moved")`)
	p.click(".dismiss")
	p.until(`document.querySelector(".dismiss").textContent.includes("lose")`)
	x, y := p.middle(".dismiss")
	for n, wait := range []int{700, 0} {
		p.waits(wait)
		for _, kind := range []string{"mousePressed", "mouseReleased"} {
			p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": n + 2})
		}
		p.waits(700)
		require.Equal(t, "true", p.eval(`document.querySelector(".sending").hidden`))
	}
	s.open(r)
	p.click(".dismiss")
	p.until(`document.querySelector(".sending").textContent.includes("Dismissing")`)
}

// Whoever dismisses a question at once needs not answer it before.
func TestDismissAtOnce(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	s.ask("c1", db)
	p := s.phone(b)
	p.holdsBack(s.url)
	p.keepsReceipts()
	p.click(".dismiss")
	p.click(".now")
	p.until(`document.querySelector(".card.over .receipt b")?.textContent === "Dismissed"`)
}
