package ask_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func formCall(t require.TestingT, schema string) ask.FormCall {
	f := acptest.Must(ask.ServerForm{Server: "shop", Message: "Please", Schema: json.RawMessage(schema)}.Call())
	f.Session, f.ID = "s", "f"
	return f
}

func fields(properties string, required ...string) string {
	b, _ := json.Marshal(required)
	return `{"type":"object","properties":{` + properties + `},"required":` + string(b) + `}`
}

// names lists the options of a question as a person reads them.
func names(q convert.Question) string {
	var list []string
	for _, o := range q.Options {
		list = append(list, strings.TrimSuffix(o.Label+" - "+o.Description, " - "))
	}
	return strings.Join(list, "|")
}

func TestServerFormQuestions(t *testing.T) {
	const skip, decline = "|Skip - leave this field empty", "|Decline - do not answer the server"
	for _, tc := range []struct{ field, required, text, options string }{
		{`"type":"string"`, "x", "x", decline[1:]},
		{`"type":"string"`, "", "x", skip[1:] + decline},
		{`"type":"string","title":"Name","description":"yours","default":"Bo"`, "", "Name: yours", "Bo - default" + skip + decline},
		{`"type":"string","default":7`, "x", "x", decline[1:]},
		{`"type":"string","default":" "`, "x", "x", decline[1:]},
		{`"type":"string","minLength":3,"default":"Bo"`, "x", "x (a text with at least 3 characters)", decline[1:]},
		{`"type":"string","default":"Decline"`, "x", "x", "Decline (an answer) - default" + decline},
		{`"type":"string","oneOf":[{"const":"a","title":"Decline\u200b","description":"do not answer the server"},{"const":"b","title":"decline"},{"const":"c","title":"\u001b[1mSkip"},{"const":"d","title":"Cancel"}]`, "", "x",
			"Decline (an answer) - do not answer the server|decline (an answer)|Skip (an answer)|Cancel (an answer)" + skip + decline},
		{`"type":"string","oneOf":[{"const":"a","title":"Same"},{"const":"b","title":"Sa\u200bme"}]`, "x", "x", "Same|Sa\u200bme (b)" + decline},
		{`"type":"array","items":{"enum":["None","Skip"]}`, "x", "x", "None (an answer)|Skip|None - none of the options" + decline},
		{`"type":"string","format":"date"`, "x", "x (a date such as 2026-01-31)", decline[1:]},
		{`"type":"integer","minimum":1,"default":8080`, "x", "x (a whole number at least 1)", "8080 - default" + decline},
		{`"type":"number","maximum":1.5`, "x", "x (a number at most 1.5)", decline[1:]},
		{`"type":"boolean","default":true`, "x", "x", "Yes - default|No" + decline},
		{`"type":"string","enum":["a","b","a"]`, "x", "x", "a|b" + decline},
		{`"type":"string","enum":["a","b"],"enumNames":["A","B"]`, "x", "x", "A|B" + decline},
		{`"type":"string","oneOf":[{"const":"a","title":"Same"},{"const":"b","title":"Same"},{"const":""}]`, "x", "x", "Same|Same (b)|(empty)" + decline},
		{`"type":"array","items":{"enum":["a","b"]},"default":["b","a"]`, "x", "x", "a|b|b, a - default|None - none of the options" + decline},
		{`"type":"array","items":{"enum":["a","b"]},"minItems":1,"maxItems":1`, "", "x (from 1 to 1 of the options)", "a|b" + skip + decline},
	} {
		f := formCall(t, fields(`"x":{`+tc.field+`}`, strings.Fields(tc.required)...))
		require.Equal(t, "The MCP server \"shop\" asks: Please\n\n"+tc.text, f.Questions[0].Text)
		require.Equal(t, tc.options, names(f.Questions[0]), tc.field)
	}
}

// The schema that a client with forms gets is the server's, token for token,
// except for what could harm in a title.
func TestServerFormRequest(t *testing.T) {
	schema := `{ "type":"object","x-more":1.0,"properties":{"b":{"type":"string","title":"T\u001b[2J","description":"d","default":"\u001b"},"title":{"type":"integer","minimum":1e2}}}`
	want := `{"type":"object","x-more":1.0,"properties":{"b":{"type":"string","title":"T","description":"d","default":"\u001b"},"title":{"type":"integer","minimum":1e2}}}`
	r := formCall(t, schema).Request()
	require.Equal(t, want, string(r.RequestedSchema.(json.RawMessage)))
	require.Equal(t, ask.FormRequest{Mode: "form", SessionID: "s", ToolCallID: "f", Message: `The MCP server "shop" asks: Please`, RequestedSchema: r.RequestedSchema}, r)
}

