package ask

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Reply is the reply to the form for an outcome. An accept fits the form's
// schema; an error says which answer does not.
func (f FormCall) Reply(o convert.Outcome) (json.RawMessage, error) {
	switch o.Status {
	case convert.Answered:
	case convert.Declined:
		return json.RawMessage(declineForm), nil
	default:
		return json.RawMessage(CancelForm), nil
	}
	content, shown := map[string]json.RawMessage{}, Kept(f.Call, o.Answers)
	for i := range f.Questions {
		var a, told convert.Answer
		if i < len(o.Answers) {
			a, told = o.Answers[i], shown[i]
		}
		if err := f.Questions[i].Fits(told); err != nil {
			return nil, fmt.Errorf("question %d: %w", i+1, err)
		}
		if len(a.Selected) == 1 && f.effect(i, a) == convert.EffectDecline {
			return json.RawMessage(declineForm), nil
		}
		if err := f.put(content, i, a); err != nil {
			return nil, fmt.Errorf("question %d: %w", i+1, err)
		}
	}
	return f.accept(content), nil
}

// CancelForm is the reply to a form that got no answer, as JSON.
const CancelForm = `{"action":"cancel"}`

const declineForm = `{"action":"decline"}`

func (f FormCall) accept(content map[string]json.RawMessage) json.RawMessage {
	if f.request.Mode == modeURL {
		return json.RawMessage(`{"action":"accept"}`)
	}
	return clean.JSON(map[string]any{"action": "accept", "content": content})
}

// effect is that of the option picked.
func (f FormCall) effect(i int, a convert.Answer) convert.Effect {
	for _, o := range f.Questions[i].Options {
		if slices.Contains(a.Selected, o.Label) && o.Effect != 0 {
			return o.Effect
		}
	}
	return 0
}

// Check reports an answer that does not fit the field of question i, in words
// for whoever gave it. The error wraps [convert.ErrBadAnswer].
func (f FormCall) Check(i int, a convert.Answer) error {
	return f.put(map[string]json.RawMessage{}, i, a)
}

// Fits reports answers that the form does not take.
func (f FormCall) Fits(answers []convert.Answer) error {
	_, err := f.Reply(convert.Outcome{Status: convert.Answered, Answers: answers})
	return err
}

// Expects says in words what question i takes.
func (f FormCall) Expects(i int) string {
	if i >= len(f.fields) {
		return "one of the options"
	}
	return f.fields[i].expects()
}

// put adds the values of an answer.
func (f FormCall) put(content map[string]json.RawMessage, i int, a convert.Answer) error {
	if i >= len(f.fields) { // go on or not
		if len(a.Selected) != 1 {
			return fmt.Errorf("%w: expected one of the options", convert.ErrBadAnswer)
		}
		return nil
	}
	if len(a.Selected) > 1 && f.effect(i, a) != 0 {
		return fmt.Errorf("%w: one of these options cannot be combined with others", convert.ErrBadAnswer)
	}
	to, words := &f.fields[i], a.Text
	if a.Note != "" {
		words = strings.TrimSpace(words + "\n" + a.Note)
	}
	if words != "" && to.custom != "" {
		if len(a.Selected) == 1 && to.kind != "array" && !strings.HasPrefix(to.key, keyPrefix) && questionKey.MatchString(to.key) {
			words = convert.WithNote(a.Selected[0], words) // OpenCode drops the pick beside them
		}
		content[to.custom] = clean.JSON(words)
		words = ""
	}
	raw, err := f.value(i, a.Selected, words)
	switch {
	case err != nil:
		return err
	case raw == "" && to.other.Exists() && content[to.custom] != nil:
		raw = to.other.Raw
	case raw == "" && to.required:
		return fmt.Errorf("%w: it is required: expected %s", convert.ErrBadAnswer, to.expects())
	case raw == "":
		return nil
	}
	if to.check(gjson.Parse(raw)) != nil {
		return to.misfit(shorten(raw))
	}
	content[to.key] = json.RawMessage(raw)
	return nil
}

// value is the JSON of what was picked or typed, empty for nothing.
func (f FormCall) value(i int, selected []string, words string) (string, error) {
	q, to := &f.Questions[i], &f.fields[i]
	var values []string
	for j, o := range q.Options {
		if slices.Contains(selected, o.Label) && j < len(to.values) {
			values = append(values, to.values[j].Raw)
		}
	}
	switch {
	case to.kind == "array" && len(values) == 1 && strings.HasPrefix(values[0], "["):
		return values[0], nil // all of an answer, not a part of it
	case to.kind == "array" && len(values) > 0:
		return "[" + strings.Join(values, ",") + "]", nil
	case len(values) > 0:
		return values[0], nil
	case words == "":
		return "", nil
	}
	return to.parse(words)
}

