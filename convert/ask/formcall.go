package ask

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// FormCall is an elicitation form read as a question call, for whoever shows
// it as questions: a client without forms of its own. Each field is a question;
// a field for custom answers belongs to the question it stands beside. A form
// without fields, or one that sends the user to an address, is one question:
// go on or not.
type FormCall struct {
	convert.Call

	fields  []formField
	request FormRequest // of a server's form
}

// ParseForm reads the parameters of elicitation/create. Errors are
// [convert.InputError]s.
func ParseForm(params json.RawMessage) (FormCall, error) {
	if !clean.ValidJSON(params) {
		return FormCall{}, &convert.InputError{Err: convert.ErrInvalidJSON, Detail: "expected the parameters of elicitation/create"}
	}
	if read.TooDeep(params) {
		return FormCall{}, &convert.InputError{Err: convert.ErrTooDeep, Detail: read.DepthLimit}
	}
	root := gjson.ParseBytes(params)
	f := FormCall{Call: convert.Call{
		Session: root.Get("sessionId").String(),
		ID:      root.Get("toolCallId").String(),
		Input:   params,
	}}
	message := root.Get("message").String()
	switch mode := root.Get("mode"); {
	case mode.Str == "url":
		where := root.Get("url").String()
		if where == "" {
			return FormCall{}, wrongType("url", "an address", root.Get("url"))
		}
		f.request.Mode = modeURL
		f.confirm(message+"\n\n"+where, openedLabel)
		return f, nil
	case mode.Exists() && mode.Str != "form":
		return FormCall{}, &convert.InputError{Err: convert.ErrWrongType, Detail: "mode must be form or url, got " + shorten(mode.Raw)}
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
	heed(message, f.fields)
	for i, field := range f.fields {
		if field.secret {
			f.Questions[i].Format = password
			if field.preset.Exists() && len(f.Questions[i].Options) == 1 && !field.closed {
				f.Questions[i].Options[0].Label = hidden
			}
		}
	}
	ours := len(customs) > 0 || strings.HasPrefix(f.fields[0].key, keyPrefix) // questions as a form: see Form
	for i := range f.fields {
		if !ours && (len(f.fields) > 1 || len(f.Questions[i].Options) > 0) { // a text alone is typed at once
			f.fields[i].offerMore(&f.Questions[i])
		}
	}
	switch {
	case clean.Blank(message):
	case f.fields[0].isCodex():
	case len(f.fields) == 1 && (f.fields[0].about == "" || strings.HasPrefix(f.fields[0].key, keyPrefix)):
		f.Questions[0].Text = message
	case !ours:
		f.Questions[0].Text = message + "\n\n" + f.Questions[0].Text
	}
	for i := range f.fields {
		switch q := &f.Questions[i]; {
		case !ours:
			q.Text += f.fields[i].hint()
		case q.Header == defaultTitle: // it had none, see Form
			q.Header = ""
		}
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
	f.Questions = []convert.Question{{
		Text: text, Closed: true,
		Options: []convert.Option{{Label: yes, Effect: convert.EffectAlone}, {Label: declineLabel, Effect: convert.EffectDecline}},
	}}
}

// read makes a question of each property. Customs are the keys of questions
// with a field for custom answers, which is no question.
func (f *FormCall) read(schema gjson.Result, customs map[string]string) error {
	properties := read.Field(schema, "properties")
	if !properties.IsObject() {
		return wrongType("requestedSchema.properties", "an object", properties)
	}
	required := map[string]bool{}
	for _, key := range read.Field(schema, "required").Array() {
		required[key.Str] = true
	}
	own := map[string]bool{}
	for _, key := range customs {
		own[key] = true
	}
	var err error
	properties.ForEach(func(k, v gjson.Result) bool {
		if !own[k.Str] {
			err = f.add(formField{
				key: k.Str, custom: customs[k.Str], required: required[k.Str], schema: v, words: read.Field(properties, customs[k.Str]),
			})
		}
		return err == nil
	})
	return err
}

// questionKey is that of a question in a form: ours, and OpenCode's.
var questionKey = regexp.MustCompile(`^(question_|q\d)`)

// customFields maps the key of a question to that of its custom answer.
func customFields(properties gjson.Result) map[string]string {
	if !strings.Contains(properties.Raw, "_") && !strings.Contains(properties.Raw, `\`) {
		return nil // neither a mark nor a suffix
	}
	customs := map[string]string{}
	properties.ForEach(func(k, v gjson.Result) bool {
		if mark := read.Field(read.Field(v, "_meta"), customMark); mark.Get("isCustomAnswer").Bool() {
			customs[mark.Get("questionId").Str] = k.Str
		} else if of, ok := strings.CutSuffix(k.Str, customSuffix); ok && questionKey.MatchString(of) && read.Field(properties, of).Exists() {
			customs[of] = k.Str // other agents set no mark
		} else if of, ok := codexNote(v); ok {
			customs[of] = k.Str
		}
		return true
	})
	return customs
}

func (f *FormCall) add(to formField) error {
	to.look()
	q := convert.Question{Header: cmp.Or(to.title, to.key)}
	q.Text = cmp.Or(to.about, q.Header)
	if to.isCodex() {
		q.Text, q.Header = q.Header, to.about
	}
	if clean.Blank(q.Text) {
		q.Text = "(a field without a name)"
	}
	options, ok := to.choices()
	if !ok {
		return &convert.InputError{Question: len(f.Questions) + 1, Err: convert.ErrWrongType,
			Detail: fmt.Sprintf("field %q has the unknown type %q", to.key, to.kind)}
	}
	if len(f.fields) == read.MaxQuestions {
		return &convert.InputError{Err: convert.ErrTooManyQuestions, Detail: fmt.Sprintf("a form has at most %d fields", read.MaxQuestions)}
	}
	if len(options) > read.MaxOptions {
		return &convert.InputError{Question: len(f.Questions) + 1, Err: convert.ErrOptionCount,
			Detail: fmt.Sprintf("a field has at most %d", read.MaxOptions)}
	}
	q.MultiSelect = to.kind == "array"
	to.preset = read.Field(to.schema, "default")
	for _, o := range options {
		to.addOption(&q, o)
	}
	to.closed = len(q.Options) > 0 || q.MultiSelect
	q.Closed = to.closed && to.custom == ""
	q.OwnWords = !to.closed
	switch {
	case q.OwnWords && to.kind == "string":
		q.Format = read.Field(to.schema, "format").Str
	case q.OwnWords || to.kind == "boolean":
		q.Format = to.kind
	}
	if v := to.preset; q.OwnWords && v.Exists() && !clean.Blank(v.String()) && to.check(v) == nil {
		q.Options = []convert.Option{{Label: v.String(), Description: "default", Effect: convert.EffectAlone}}
		to.values = []gjson.Result{v}
	}
	f.Questions = append(f.Questions, q)
	f.fields = append(f.fields, to)
	return nil
}

// addOption offers a value of a field, once, under a label of its own.
func (t *formField) addOption(q *convert.Question, o gjson.Result) {
	value, label := o, o.String()
	if o.IsObject() {
		value = read.Field(o, "const")
		label = cmp.Or(read.Field(o, "title").String(), value.String())
	}
	if t.indexOf(value) >= 0 {
		return
	}
	if t.custom != "" && value.Str == noneOfThese && t.isCodex() {
		t.other = value
		return
	}
	if clean.Blank(label) {
		label = "(empty)"
	}
	if shows(q, label) {
		label += " (" + value.String() + ")"
	}
	option := convert.Option{
		Label:       unused(q, label),
		Description: read.Field(o, "description").String(),
		Preview:     read.Field(read.Field(o, "_meta"), previewMark).Get("preview").String(),
	}
	if t.preset.Exists() && same(t.preset, value) {
		option.Description = strings.TrimPrefix(option.Description+", default", ", ")
	}
	t.values = append(t.values, value)
	q.Options = append(q.Options, option)
}

// shows reports whether an option looks like one with this label.
func shows(q *convert.Question, label string) bool {
	label = clean.Line(label)
	return slices.ContainsFunc(q.Options, func(o convert.Option) bool { return clean.Line(o.Label) == label })
}

// unused returns the label, or one like it that no option shows.
func unused(q *convert.Question, label string) string {
	for n := 2; shows(q, label); n++ {
		label = strings.TrimSuffix(label, " "+strconv.Itoa(n-1)) + " " + strconv.Itoa(n)
	}
	return label
}

func wrongType(name, want string, got gjson.Result) error {
	return &convert.InputError{Err: convert.ErrWrongType, Detail: fmt.Sprintf("%s must be %s, got %s", name, want, read.Kind(got))}
}

// shorten bounds what a peer gets into a message through us.
func shorten(s string) string { return clean.Truncate(clean.Line(s), 80) }
