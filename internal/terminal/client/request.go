package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// request is something that an agent wants to know from the user, and how the
// user's answer becomes the reply.
type request struct {
	// call holds the questions. One that is closed has one question, and its
	// options are all there is to answer.
	call   convert.Call
	closed bool
	// secret says that an answer must not be kept.
	secret bool
	// reasons are the positions of options that a reason can be added to.
	reasons []int
	// permission says that it is for a tool call: what that is may change, so it is
	// not in call. See [told].
	permission bool
	// reply makes the reply; index is the position of the option that was
	// picked, -1 where none was. An error says what to answer instead.
	reply func(o convert.Outcome, index int) (any, error)
}

// parseRequest reads the requests that the user answers.
func parseRequest(method string, params json.RawMessage) (*request, error) {
	switch method {
	case acp.ClientMethodSessionRequestPermission:
		return parsePermission(gjson.ParseBytes(params))
	case acp.ClientMethodElicitationCreate:
		return parseForm(params)
	}
	return nil, acp.NewMethodNotFound(method)
}

func invalid(format string, args ...any) error {
	return acp.NewInvalidParams(map[string]any{"error": fmt.Sprintf(format, args...)})
}

// parseForm reads an elicitation form as questions.
func parseForm(params json.RawMessage) (*request, error) {
	form, err := ask.ParseForm(params)
	if err != nil {
		return nil, invalid("%v", err)
	}
	closed := len(form.Questions) == 1 && form.Questions[0].Closed && !form.Questions[0].MultiSelect
	return &request{call: form.Call, closed: closed, secret: form.Secret(), reply: func(o convert.Outcome, _ int) (any, error) {
		return form.Reply(o)
	}}, nil
}

// parsePermission reads a permission request: a question, or an ordinary one.
func parsePermission(p gjson.Result) (*request, error) {
	var options []option
	for _, o := range p.Get("options").Array() {
		options = append(options, option{o.Get("optionId").Str, o.Get("name").Str, o.Get("kind").Str})
	}
	if len(options) == 0 {
		return nil, invalid("a permission request without options")
	}
	if p.Get("_meta.claudeCode.questionType").Str == "askUserQuestion" {
		return parseQuestion(p, options), nil
	}
	t := p.Get("toolCall")
	asks := acp.RequestPermissionRequest{SessionId: acp.SessionId(p.Get("sessionId").Str)}
	asks.ToolCall.ToolCallId = acp.ToolCallId(t.Get("toolCallId").Str)
	for _, o := range options {
		asks.Options = append(asks.Options, acp.PermissionOption{OptionId: acp.PermissionOptionId(o.id), Name: o.name})
	}
	call := about.PermissionCall(asks)
	call.Questions[0].Header = "Permission"
	r := &request{call: call, closed: true, permission: true, reply: func(o convert.Outcome, index int) (any, error) {
		if o.Status != convert.Answered || index < 0 || index >= len(options) {
			return cancelled(), nil
		}
		meta := map[string]any{}
		if note := o.Answers[0].Note; options[index].rejects() && note != "" {
			meta["customText"] = note // acp-bridge tells the model why
		}
		return selected(options[index].id, meta), nil
	}}
	for i, o := range options {
		if o.rejects() {
			r.reasons = append(r.reasons, i)
		}
	}
	return r, nil
}

// option is one option of a permission request.
type option struct{ id, name, kind string }

func (o option) rejects() bool { return strings.HasPrefix(o.kind, "reject") }

// parseQuestion reads a permission request that is a question. See the wire
// contract of package convert.
func parseQuestion(p gjson.Result, options []option) *request {
	t := p.Get("toolCall")
	q := convert.Question{
		Header:      cmp.Or(t.Get("rawInput.header").Str, t.Get("title").Str),
		Text:        cmp.Or(t.Get("rawInput.question").Str, contentText(t.Get("content.0.content")), t.Get("title").Str),
		MultiSelect: p.Get("_meta.claudeCode.multiSelect").Bool(),
	}
	other := slices.ContainsFunc(options, func(o option) bool { return o.id == ask.OtherID })
	options = slices.DeleteFunc(options, func(o option) bool { return o.id == ask.OtherID })
	for _, o := range options {
		q.Options = append(q.Options, o.split())
	}
	call := convert.Call{Session: p.Get("sessionId").Str, ID: t.Get("toolCallId").Str, Questions: []convert.Question{q}}
	return &request{call: call, closed: !other && !q.MultiSelect, reply: func(o convert.Outcome, index int) (any, error) {
		return questionReply(q, options, other, o, index)
	}}
}

// split takes "Label - description" apart: the label is the id.
func (o option) split() convert.Option {
	label := clean.Line(o.id)
	if rest, ok := strings.CutPrefix(o.name, label+" - "); ok && label != "" {
		return convert.Option{Label: label, Description: rest}
	}
	return convert.Option{Label: cmp.Or(o.name, o.id)}
}

// questionReply is the reply to a question, with what a plain reply cannot say
// in its _meta.
func questionReply(q convert.Question, options []option, other bool, o convert.Outcome, index int) (any, error) {
	if o.Status != convert.Answered || len(o.Answers) != 1 {
		return cancelled(), nil
	}
	a := o.Answers[0]
	if a.Text != "" && !other {
		return nil, fmt.Errorf("this question accepts only its options")
	}
	meta := map[string]any{}
	if a.Text != "" {
		meta["customText"] = a.Text
	}
	if a.Note != "" {
		meta["notes"] = a.Note
	}
	var ids []string
	for i, opt := range q.Options {
		if i == index || index < 0 && slices.Contains(a.Selected, opt.Label) {
			ids = append(ids, options[i].id)
		}
	}
	if len(ids) == 0 {
		return selected(ask.OtherID, meta), nil
	}
	if q.MultiSelect {
		meta["selectedOptionIds"] = ids
	}
	return selected(ids[0], meta), nil
}

func selected(id string, meta map[string]any) acp.RequestPermissionResponse {
	if len(meta) == 0 {
		meta = nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{
		Selected: &acp.RequestPermissionOutcomeSelected{Outcome: "selected", OptionId: acp.PermissionOptionId(id), Meta: meta},
	}}
}

func cancelled() acp.RequestPermissionResponse {
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}
}
