package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// FormCall is an elicitation form read as a question call, for whoever shows
// it as questions: a client without forms of its own. Each field is a question;
// a field for custom answers belongs to the question it stands beside. A form
// without fields, or one that sends the user to an address, is one question:
// go on or not.
type FormCall struct {
	Call

	fields  []formField
	request FormRequest // of a server's form
}

// ParseForm reads the parameters of elicitation/create. Errors are
// [InputError]s.
func ParseForm(params json.RawMessage) (FormCall, error) {
	if !valid(params) {
		return FormCall{}, &InputError{Err: ErrInvalidJSON, Detail: "expected the parameters of elicitation/create"}
	}
	root := gjson.ParseBytes(params)
	f := FormCall{Call: Call{
		Session: root.Get("sessionId").String(),
		ID:      root.Get("toolCallId").String(),
		Input:   params,
	}}
	message := root.Get("message").String()
	switch mode := root.Get("mode"); {
	case mode.Str == "url":
		where := root.Get("url").String()
		if where == "" {
			return FormCall{}, wrongType(0, 0, "url", "an address", root.Get("url"))
		}
		f.request.Mode = modeURL
		f.confirm(message+"\n\n"+where, openedLabel)
		return f, nil
	case mode.Exists() && mode.Str != "form":
		return FormCall{}, &InputError{Err: ErrWrongType, Detail: "mode must be form or url, got " + shorten(mode.Raw)}
	}
	schema := root.Get("requestedSchema")
	customs := customFields(schema.Get("properties"))
	if err := f.read(schema, customs); err != nil {
		return FormCall{}, err
	}
	if len(f.fields) == 0 {
		f.confirm(message, acceptLabel)
		return f, nil
	}
	ours := len(customs) > 0 || strings.HasPrefix(f.fields[0].key, keyPrefix) // questions as a form: see Form
	for i := range f.fields {
		if !ours && (len(f.fields) > 1 || len(f.Questions[i].Options) > 0) { // a text alone is typed at once
			f.fields[i].offerMore(&f.Questions[i])
		}
	}
	switch {
	case blank(message):
	case len(f.fields) == 1 && (ours || f.fields[0].about == ""):
		f.Questions[0].Text = message
	case !ours:
		f.Questions[0].Text = message + "\n\n" + f.Questions[0].Text
	}
	return f, nil
}

const (
	modeURL      = "url"
	acceptLabel  = "Accept"
	openedLabel  = "Opened, go on"
	declineLabel = "Decline"
)

// confirm makes the form a single question: go on or not.
func (f *FormCall) confirm(text, yes string) {
	f.Questions = []Question{{
		Text: text, Closed: true,
		Options: []Option{{Label: yes, Act: ActAlone}, {Label: declineLabel, Act: ActDecline}},
	}}
}

// read makes a question of each property. Customs are the keys of questions
// with a field for custom answers, which is no question.
func (f *FormCall) read(schema gjson.Result, customs map[string]string) error {
	properties := field(schema, "properties")
	if !properties.IsObject() {
		return wrongType(0, 0, "requestedSchema.properties", "an object", properties)
	}
	required := map[string]bool{}
	for _, key := range field(schema, "required").Array() {
		required[key.Str] = true
	}
	own := map[string]bool{}
	for _, key := range customs {
		own[key] = true
	}
	var err error
	properties.ForEach(func(k, v gjson.Result) bool {
		if !own[k.Str] {
			err = f.add(formField{key: k.Str, custom: customs[k.Str], required: required[k.Str], schema: v})
		}
		return err == nil
	})
	return err
}

// customFields maps the key of a question to that of its custom answer.
func customFields(properties gjson.Result) map[string]string {
	customs := map[string]string{}
	properties.ForEach(func(k, v gjson.Result) bool {
		if mark := field(field(v, "_meta"), customMark); mark.Get("isCustomAnswer").Bool() {
			customs[mark.Get("questionId").Str] = k.Str
		} else if of, ok := strings.CutSuffix(k.Str, customSuffix); ok && strings.HasPrefix(of, keyPrefix) && field(properties, of).Exists() {
			customs[of] = k.Str // other agents set no mark
		}
		return true
	})
	return customs
}

// A form that a person fills in has far fewer.
const maxFields, maxChoices = 100, 1000