// Read reads a client's reply to the form itself: how it ended, with answers
// for a record of it, and what to tell whoever asked. Fields that the form does
// not have are left out, if there are others. An error wraps [convert.ErrBadAnswer] if
// a value breaks a rule of its field, [convert.ErrProtocol] if the reply is none
// to this form at all.
func (f FormCall) Read(reply json.RawMessage) (convert.Outcome, json.RawMessage, error) {
	keys := map[string]bool{}
	for i := range f.fields {
		keys[f.fields[i].key] = true
		if custom := f.fields[i].custom; custom != "" {
			keys[custom] = true
		}
	}
	status, content, err := openReply(reply, keys)
	switch {
	case err != nil:
		return convert.Outcome{}, nil, err
	case status == convert.Answered:
		o, forServer, err := f.readContent(content)
		if err == nil && forServer == nil { // an agent's form: as it came
			forServer = reply
		}
		return o, forServer, err
	}
	o := convert.Outcome{Status: status, Reason: convert.Outcome{Status: status}.Message()}
	raw, err := f.Reply(o)
	return o, raw, err
}

func (f FormCall) readContent(content gjson.Result) (convert.Outcome, json.RawMessage, error) {
	if len(f.fields) == 0 {
		yes := convert.Answer{Selected: []string{f.Questions[0].Options[0].Label}}
		return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{yes}}, f.accept(map[string]json.RawMessage{}), nil
	}
	values, answers := map[string]json.RawMessage{}, make([]convert.Answer, len(f.fields))
	for i := range f.fields {
		to := &f.fields[i]
		v := read.Field(content, to.key)
		err := to.check(v)
		switch {
		case !v.Exists(), v.Type == gjson.Null, err != nil && v.Raw == `""`: // left empty
			if to.required {
				return convert.Outcome{}, nil, fmt.Errorf("%w: %q is required: expected %s", convert.ErrBadAnswer, f.name(i), to.expects())
			}
			continue
		case err != nil:
			// Without the value: this is logged. It begins with our words, not with a
			// title of the server's: it is shown, too.
			return convert.Outcome{}, nil, fmt.Errorf("%w for %q: expected %s", err, f.name(i), to.expects())
		}
		values[to.key] = json.RawMessage(v.Raw)
		answers[i] = f.answer(i, v)
	}
	if f.request.raw != nil {
		f.addCustoms(content, answers)
		return convert.Outcome{Status: convert.Answered, Answers: answers}, nil, nil
	}
	return convert.Outcome{Status: convert.Answered, Answers: answers}, f.accept(values), nil
}

// addCustoms adds the texts beside the choices to a record of answers.
func (f FormCall) addCustoms(content gjson.Result, answers []convert.Answer) {
	for i := range f.fields {
		to := &f.fields[i]
		words := read.Field(content, to.custom).String()
		switch {
		case to.custom == "" || words == "":
		case to.secret:
			answers[i].Text = hidden
		case len(answers[i].Selected) == 1 && to.kind != "array":
			answers[i].Note = words
		default:
			answers[i].Text = words
		}
	}
}

// hidden stands in a record for what nobody else may see.
const hidden = "(not shown)"

// answer is a value as an answer to question i.
func (f FormCall) answer(i int, v gjson.Result) (a convert.Answer) {
	to := &f.fields[i]
	switch {
	case to.secret:
		return convert.Answer{Text: hidden}
	case !to.closed:
		return convert.Answer{Text: v.String()}
	}
	items := []gjson.Result{v}
	if v.IsArray() {
		items = v.Array()
	}
	for _, item := range items {
		if at := to.indexOf(item); at >= 0 { // not the one for own words
			a.Selected = append(a.Selected, f.Questions[i].Options[at].Label)
		}
	}
	return a
}

// ByHand reports whether a reply to the form holds words or several picks that no
// client sends by itself: what stood in the form is not the person's.
func (f FormCall) ByHand(reply json.RawMessage) bool {
	content := read.Field(gjson.ParseBytes(reply), "content")
	return slices.ContainsFunc(f.fields, func(t formField) bool {
		if words := read.Field(content, t.custom); t.custom != "" && isWords(words, read.Field(t.words, "default")) {
			return true
		}
		v := read.Field(content, t.key)
		if t.kind == "array" {
			return len(v.Array()) > max(1, int(read.Field(t.schema, "minItems").Int())) && !sameItems(v, t.preset)
		}
		return !t.closed && isWords(v, t.preset)
	})
}

// isWords reports whether a value is a text that did not stand in its field.
func isWords(v, preset gjson.Result) bool {
	return v.Type == gjson.String && !clean.Blank(v.Str) && strings.TrimSpace(v.Str) != strings.TrimSpace(preset.String())
}

// sameItems reports whether two arrays hold the same, in whatever order.
func sameItems(a, b gjson.Result) bool {
	x, y := a.Array(), b.Array()
	holds := func(list []gjson.Result, v gjson.Result) bool {
		return slices.ContainsFunc(list, func(o gjson.Result) bool { return same(o, v) })
	}
	missing := func(from, in []gjson.Result) bool {
		return slices.ContainsFunc(from, func(v gjson.Result) bool { return !holds(in, v) })
	}
	return !missing(x, y) && !missing(y, x)
}

// name is what a field is called.
func (f FormCall) name(i int) string {
	return clean.Line(cmp.Or(f.fields[i].title, f.fields[i].key))
}
