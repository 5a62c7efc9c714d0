package web_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// deployForm asks what a server wants to know, in a form with a field of each kind.
func (s *site) deployForm(conversation string) *hub.Record {
	s.t.Helper()
	form, err := ask.ServerForm{Server: "deployer", Message: "Where does **this** go?", Mode: "form", Schema: json.RawMessage(`{"type":"object","required":["name","env","count"],"properties":{
		"name":{"type":"string","title":"Name of the service","description":"Lower case, with dashes"},
		"env":{"type":"string","title":"Environment","enum":["staging","production"],"enumNames":["Staging","Production"]},
		"count":{"type":"integer","title":"Replicas","minimum":1,"maximum":9,"default":3},
		"dry":{"type":"boolean","title":"Dry run","description":"Show what would be done, and do nothing"},
		"regions":{"type":"array","title":"Regions","items":{"type":"string","enum":["eu-west-1","us-east-1"]}}}}`)}.Call()
	require.NoError(s.t, err)
	form.ID = "toolu_1"
	rec, err := s.board.Ask(s.t.Context(), hub.Asking{Device: "owner", Conversation: conversation, Agent: "Claude Code", Dir: "/src/deploy", Dialect: "bridge", Kind: "form", Call: form.Call})
	require.NoError(s.t, err)
	return rec
}

// keepsReceipts has receipts stay, so that a test that is slow can read them.
func (p *tab) keepsReceipts() {
	p.eval(`window.setTimeout = ((set) => (f, ms) => ms === 6000 ? 0 : set(f, ms))(setTimeout); 0`)
}

// A form says once who asks; each field has its name as its heading, and what takes words
// says so.
func TestFormCard(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	s.deployForm("c1")
	p := s.phone(b)
	p.until(`document.querySelectorAll(".ask").length === 5`)
	require.JSONEq(t, `["Name of the service: Lower case, with dashes", "Environment", "Replicas (a whole number from 1 to 9)", "Dry run: Show what would be done, and do nothing", "Regions"]`,
		p.eval(`[...document.querySelectorAll(".ask .text")].map((e) => e.textContent.trim())`))
	require.JSONEq(t, `["The MCP server \"deployer\" asks: Where does this go?"]`, p.eval(`[...document.querySelectorAll(".intro")].map((e) => e.textContent.trim())`))
	require.JSONEq(t, `["1 of 5", "2 of 5", "3 of 5", "4 of 5", "5 of 5 · pick any"]`, p.eval(`[...document.querySelectorAll(".kind")].map((e) => e.textContent.trim())`))
	require.JSONEq(t, `["Staging", "Production", "3", "Yes", "No", "Skip"]`, p.eval(`[...document.querySelectorAll(".ask .label")].map((e) => e.textContent).slice(0, 6)`))
	require.Equal(t, "0", p.eval(`[...document.querySelectorAll(".ask .label")].filter((e) => e.textContent === "Decline").length`))
	require.Equal(t, "0", p.eval(`document.querySelectorAll(".note").length`), "the server has no place for a note")
	p.whole("form-card", 390)
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

// A note that the server could not be given is refused, not lost.
func TestFormTakesNoNote(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	rec := s.deployForm("c1")
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm(rec.ID)}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()},
		"t0": {"shop"}, "a1": {"0"}, "n1": {"but only after six"}, "a2": {"0"}, "a3": {"0"}, "a4": {"0"}}
	reply := s.expect(400, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
	require.Contains(t, reply, "has no place for a note")
	reply = s.expect(400, "POST", "/conversations/c1/respond", `{"answers":["shop",{"selected":["Staging"],"note":"but only after six"},"3","Yes",null]}`)
	require.Contains(t, reply, "has no place for a note")
	form.Del("n1")
	s.expect(200, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
}

// What is no form of fields is declined with its own option only.
func TestOnlyFormsAreDeclinedAsAWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	rec := s.ask("c1", db)
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm(rec.ID)}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()}, "do": {"decline"}}
	reply := s.expect(400, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
	require.Contains(t, reply, "cannot be declined")
	now, err := s.board.Find("c1", rec.ID)
	require.NoError(t, err)
	require.True(t, now.Open())
}
