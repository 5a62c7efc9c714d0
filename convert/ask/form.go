package ask

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// FormRequest holds the parameters of an ACP elicitation/create request. The
// SDK's own type has neither the session scope nor option descriptions.
type FormRequest struct {
	Mode       string `json:"mode"` // form or url
	SessionID  string `json:"sessionId"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Message    string `json:"message"`
	// RequestedSchema is a [FormSchema], or one of an MCP server as it came.
	RequestedSchema any `json:"requestedSchema,omitempty"`
	// URL and ElicitationID belong to mode url.
	URL           string `json:"url,omitempty"`
	ElicitationID string `json:"elicitationId,omitempty"`
	// Meta names the sub-agent's tool call, if one asks.
	Meta map[string]any `json:"_meta,omitempty"`

	raw json.RawMessage // of an agent's form
}

// FormSchema is the object a form asks for.
type FormSchema struct {
	Type       string                  `json:"type"`
	Properties map[string]formProperty `json:"properties"`
	Required   []string                `json:"required,omitempty"`
}

// formProperty is one field of a form.
type formProperty struct {
	Type        string         `json:"type"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description,omitempty"`
	Enum        []string       `json:"enum,omitempty"`
	OneOf       []FormOption   `json:"oneOf,omitempty"`
	Items       *formItems     `json:"items,omitempty"`
	Meta        map[string]any `json:"_meta,omitempty"`
}

// formItems are the choices of a field that takes several.
type formItems struct {
	Type  string       `json:"type,omitempty"`
	Enum  []string     `json:"enum,omitempty"`
	AnyOf []FormOption `json:"anyOf,omitempty"`
}

// FormOption is one choice of a field. Const is the label as given.
type FormOption struct {
	Const       string         `json:"const"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description,omitempty"`
	Meta        map[string]any `json:"_meta,omitempty"`
}

const (
	keyPrefix    = "question_"
	customSuffix = "_custom"
	customMark   = "_askUserQuestionCustomAnswer"
	previewMark  = "_claude/askUserQuestionOption"
)

// Form puts all questions of the call into one form. Nothing in it is
// required; each question with options that takes own words has a text field
// for them beside it.
func Form(c convert.Call) FormRequest {
	fields := make(map[string]formProperty, 2*len(c.Questions))
	for i := range c.Questions {
		addFields(fields, c, i)
	}
	message := "The agent has " + strconv.Itoa(len(c.Questions)) + " questions."
	if len(c.Questions) == 1 {
		message = clean.Block(c.Questions[0].Text)
	}
	request := FormRequest{
		Mode:            "form",
		SessionID:       c.Session,
		ToolCallID:      c.ID,
		Message:         c.SubAgent.Behind(message),
		RequestedSchema: FormSchema{Type: "object", Properties: fields},
	}
	if c.SubAgent.Parent != "" {
		request.Meta = map[string]any{"claudeCode": map[string]any{"parentToolUseId": c.SubAgent.Parent}}
	}
	return request
}

func addFields(fields map[string]formProperty, c convert.Call, i int) {
	q, key := &c.Questions[i], formKey(c, i)
	field := formProperty{Type: "string", Title: clean.Truncate(heading(c, i), maxTitle)}
	if len(c.Questions) > 1 {
		field.Description = clean.Block(q.Text)
	}
	if len(q.Options) == 0 {
		fields[key] = field
		return
	}
	own := "Your own answer, or a note on the choice above."
	if q.MultiSelect {
		field.Type, field.Items = "array", &formItems{AnyOf: formOptions(q)}
		own = "Your own answer; it is added to the choices above."
	} else {
		field.OneOf = formOptions(q)
	}
	fields[key] = field
	if q.Closed {
		return
	}
	fields[key+customSuffix] = formProperty{
		Type:        "string",
		Title:       "Other",
		Description: own,
		Meta: map[string]any{customMark: map[string]any{
			"questionId": key, "isCustomAnswer": true,
		}},
	}
}

// formKey is padded with zeros: clients show fields in the order of their keys.
func formKey(c convert.Call, i int) string {
	return fmt.Sprintf(keyPrefix+"%0*d", len(strconv.Itoa(len(c.Questions)-1)), i)
}