func TestServerFormRead(t *testing.T) {
	f := formCall(t, fields(`"n":{"type":"integer","minimum":1},"s":{"type":"string","minLength":1},"e":{"type":"string","enum":["a","b"]},"l":{"type":"array","items":{"enum":["a","b"]},"maxItems":1}`, "n"))
	for content, want := range map[string]string{
		`{"n":5}`:                             `{"n":5}`,
		`{"n":5.0,"s":"","e":null,"more":1}`:  `{"n":5.0}`,
		`{"n":5,"s":" x ","e":"b","l":["a"]}`: `{"n":5,"s":" x ","e":"b","l":["a"]}`,
		`{"n":1,"l":[]}`:                      `{"n":1,"l":[]}`,
		`{}`:                                  "the answer does not fit: \"n\" is required",
		`{"n":null}`:                          "the answer does not fit: \"n\" is required",
		`{"n":0}`:                             "the answer does not fit for \"n\": expected a whole number at least 1",
		`{"n":"5"}`:                           "invalid reply for \"n\": expected a whole number at least 1",
		`{"n":5.5}`:                           "invalid reply for \"n\"",
		`{"n":1e999}`:                         "invalid reply for \"n\"",
		`{"n":5,"s":7}`:                       "invalid reply for \"s\"",
		`{"n":5,"e":"c"}`:                     "invalid reply for \"e\": expected one of the options",
		`{"n":5,"l":["a","b"]}`:               "the answer does not fit for \"l\": expected at most 1 of the options",
		`{"n":5,"l":["a","a"]}`:               "invalid reply for \"l\"",
		`{"n":5,"l":[["a"]]}`:                 "invalid reply for \"l\"",
		`{"n":5,"l":"a"}`:                     "invalid reply for \"l\"",
		`[]`:                                  "content must be an object",
	} {
		o, reply, err := f.Read(json.RawMessage(`{"action":"accept","content":` + content + `}`))
		if err != nil {
			require.ErrorContains(t, err, want)
			require.Empty(t, reply, content)
			continue
		}
		require.Equal(t, convert.Answered, o.Status)
		require.JSONEq(t, `{"action":"accept","content":`+want+`}`, string(reply), content)
	}
	for _, reply := range []string{`{`, `{}`, `{"action":"maybe"}`, `[]`, `null`, `{"action":1}`} {
		_, _, err := f.Read(json.RawMessage(reply))
		require.ErrorIs(t, err, convert.ErrProtocol, reply)
	}
}

// What does not fit is said in words, of the field by its title.
func TestServerFormSaysWhatDoesNotFit(t *testing.T) {
	f := formCall(t, fields(`"n":{"type":"integer","title":"\u00e9tat","maximum":1},"s":{"type":"string"}`, "s"))
	for content, want := range map[string]string{
		`{"n":2,"s":""}`: `the answer does not fit for "état": expected a whole number at most 1`,
		`{"n":1}`:        `the answer does not fit: "s" is required: expected a text`,
	} {
		_, _, err := f.Read(json.RawMessage(`{"action":"accept","content":` + content + `}`))
		require.ErrorIs(t, err, convert.ErrBadAnswer)
		require.EqualError(t, err, want)
	}
}