func (f *FormCall) add(to formField) error {
	to.kind, to.about = to.schema.Get("type").Str, to.schema.Get("description").String()
	q := Question{Header: firstNonEmpty(to.schema.Get("title").String(), to.key)}
	q.Text = firstNonEmpty(to.about, q.Header)
	if blank(q.Text) {
		q.Text = "(a field without a name)"
	}
	options, ok := to.choices()
	if !ok {
		return &InputError{Question: len(f.Questions) + 1, Err: ErrWrongType,
			Detail: fmt.Sprintf("field %q has the unknown type %q", to.key, to.kind)}
	}
	if len(f.fields) == maxFields || len(options) > maxChoices {
		return &InputError{Question: len(f.Questions) + 1, Err: ErrOptionCount,
			Detail: fmt.Sprintf("a form has at most %d fields with %d options", maxFields, maxChoices)}
	}
	q.MultiSelect = to.kind == "array"
	to.preset = field(to.schema, "default")
	for _, o := range options {
		to.addOption(&q, o)
	}
	to.closed = len(q.Options) > 0 || q.MultiSelect
	q.Closed = to.closed && to.custom == ""
	q.Words = !to.closed
	if v := to.preset; q.Words && v.Exists() && !blank(v.String()) && to.check(v) == nil {
		q.Options = []Option{{Label: v.String(), Description: "default", Act: ActAlone}}
		to.values = []gjson.Result{v}
	}
	f.Questions = append(f.Questions, q)
	f.fields = append(f.fields, to)
	return nil
}

// addOption offers a value of a field, once, under a label of its own.
func (t *formField) addOption(q *Question, o gjson.Result) {
	value, label := o, o.String()
	if o.IsObject() {
		value = field(o, "const")
		label = firstNonEmpty(field(o, "title").String(), value.String())
	}
	if t.indexOf(value) >= 0 {
		return
	}
	if blank(label) {
		label = "(empty)"
	}
	if q.hasLabel(label) {
		label += " (" + value.String() + ")"
	}
	option := Option{
		Label:       q.unused(label),
		Description: field(o, "description").String(),
		Preview:     field(field(o, "_meta"), previewMark).Get("preview").String(),
	}
	if t.preset.Exists() && same(t.preset, value) {
		option.Description = strings.TrimPrefix(option.Description+", default", ", ")
	}
	t.values = append(t.values, value)
	q.Options = append(q.Options, option)
}

// unused returns the label, or one like it that no option has.
func (q *Question) unused(label string) string {
	for n := 2; q.hasLabel(label); n++ {
		label = strings.TrimSuffix(label, " "+strconv.Itoa(n-1)) + " " + strconv.Itoa(n)
	}
	return label
}