func formOptions(q *convert.Question) []FormOption {
	options := make([]FormOption, len(q.Options))
	for i, o := range q.Options {
		options[i] = FormOption{
			Const:       o.Label,
			Title:       clean.Line(o.Label),
			Description: clean.Line(o.Description),
		}
		if o.Preview != "" {
			options[i].Meta = map[string]any{previewMark: map[string]any{"preview": o.Preview}}
		}
	}
	return options
}

// FormOutcome reads the reply to [Form]: accepted with at least one answer is
// Answered, accepted with empty fields or declined is Declined,
// cancelled is Cancelled. An error wraps [convert.ErrProtocol]: the reply is no valid reply to
// this form, and says nothing about what the user wants.
func FormOutcome(c convert.Call, reply json.RawMessage) (convert.Outcome, error) {
	keys := map[string]bool{}
	for i := range c.Questions {
		keys[formKey(c, i)], keys[formKey(c, i)+customSuffix] = true, true
	}
	status, content, err := openReply(reply, keys)
	switch {
	case err != nil:
		return convert.Outcome{}, err
	case status == convert.Answered:
		return formAnswers(c, content)
	}
	return convert.Outcome{Status: status, Reason: convert.Outcome{Status: status}.Message()}, nil
}

func formAnswers(c convert.Call, content gjson.Result) (convert.Outcome, error) {
	o := convert.Outcome{Status: convert.Declined, Reason: convert.DeclineMessage}
	answers := make([]convert.Answer, len(c.Questions))
	for i := range c.Questions {
		key := formKey(c, i)
		a, err := formAnswer(&c.Questions[i], read.Field(content, key), read.Field(content, key+customSuffix))
		if err != nil {
			return convert.Outcome{}, fmt.Errorf("%w: %s: %s", convert.ErrProtocol, key, err)
		}
		answers[i] = a
		if !a.Empty() {
			o = convert.Outcome{Status: convert.Answered, Answers: answers}
		}
	}
	return o, nil
}

func formAnswer(q *convert.Question, value, custom gjson.Result) (convert.Answer, error) {
	own, err := formText(custom)
	if err != nil {
		return convert.Answer{}, fmt.Errorf("custom answer: %w", err)
	}
	if q.Closed && own != "" {
		return convert.Answer{}, fmt.Errorf("custom answer: there is no field for it")
	}
	if len(q.Options) == 0 {
		text, err := formText(value)
		return convert.Answer{Text: cmp.Or(text, own)}, err
	}
	selected, err := formPicks(q, value)
	if err != nil {
		return convert.Answer{}, err
	}
	if !q.MultiSelect && len(selected) > 0 {
		return convert.Answer{Selected: selected, Note: own}, nil
	}
	return convert.Answer{Selected: selected, Text: own}, nil
}

func formText(v gjson.Result) (string, error) {
	if v.Exists() && v.Type != gjson.String && v.Type != gjson.Null {
		return "", fmt.Errorf("expected a string, got %s", v.Type)
	}
	return strings.TrimSpace(v.Str), nil
}

// formPicks lists the labels picked in option order, whatever the order and
// however often the client named them.
func formPicks(q *convert.Question, v gjson.Result) ([]string, error) {
	var values []gjson.Result
	switch {
	case v.IsArray():
		values = v.Array()
	case v.Exists() && v.Type != gjson.Null:
		values = []gjson.Result{v}
	}
	picked := make(map[string]bool, len(values))
	for _, v := range values {
		if v.Type != gjson.String {
			return nil, fmt.Errorf("expected the label of an option, got %s", v.Type)
		}
		if v.Str != "" {
			picked[v.Str] = true
		}
	}
	if len(picked) > 1 && !q.MultiSelect {
		return nil, fmt.Errorf("several options for a question that takes one")
	}
	var labels []string
	for _, o := range q.Options {
		if picked[o.Label] {
			labels = append(labels, o.Label)
			delete(picked, o.Label)
		}
	}
	for label := range picked {
		return nil, fmt.Errorf("%q was not offered", clean.Truncate(clean.Line(label), 40))
	}
	return labels, nil
}