func TestServerFormIsTooLarge(t *testing.T) {
	var list, items []string
	for i := range 1001 {
		list = append(list, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
		items = append(items, fmt.Sprintf(`"%d"`, i))
	}
	for schema, want := range map[string]string{
		fields(strings.Join(list[:101], ",")):                                     "too many questions: a form has at most 100 fields",
		fields(`"x":{"type":"string","enum":[` + strings.Join(items, ",") + `]}`): "question 1: wrong number of options: a field has at most 1000",
	} {
		require.EqualError(t, acptest.Err(ask.ServerForm{Server: "shop", Schema: json.RawMessage(schema)}.Call()), want)
	}
	formCall(t, fields(strings.Join(list[:100], ",")))
}

func TestServerFormFormats(t *testing.T) {
	for format, values := range map[string]struct{ fit, misfit []string }{
		"email":     {[]string{"a@b.example"}, []string{"a", "a@", "A <a@b.example>", " a@b.example"}},
		"uri":       {[]string{"https://example.com/a?b=%20#c", "mailto:a@b.example", "urn:x:y"}, []string{"example.com", "/a", "https://example.com/a b", "https://example.com/ü", "https://example.com/<b>"}},
		"date":      {[]string{"2028-02-29"}, []string{"2026-02-29", "2026-2-1", "01.02.2026", "2026-02-01T00:00:00Z"}},
		"date-time": {[]string{"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+02:00"}, []string{"2026-01-31", "2026-01-31T12:00:00", "2026-01-31T1:00:00Z", "2026-01-31T12:00:00,5Z"}},
	} {
		f := formCall(t, fields(`"x":{"type":"string","format":"`+format+`"}`, "x"))
		for _, v := range values.fit {
			require.NoError(t, f.Check(0, convert.Answer{Text: v}), v)
		}
		for _, v := range values.misfit {
			require.ErrorIs(t, f.Check(0, convert.Answer{Text: v}), convert.ErrBadAnswer, v)
		}
	}
}

// No accept could fit.
func TestServerFormRequiresNoField(t *testing.T) {
	for _, schema := range []string{fields(`"a":{"type":"string"}`, "a", "b"), fields(``, "b")} {
		_, err := ask.ServerForm{Server: "shop", Schema: json.RawMessage(schema)}.Call()
		require.ErrorIs(t, err, convert.ErrWrongType)
		require.ErrorContains(t, err, `required names "b", which is no field`)
	}
}

func TestServerAddress(t *testing.T) {
	address := ask.ServerForm{Server: "shop", Message: "Log in", Mode: "url", URL: "https://bank.example@evil.example/x", ElicitationID: "e1"}
	f := acptest.Must(address.Call())
	require.Contains(t, f.Questions[0].Text, "https://bank.example@evil.example/x\n(on the host evil.example)")
	reply := acptest.Must(f.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{pick("Opened, go on")}}))
	require.JSONEq(t, `{"action":"accept"}`, string(reply))
	reply = acptest.Must(f.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{pick("Decline")}}))
	require.JSONEq(t, `{"action":"decline"}`, string(reply))
	require.ErrorIs(t, acptest.Err(f.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{}}})), convert.ErrBadAnswer)
	for _, bad := range []string{"", "example.com", "https://example.com/\n", "https://example.com/\u202e", "https://exa mple.com"} {
		address.URL = bad
		require.ErrorIs(t, acptest.Err(address.Call()), convert.ErrWrongType, bad)
	}
}

func pick(labels ...string) convert.Answer { return convert.Answer{Selected: labels} }

// What follows holds for any flat schema and whatever users and clients do.

var kinds = map[string][]string{
	"string":  {"minLength", "maxLength"},
	"integer": {"minimum", "maximum"},
	"number":  {"minimum", "maximum"},
	"boolean": nil,
	"enum":    nil,
	"array":   {"minItems", "maxItems"},
}

func genSchema(t *rapid.T) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b_custom", "b", "question_0", "title", "ü"}), 0, 4, rapid.ID[string]).Draw(t, "keys") {
		kind := rapid.SampledFrom([]string{"string", "integer", "number", "boolean", "enum", "array"}).Draw(t, "kind")
		p := map[string]any{"type": kind}
		for _, limit := range kinds[kind] {
			if rapid.Bool().Draw(t, limit) {
				p[limit] = rapid.IntRange(0, 4).Draw(t, "limit")
			}
		}
		labels := rapid.SampledFrom([][]string{{"x"}, {"x", "y"}, {"Skip", "Decline", "None"}, {"", "1", "2"}, {"x, y", "x", "y"}}).Draw(t, "values")
		switch kind {
		case "enum":
			p["type"], p["enum"] = "string", labels
		case "array":
			p["items"] = map[string]any{"type": "string", "enum": labels}
		case "string":
			if rapid.Bool().Draw(t, "mail") {
				p["format"] = "email"
			}
		}
		if rapid.Bool().Draw(t, "default") {
			p["default"] = genValue(t)
		}
		properties[key] = p
		if rapid.Bool().Draw(t, "required") {
			required = append(required, key)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func genValue(t *rapid.T) any {
	return rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.SampledFrom([]string{"", "x", "y", "2", "1.5", "Skip", "None", "bo@example.com", "too long for it", "1e999", "0x1", "NaN", "x, y"}), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]float64{-1, 0, 1, 1.5, 3, 99}), func(n float64) any { return n }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]any{"x", "y", "Skip", "", 1.0}), 0, 3), func(l []any) any { return l }),
	).Draw(t, "value")
}

// conforms is a second opinion: content against a schema, apart from the code
// under test. It returns what is wrong.
func conforms(schema map[string]any, content map[string]any) string {
	properties := schema["properties"].(map[string]any)
	for _, key := range schema["required"].([]string) {
		if _, ok := content[key]; !ok {
			return key + " is missing"
		}
	}
	for key, v := range content {
		p, ok := properties[key].(map[string]any)
		if !ok {
			return key + " was not asked for"
		}
		if !conformsTo(p, v) {
			return fmt.Sprintf("%s is %v", key, v)
		}
	}
	return ""
}