func firstNonEmpty(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// Reply is the reply to the form for an outcome. An accept fits the form's
// schema; an error says which answer does not.
func (f FormCall) Reply(o Outcome) (json.RawMessage, error) {
	switch o.Status {
	case Answered:
	case Declined:
		return declineReply, nil
	default:
		return CancelForm, nil
	}
	content := map[string]json.RawMessage{}
	for i := range f.Questions {
		var a Answer
		if i < len(o.Answers) {
			a = o.Answers[i]
		}
		if len(a.Selected) == 1 && f.acts(i, a) == ActDecline {
			return declineReply, nil
		}
		if err := f.put(content, i, a); err != nil {
			return nil, fmt.Errorf("question %d: %w", i+1, err)
		}
	}
	return f.accept(content), nil
}

var declineReply = json.RawMessage(`{"action":"decline"}`)

// CancelForm is the reply to a form that got no answer.
var CancelForm = json.RawMessage(`{"action":"cancel"}`)

func (f FormCall) accept(content map[string]json.RawMessage) json.RawMessage {
	if f.request.Mode == modeURL {
		return json.RawMessage(`{"action":"accept"}`)
	}
	return mustMarshal(map[string]any{"action": "accept", "content": content})
}

// acts is the act of the option picked.
func (f FormCall) acts(i int, a Answer) Act {
	for _, o := range f.Questions[i].Options {
		if slices.Contains(a.Selected, o.Label) && o.Act != 0 {
			return o.Act
		}
	}
	return 0
}

// Check reports an answer that does not fit the field of question i, in words
// for whoever gave it. The error wraps [ErrBadAnswer].
func (f FormCall) Check(i int, a Answer) error {
	return f.put(map[string]json.RawMessage{}, i, a)
}

// Expects says in words what question i takes.
func (f FormCall) Expects(i int) string {
	if i >= len(f.fields) {
		return "one of the options"
	}
	return f.fields[i].expects()
}

// put adds the values of an answer.
func (f FormCall) put(content map[string]json.RawMessage, i int, a Answer) error {
	if i >= len(f.fields) { // go on or not
		if len(a.Selected) != 1 {
			return fmt.Errorf("%w: expected one of the options", ErrBadAnswer)
		}
		return nil
	}
	if len(a.Selected) > 1 && f.acts(i, a) != 0 {
		return fmt.Errorf("%w: one of these options stands alone", ErrBadAnswer)
	}
	to, words := &f.fields[i], firstNonEmpty(a.Text, a.Note)
	if words != "" && to.custom != "" {
		content[to.custom] = quote(words)
		words = ""
	}
	raw, err := f.value(i, a.Selected, words)
	switch {
	case err != nil:
		return err
	case raw == "" && to.required:
		return fmt.Errorf("%w: it is required: expected %s", ErrBadAnswer, to.expects())
	case raw == "":
		return nil
	}
	if is, keeps := to.fits(gjson.Parse(raw)); !is || !keeps {
		return fmt.Errorf("%w: expected %s, got %s", ErrBadAnswer, to.expects(), shorten(raw))
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
	case to.closed:
		return "", fmt.Errorf("%w: it takes none but its options, got %q", ErrBadAnswer, clean.Truncate(clean.Line(words), 40))
	}
	return to.parse(words)
}

// Read reads a client's reply to the form itself: how it ended, with answers
// for a record of it, and what to tell whoever asked. Fields that the form does
// not have are left out. An error wraps [ErrBadAnswer] if a value breaks a rule
// of its field, [ErrProtocol] if the reply is none to this form at all.
func (f FormCall) Read(reply json.RawMessage) (Outcome, json.RawMessage, error) {
	if !valid(reply) {
		return Outcome{}, nil, fmt.Errorf("%w: not valid JSON", ErrProtocol)
	}
	root := gjson.ParseBytes(reply)
	switch action := field(root, "action"); action.Str {
	case "accept":
		return f.readContent(field(root, "content"))
	case "decline":
		return Outcome{Status: Declined, Reason: DeclineMessage}, declineReply, nil
	case "cancel":
		return Outcome{Status: Cancelled, Reason: CancelMessage}, CancelForm, nil
	default:
		return Outcome{}, nil, fmt.Errorf("%w: action must be accept, decline or cancel, got %s", ErrProtocol, clean.Truncate(clean.Line(action.Raw), 40))
	}
}

func (f FormCall) readContent(content gjson.Result) (Outcome, json.RawMessage, error) {
	if len(f.fields) == 0 {
		yes := Answer{Selected: []string{f.Questions[0].Options[0].Label}}
		return Outcome{Status: Answered, Answers: []Answer{yes}}, f.accept(map[string]json.RawMessage{}), nil
	}
	if content.Exists() && content.Type != gjson.Null && !content.IsObject() {
		return Outcome{}, nil, fmt.Errorf("%w: content must be an object", ErrProtocol)
	}
	values, answers := map[string]json.RawMessage{}, make([]Answer, len(f.fields))
	for i := range f.fields {
		to := &f.fields[i]
		v := field(content, to.key)
		err := to.check(v)
		switch {
		case !v.Exists(), v.Type == gjson.Null, err != nil && v.Raw == `""`: // left empty
			if to.required {
				return Outcome{}, nil, fmt.Errorf("%w: %s is required: expected %s", ErrBadAnswer, f.name(i), to.expects())
			}
			continue
		case err != nil:
			return Outcome{}, nil, fmt.Errorf("%s: %w", f.name(i), err) // without the value: this is logged
		}
		values[to.key] = json.RawMessage(v.Raw)
		answers[i] = f.answer(i, v)
	}
	return Outcome{Status: Answered, Answers: answers}, f.accept(values), nil
}

// answer is a value as an answer to question i.
func (f FormCall) answer(i int, v gjson.Result) (a Answer) {
	to := &f.fields[i]
	if !to.closed {
		return Answer{Text: v.String()}
	}
	items := []gjson.Result{v}
	if v.IsArray() {
		items = v.Array()
	}
	for _, item := range items {
		a.Selected = append(a.Selected, f.Questions[i].Options[to.indexOf(item)].Label)
	}
	return a
}

// name is what a field is called.
func (f FormCall) name(i int) string {
	return clean.Line(firstNonEmpty(f.fields[i].schema.Get("title").String(), f.fields[i].key))
}
