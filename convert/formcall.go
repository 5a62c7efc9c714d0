package convert

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// FormCall is an elicitation form read as a question call, for a client that
// shows it as questions. Each field is a question; a field for custom answers
// belongs to the question it stands beside.
type FormCall struct {
	Call
	// FreeText says for each question whether words of the user's own can be
	// sent back.
	FreeText []bool

	fields []formField
}

// formField is where the answer to a question goes.
type formField struct {
	key, kind string
	values    []string // of the options, in their order
	custom    string   // the key of the text beside it, if there is one
}

// ParseForm reads the parameters of elicitation/create in form mode. Errors
// are [InputError]s.
func ParseForm(params json.RawMessage) (FormCall, error) {
	if !valid(params) {
		return FormCall{}, &InputError{Err: ErrInvalidJSON, Detail: "expected the parameters of elicitation/create"}
	}
	root := gjson.ParseBytes(params)
	if mode := root.Get("mode"); mode.Exists() && mode.Str != "form" {
		return FormCall{}, &InputError{Err: ErrWrongType, Detail: "mode must be form, got " + shorten(mode.Raw)}
	}
	properties := root.Get("requestedSchema.properties")
	if !properties.IsObject() {
		return FormCall{}, wrongType(0, 0, "requestedSchema.properties", "an object", properties)
	}
	f := FormCall{Call: Call{
		Session: root.Get("sessionId").String(),
		ID:      root.Get("toolCallId").String(),
		Input:   params,
	}}
	var err error
	customs := customFields(properties)
	properties.ForEach(func(k, v gjson.Result) bool {
		if !isCustom(customs, k.Str) {
			err = f.add(k.Str, v, customs[k.Str])
		}
		return err == nil
	})
	if err != nil {
		return FormCall{}, err
	}
	if len(f.Questions) == 0 {
		return FormCall{}, &InputError{Err: ErrNoQuestions}
	}
	if message := root.Get("message").String(); len(f.Questions) == 1 && message != "" {
		f.Questions[0].Text = message
	}
	return f, nil
}

// customFields maps the key of a question to that of its custom answer.
func customFields(properties gjson.Result) map[string]string {
	customs := map[string]string{}
	properties.ForEach(func(k, v gjson.Result) bool {
		if mark := field(field(v, "_meta"), customMark); mark.Get("isCustomAnswer").Bool() {
			customs[mark.Get("questionId").Str] = k.Str
		} else if of, ok := strings.CutSuffix(k.Str, customSuffix); ok && field(properties, of).Exists() {
			customs[of] = k.Str
		}
		return true
	})
	return customs
}

func isCustom(customs map[string]string, key string) bool {
	for _, custom := range customs {
		if custom == key {
			return true
		}
	}
	return false
}

func (f *FormCall) add(key string, v gjson.Result, custom string) error {
	q := Question{Text: v.Get("description").String(), Header: v.Get("title").String()}
	if q.Text == "" {
		q.Text = firstNonEmpty(q.Header, key)
	}
	to := formField{key: key, kind: v.Get("type").Str, custom: custom}
	options := v.Get("oneOf")
	switch to.kind {
	case "array":
		q.MultiSelect = true
		if options = v.Get("items.anyOf"); !options.Exists() {
			options = v.Get("items.enum")
		}
	case "boolean":
		options = gjson.Parse(`[{"const":"true","title":"Yes"},{"const":"false","title":"No"}]`)
	case "string", "number", "integer":
		if !options.Exists() {
			options = v.Get("enum")
		}
	default:
		return &InputError{Question: len(f.Questions) + 1, Err: ErrWrongType,
			Detail: fmt.Sprintf("field %q has the unknown type %q", key, to.kind)}
	}
	for _, o := range options.Array() {
		value, label := o.String(), o.String()
		if o.IsObject() {
			value = o.Get("const").String()
			label = firstNonEmpty(o.Get("title").String(), value)
		}
		to.values = append(to.values, value)
		q.Options = append(q.Options, Option{
			Label:       label,
			Description: o.Get("description").String(),
			Preview:     field(field(o, "_meta"), previewMark).Get("preview").String(),
		})
	}
	f.Questions = append(f.Questions, q)
	f.FreeText = append(f.FreeText, custom != "" || len(q.Options) == 0)
	f.fields = append(f.fields, to)
	return nil
}

func firstNonEmpty(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// Reply is the reply to the form for an outcome. An error says which answer
// does not fit its field.
func (f FormCall) Reply(o Outcome) (json.RawMessage, error) {
	switch o.Status {
	case Answered:
	case Declined:
		return json.RawMessage(`{"action":"decline"}`), nil
	default:
		return json.RawMessage(`{"action":"cancel"}`), nil
	}
	content := map[string]any{}
	for i, a := range o.Answers {
		if err := f.put(content, i, a); err != nil {
			return nil, err
		}
	}
	return mustMarshal(map[string]any{"action": "accept", "content": content}), nil
}

func (f FormCall) put(content map[string]any, i int, a Answer) error {
	q, to := f.Questions[i], f.fields[i]
	var values []string
	for j, o := range q.Options {
		for _, label := range a.Selected {
			if o.Label == label {
				values = append(values, to.values[j])
			}
		}
	}
	words := firstNonEmpty(a.Text, a.Note)
	if words != "" && to.custom != "" {
		content[to.custom] = words
		words = ""
	}
	switch {
	case to.kind == "array":
		if len(values) > 0 {
			content[to.key] = values
		}
	case len(values) > 0:
		return putScalar(content, to, values[0], i)
	case len(q.Options) == 0 && words != "":
		return putScalar(content, to, words, i)
	case words != "":
		return fmt.Errorf("question %d takes none but its options", i+1)
	}
	return nil
}

func putScalar(content map[string]any, to formField, value string, i int) error {
	switch to.kind {
	case "boolean":
		content[to.key] = value == "true"
	case "integer":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("question %d takes a whole number, got %q", i+1, value)
		}
		content[to.key] = n
	case "number":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("question %d takes a number, got %q", i+1, value)
		}
		content[to.key] = n
	default:
		content[to.key] = value
	}
	return nil
}
