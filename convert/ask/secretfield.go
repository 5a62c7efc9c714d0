package ask

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Secret reports whether a field of the form is for something that nobody else
// may see: such a form is shown as a form or not at all.
func (f FormCall) Secret() bool {
	return slices.ContainsFunc(f.fields, func(t formField) bool { return t.secret })
}

// Shown are answers to the form as they may be shown.
func (f FormCall) Shown(answers []convert.Answer) []convert.Answer {
	shown := slices.Clone(answers)
	for i := range shown {
		if i < len(f.fields) && f.fields[i].secret && !shown[i].Empty() {
			shown[i] = convert.Answer{Text: hidden}
		}
	}
	return shown
}

// password is the format of JSON Schema that a question has whose form's field is secret,
// however the form says so.
const password = "password"

// Kept are answers to a call as they may be kept by others than whoever asked: without
// what was typed where a question asks for something that nobody else may see.
func Kept(c convert.Call, answers []convert.Answer) []convert.Answer {
	kept := slices.Clone(answers)
	for i := range min(len(kept), len(c.Questions)) {
		for _, words := range []*string{&kept[i].Text, &kept[i].Note} {
			if *words != "" && (c.Questions[i].Format == password || secrets().asked(c.Questions[i].Text, true)) {
				*words = hidden
			}
		}
	}
	return kept
}

// SecretFields are the keys of the fields of a form, by its message and schema,
// that are for something that nobody else may see.
func SecretFields(message string, schema json.RawMessage) (keys []string) {
	if !clean.ValidJSON(schema) || read.TooDeep(schema) {
		return nil
	}
	properties := read.Field(gjson.ParseBytes(schema), "properties")
	customs := customFields(properties)
	mentioned, n := secrets().says(message) != 0, 0
	var fields []formField // that may take one
	properties.ForEach(func(k, v gjson.Result) bool {
		t := formField{key: k.Str, custom: customs[k.Str], schema: v}
		if t.custom != "" {
			t.words = read.Field(properties, t.custom)
		}
		if t.look(); t.secret || mentioned {
			fields = append(fields, t)
		}
		n++
		return n < read.MaxQuestions
	})
	heed(message, fields)
	for _, t := range fields {
		if t.secret {
			keys = append(keys, t.key)
			if t.custom != "" {
				keys = append(keys, t.custom)
			}
		}
	}
	return keys
}

// look reads what kind of field it is, and whether it takes a secret: the field,
// or that for own words beside it, says so by a mark, or, where anything can be
// written, by its name. A description is a name where there is no title, and else
// a sentence.
func (t *formField) look() {
	t.kind = read.Field(t.schema, "type").Str
	t.title = read.Field(t.schema, "title").String()
	t.about = read.Field(t.schema, "description").String()
	t.secret = marksSecret(t.schema) || marksSecret(t.words)
	offers := false // as in choices
	for _, key := range []string{"enum", "anyOf", "oneOf"} {
		if list := read.Field(t.schema, key); list.IsArray() {
			offers = list.Get("0").Exists()
		}
	}
	if t.secret || t.isCodex() || offers || t.custom != "" { // Codex marks its own; its titles are questions, not names
		return
	}
	switch t.kind {
	case "integer", "number":
		t.takes = codes()
	case "string":
		t.takes = secrets()
	default:
		return
	}
	key, name, about := t.takes.says(t.key), said(0), said(0)
	switch {
	case t.title != "":
		name, about = t.takes.says(t.title), t.takes.says(t.about)
	case t.about != "":
		name = t.takes.says(t.about) | key&byWhole
	default:
		name = key
	}
	t.secret = (key|name)&byName != 0 || name&byWhole != 0 || about&bySentence != 0
}

// heed marks the fields that take the secret that the form's message asks for, if
// none says so itself.
func heed(message string, fields []formField) {
	if slices.ContainsFunc(fields, func(t formField) bool { return t.secret }) {
		return
	}
	for i := range fields {
		if t := &fields[i]; t.takes != nil {
			t.secret = t.takes.asked(message, vague(t.key) && vague(t.title) && vague(t.about))
		}
	}
}

// marksSecret reports whether a field is marked as one for a secret.
func marksSecret(schema gjson.Result) bool {
	return strings.EqualFold(read.Field(schema, "format").Str, password) || read.Field(schema, "writeOnly").Bool() ||
		read.Field(read.Field(schema, "_meta"), "codex").Get("isSecret").Bool()
}