func conformsTo(p map[string]any, v any) bool {
	between := func(n float64, low, high string) bool {
		least, ok1 := p[low].(int)
		most, ok2 := p[high].(int)
		return (!ok1 || n >= float64(least)) && (!ok2 || n <= float64(most))
	}
	switch p["type"] {
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer", "number":
		n, ok := v.(float64)
		return ok && (p["type"] == "number" || n == math.Floor(n)) && between(n, "minimum", "maximum")
	case "array":
		list, ok := v.([]any)
		for i, e := range list {
			s, isString := e.(string)
			ok = ok && isString && slices.Contains(p["items"].(map[string]any)["enum"].([]string), s) && !slices.Contains(list[:i], e)
		}
		return ok && between(float64(len(list)), "minItems", "maxItems")
	}
	s, ok := v.(string)
	if enum, is := p["enum"].([]string); is {
		return ok && slices.Contains(enum, s)
	}
	if p["format"] == "email" {
		_, err := mail.ParseAddress(s)
		ok = ok && err == nil
	}
	return ok && between(float64(utf8.RuneCountInString(s)), "minLength", "maxLength")
}

func checkAccept(t *rapid.T, schema map[string]any, reply json.RawMessage) {
	r := gjson.ParseBytes(reply)
	switch r.Get("action").Str {
	case "accept":
		var content map[string]any
		require.NoError(t, json.Unmarshal([]byte(r.Get("content").Raw), &content))
		require.Empty(t, conforms(schema, content), "accepted %s", reply)
	case "decline", "cancel":
		require.False(t, r.Get("content").Exists())
	default:
		require.Fail(t, "no action", "%s", reply)
	}
}

func TestServerFormAccepts(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		schema := genSchema(t)
		raw := acptest.Must(json.Marshal(schema))
		f := formCall(t, string(raw))
		require.NoError(t, f.Validate(convert.NoLimits))

		// A user who picks and types.
		answers := make([]convert.Answer, len(f.Questions))
		for i, q := range f.Questions {
			if labels := optionLabels(q); len(labels) > 0 && rapid.Bool().Draw(t, "pick") {
				answers[i].Selected = rapid.SliceOfNDistinct(rapid.SampledFrom(labels), 0, 2, rapid.ID[string]).Draw(t, "picks")
			} else {
				answers[i].Text = fmt.Sprint(genValue(t))
			}
		}
		reply, err := f.Reply(convert.Outcome{Status: convert.Answered, Answers: answers})
		if err == nil {
			checkAccept(t, schema, reply)
			accepted++
		} else {
			require.ErrorIs(t, err, convert.ErrBadAnswer)
		}

		// A client that sends anything.
		content := map[string]any{"other": 1}
		for key := range schema["properties"].(map[string]any) {
			if rapid.Bool().Draw(t, "fill") {
				content[key] = genValue(t)
			}
		}
		raw = acptest.Must(json.Marshal(map[string]any{"action": "accept", "content": content}))
		o, reply, err := f.Read(raw)
		if err == nil {
			require.Equal(t, convert.Answered, o.Status)
			checkAccept(t, schema, reply)
			if slices.ContainsFunc(o.Answers, func(a convert.Answer) bool { return !a.Empty() }) {
				require.NoError(t, o.Check(f.Call), "the record is of the form's own options")
			}
		}
	})
	require.NotZero(t, accepted)
}

func optionLabels(q convert.Question) (labels []string) {
	for _, o := range q.Options {
		labels = append(labels, o.Label)
	}
	return labels
}

func FuzzServerForm(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x"}]},"default":["x"]}},"required":["a"]}`), "x", []byte(`{"a":["x"]}`))
	f.Fuzz(func(t *testing.T, schema []byte, words string, content []byte) {
		form, err := ask.ServerForm{Server: words, Message: words, Schema: schema}.Call()
		if err != nil {
			return
		}
		answers := make([]convert.Answer, len(form.Questions))
		for i := range answers {
			answers[i] = convert.Answer{Selected: optionLabels(form.Questions[i])[:1]}
			if i%2 == 1 {
				answers[i] = convert.Answer{Text: words}
			}
		}
		if reply, err := form.Reply(convert.Outcome{Status: convert.Answered, Answers: answers}); err == nil {
			require.True(t, json.Valid(reply))
		}
		if _, reply, err := form.Read(json.RawMessage(`{"action":"accept","content":` + string(content) + `}`)); err == nil {
			require.True(t, json.Valid(reply))
		}
		for _, sent := range []any{form.Request(), form.Announce()} {
			acptest.Must(json.Marshal(sent))
		}
	})
}
