package ask

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

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

// SecretFields are the keys of the fields of a form's schema that are for
// something that nobody else may see.
func SecretFields(schema json.RawMessage) (keys []string) {
	if !clean.ValidJSON(schema) || read.TooDeep(schema) {
		return nil
	}
	properties := read.Field(gjson.ParseBytes(schema), "properties")
	customs := customFields(properties)
	fields := 0
	properties.ForEach(func(k, v gjson.Result) bool {
		t := formField{key: k.Str, custom: customs[k.Str], schema: v, words: read.Field(properties, customs[k.Str])}
		if t.look(); t.secret {
			keys = append(keys, k.Str)
			if t.custom != "" {
				keys = append(keys, t.custom)
			}
		}
		fields++
		return fields < maxFields
	})
	return keys
}

// look reads what kind of field it is, and whether it takes a secret.
func (t *formField) look() {
	t.kind, t.about = t.schema.Get("type").Str, t.schema.Get("description").String()
	t.secret = t.isSecret()
}

// isSecret reports whether the field, or that for own words beside it, says that
// it takes a secret: by its format, or, where anything can be written, by its
// name. A description is a name where there is no title, and else a sentence.
func (t *formField) isSecret() bool {
	if marksSecret(t.schema) || marksSecret(t.words) {
		return true
	}
	number := t.kind == "integer" || t.kind == "number"
	if !number && (t.kind != "string" || t.custom != "") {
		return false
	}
	name := firstNonEmpty(read.Field(t.schema, "title").String(), t.about)
	if number {
		return secretWord(t.key, numberWords()) || secretWord(name, numberWords())
	}
	if options, _ := t.choices(); len(options) > 0 {
		return false
	}
	return secretName(t.key) || secretName(name) || t.about != name && secretStem(t.about)
}

// secretMarks are in the text of a schema with a mark, but for one that is
// escaped.
var secretMarks = []string{"format", "writeOnly", "isSecret", `\`}

func marksSecret(schema gjson.Result) bool {
	if !slices.ContainsFunc(secretMarks, func(m string) bool { return strings.Contains(schema.Raw, m) }) {
		return false
	}
	return strings.EqualFold(read.Field(schema, "format").Str, "password") || read.Field(schema, "writeOnly").Bool() ||
		read.Field(read.Field(schema, "_meta"), "codex").Get("isSecret").Bool()
}

// nameWords splits api_key, API key and apiKey alike.
func nameWords(name string) (words []string) {
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, strings.ToLower(word.String()))
		}
		word.Reset()
	}
	lower := false
	for _, r := range name {
		if !unicode.IsLetter(r) || unicode.IsUpper(r) && lower {
			end()
		}
		lower = unicode.IsLower(r)
		if unicode.IsLetter(r) {
			word.WriteRune(r)
		}
	}
	end()
	return words
}
