package hands_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// serverForm asks what a server wants to know, in a form with this schema.
func (s *site) serverForm(conversation, schema string) (ask.FormCall, *hub.Record) {
	s.t.Helper()
	form, err := ask.ServerForm{Server: "deployer", Message: "Where does **this** go?", Mode: "form", Schema: json.RawMessage(schema)}.Call()
	require.NoError(s.t, err)
	form.ID = "toolu_1"
	return form, s.post(hub.Asking{Device: "owner", Conversation: conversation, Agent: "Claude Code", Dir: "/src/deploy", Dialect: "bridge", Kind: "form", Call: form.Call})
}

// A field has the input that a browser has for it, and what is sent is what the schema wants:
// with the script and without it. What nobody filled in and may stay empty is left out.
func TestFormFieldsAreNative(t *testing.T) {
	t.Parallel()
	const regions = `"enum":["r1","r2","r3","r4","r5","r6","r7"]`
	for name, c := range map[string]struct {
		field, input string
		required     bool
		do           func(p *tab)
		want         string // of the field; nothing if it is left out
		plain        url.Values
	}{
		"integer":              {`{"type":"integer","minimum":1}`, `[type=number][step='1']`, true, words("3"), `3`, url.Values{"t0": {"3"}}},
		"number":               {`{"type":"number"}`, `[type=number][step=any]`, false, words("-0.5"), `-0.5`, url.Values{"t0": {"-0.5"}}},
		"number left out":      {`{"type":"number"}`, `[type=number]`, false, nil, ``, url.Values{"t0": {""}}},
		"a default":            {`{"type":"integer","default":7}`, `[type=number][value='7']`, false, nil, `7`, url.Values{"t0": {"7"}}},
		"a default taken out":  {`{"type":"integer","default":7}`, `[type=number][value='7']`, false, sets(""), ``, url.Values{"t0": {""}}},
		"words taken out":      {`{"type":"string","default":"prod"}`, `textarea[name=t0]`, false, sets(""), ``, url.Values{"t0": {""}}},
		"a choice taken out":   {`{"type":"string","default":"r2",` + regions + `}`, `select[name=a0]`, false, sets(""), ``, url.Values{"a0": {""}}},
		"several, taken out":   {`{"type":"array","default":["b"],"items":{"type":"string","enum":["a","b"]}}`, `:checked`, false, taps(".option:last-of-type label"), ``, url.Values{"a0": nil}},
		"e-mail":               {`{"type":"string","format":"email"}`, `[type=email]`, true, words("a@example.com"), `"a@example.com"`, url.Values{"t0": {"a@example.com"}}},
		"address":              {`{"type":"string","format":"uri"}`, `[type=url]`, true, words("https://example.com/"), `"https://example.com/"`, url.Values{"t0": {"https://example.com/"}}},
		"date":                 {`{"type":"string","format":"date"}`, `[type=date]`, true, sets("2026-01-31"), `"2026-01-31"`, url.Values{"t0": {"2026-01-31"}}},
		"date left out":        {`{"type":"string","format":"date"}`, `[type=date]`, false, nil, ``, url.Values{"t0": {""}}},
		"on by default":        {`{"type":"boolean","default":true}`, `[role=switch]:checked`, false, nil, `true`, url.Values{"a0": {"0"}, "b0": {"1"}}},
		"switched off":         {`{"type":"boolean","default":true}`, `[role=switch]:checked`, false, taps(".switch"), `false`, url.Values{"b0": {"1"}}},
		"switched on":          {`{"type":"boolean","default":false}`, `[role=switch]:not(:checked)`, true, taps(".switch"), `true`, url.Values{"a0": {"0"}, "b0": {"1"}}},
		"off by default":       {`{"type":"boolean","default":false}`, `[role=switch]:not(:checked)`, true, nil, `false`, url.Values{"b0": {"1"}}},
		"neither yes nor no":   {`{"type":"boolean"}`, `select[name=a0]`, false, nil, ``, url.Values{"a0": {"2"}}},
		"no":                   {`{"type":"boolean"}`, `select[name=a0]`, true, sets("1"), `false`, url.Values{"a0": {"1"}}},
		"one of many":          {`{"type":"string",` + regions + `}`, `select[name=a0]`, true, sets("6"), `"r7"`, url.Values{"a0": {"6"}}},
		"one of many, default": {`{"type":"string","default":"r2",` + regions + `}`, `select[name=a0]`, true, nil, `"r2"`, url.Values{"a0": {"1"}}},
		"none of many":         {`{"type":"string",` + regions + `}`, `select[name=a0]`, false, nil, ``, url.Values{"a0": {""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			schema := `{"type":"object","properties":{"f":` + c.field + `}}`
			if c.required {
				schema = schema[:len(schema)-1] + `,"required":["f"]}`
			}
			fits := func(answers []convert.Answer) {
				t.Helper()
				form, _ := ask.ServerForm{Server: "deployer", Mode: "form", Schema: json.RawMessage(schema)}.Call()
				reply, err := form.Reply(convert.Outcome{Status: convert.Answered, Answers: answers})
				require.NoError(t, err)
				want := `{}`
				if c.want != "" {
					want = `{"f":` + c.want + `}`
				}
				require.JSONEq(t, `{"action":"accept","content":`+want+`}`, string(reply))
			}
			_, rec := s.serverForm("c1", schema)
			p := s.phone(b)
			p.until(`document.querySelector(".card.form .ask ` + c.input + `")`)
			if empty := c.required && c.do != nil && c.input[:2] != "[r"; empty {
				p.click(`button[value=answer]`)
				p.until(`document.querySelector(".card .problem").textContent === "Nothing is answered yet."`)
			}
			if c.do != nil {
				c.do(p)
				p.reload() // what was done is a draft
				p.until(`document.querySelector(".card.form .ask")`)
			}
			p.click(`button[value=answer]`)
			fits(s.answered(rec))

			_, rec = s.serverForm("c2", schema)
			form := url.Values{"conversation": {b64("c2")}, "question": {b64(rec.ID)}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()}}
			for k, v := range c.plain {
				form[k] = v
			}
			s.expect(200, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
			fits(s.answered(rec))
		})
	}
}

const theInput = `.ask :is(.field, select, textarea)`

func words(text string) func(p *tab) {
	return func(p *tab) { p.click(theInput); p.words(text) }
}

// sets chooses what a browser has a dialog of its own for.
func sets(value string) func(p *tab) {
	return func(p *tab) {
		p.eval(`{ const e = document.querySelector("` + theInput + `"); e.value = "` + value + `"; e.dispatchEvent(new Event("input", {bubbles: true})); }; 0`)
	}
}

func taps(selector string) func(p *tab) { return func(p *tab) { p.click(selector) } }
