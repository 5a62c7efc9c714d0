package web_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// deployForm asks what a server wants to know, in a form with a field of each kind.
func (s *site) deployForm(conversation string) *hub.Record {
	s.t.Helper()
	form := acptest.Must(ask.ServerForm{Server: "deployer", Message: "Where does **this** go?", Mode: "form", Schema: json.RawMessage(`{"type":"object","required":["name","env","count"],"properties":{
		"name":{"type":"string","title":"Name of the service","description":"Lower case, with dashes"},
		"env":{"type":"string","title":"Environment","enum":["staging","production"],"enumNames":["Staging","Production"]},
		"count":{"type":"integer","title":"Replicas","minimum":1,"maximum":9,"default":3},
		"dry":{"type":"boolean","title":"Dry run","description":"Show what would be done, and do nothing"},
		"regions":{"type":"array","title":"Regions","items":{"type":"string","enum":["eu-west-1","us-east-1"]}},
		"why":{"type":"string","title":"Reason"}}}`)}.Call())
	form.ID = "toolu_1"
	rec, err := s.board.Ask(s.t.Context(), hub.Asking{Device: "owner", Conversation: conversation, Agent: "Claude Code", Dir: "/src/deploy", Dialect: "bridge", Kind: "form", Call: form.Call})
	require.NoError(s.t, err)
	return rec
}

// A note that the server could not be given is refused, not lost.
func TestFormTakesNoNote(t *testing.T) {
	s := siteBeside(t)
	rec := s.deployForm("c1")
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm(rec.ID)}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()},
		"t0": {"shop"}, "a1": {"0"}, "n1": {"but only after six"}, "a2": {"0"}, "a3": {"0"}, "a4": {"0"}}
	reply := s.expect(400, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
	require.Contains(t, reply, "has no place for a note")
	reply = s.expect(400, "POST", "/conversations/c1/respond", `{"answers":["shop",{"selected":["Staging"],"note":"but only after six"},"3","Yes",null,null]}`)
	require.Contains(t, reply, "has no place for a note")
	form.Del("n1")
	s.expect(200, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
}

// What is no form of fields is declined with its own option only.
func TestOnlyFormsAreDeclinedAsAWhole(t *testing.T) {
	s := siteBeside(t)
	rec := s.ask("c1", db)
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm(rec.ID)}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()}, "do": {"decline"}}
	reply := s.expect(400, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
	require.Contains(t, reply, "cannot be declined")
	require.True(t, s.find("c1", rec.ID).Open())
	rec = s.deployForm("c2")
	s.ask("c3", convert.Question{Text: "Odd?", Format: "boolean", Closed: true, Options: []convert.Option{{Label: "Yes"}}})
	require.Equal(t, 3, strings.Count(s.expect(200, "GET", "/", ""), " data-optional"))
	form = url.Values{"conversation": {inForm("c2")}, "question": {inForm(rec.ID)}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()}, "do": {"decline"}}
	s.expect(200, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
	require.Len(t, s.find("c2", rec.ID).End.Answers, 6)
}

// The receipt of a form names its fields, as its card does: whose form it is stands beside it.
func TestReceiptOfAForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	s.deployForm("c1")
	require.Contains(t, s.expect(200, "GET", "/", ""), "Where does <strong>this</strong> go?")
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":["shop","Staging","3","Yes",null,null]}`)
	page := s.expect(200, "GET", "/history", "", "Accept", "text/html")
	require.Contains(t, page, "<b dir=\"auto\">Name of the service: shop · Environment: Staging · Replicas: 3 · Dry run: Yes</b> · <span dir=\"auto\">MCP server deployer</span>")
}
