package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// opal is Opal's ask_user with one question and optional choices, as a tool
// call, whose result is the bare answer, or as the JSON-RPC request
// client/ask_user.
type opal struct{}

const opalMethod = "client/ask_user"

func (opal) recognises(d document) bool {
	switch {
	case d.tool != "":
		return d.tool == "ask_user" && !hasAny(d.input, "questions", "allow_freeform", "requestedSchema") && !piSimple(d)
	case d.bare():
		return d.input.Get("question").Exists() && !hasAny(d.input, "questions", "allow_freeform") && !piSimple(d)
	}
	return d.isMethod(opalMethod)
}

func hasAny(v gjson.Result, keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return v.Get(k).Exists() })
}

func (opal) decode(d document) (convert.Call, error) {
	input := d.input
	if d.isRPC() {
		input = d.root.Get("params")
	}
	call, err := oneQuestion(input)
	if err == nil && hasAny(input, "options", "suggestions") { // they would be lost
		err = wrongType(1, "its options must be in choices, got options or suggestions")
	}
	if err != nil {
		return convert.Call{}, err
	}
	session := read.Field(input, "session_id")
	if d.isRPC() && session.Type != gjson.String { // a tool call has none: its agent adds it
		return convert.Call{}, wrongType(0, "session_id must be a string, got "+read.Kind(session))
	}
	call.Session = session.String()
	call.Title = clean.First(clean.Line(call.Questions[0].Text), opalTitle)
	if d.isRPC() {
		call.ID = d.root.Get("id").String()
	}
	return call, nil
}

// opalTitle is how much of the question stands in the title.
const opalTitle = 60

// oneQuestion reads an input that is a question itself, with its options as
// choices.
func oneQuestion(input gjson.Result) (convert.Call, error) {
	limits := convert.Limits{MaxQuestions: 1, MinOptions: -1, MaxOptions: -1, FreeText: true}
	question := map[string]json.RawMessage{}
	if text := read.Field(input, "question"); text.Exists() {
		question["question"] = raw(text)
	}
	if choices := read.Field(input, "choices"); choices.Exists() {
		question["options"] = raw(choices)
	}
	call, err := convert.Parse(clean.JSON(map[string]any{"questions": []any{question}}), limits)
	call.Input = raw(input)
	return call, err
}

// opalError is what a tool call without an answer gets. Where a parent was asked
// for its sub-agent, the reason says so itself.
func opalError(o convert.Outcome) string {
	reason := o.Message()
	if strings.HasPrefix(reason, convert.ParentFailed) || strings.HasPrefix(reason, convert.UserFailed) {
		return reason
	}
	return convert.UserFailed + reason
}

func (opal) encode(d document, c convert.Call, r Reply) Result {
	o := r.Outcome
	if o.Status != convert.Answered || len(o.Answers) == 0 {
		if d.isRPC() {
			return d.refuse(o)
		}
		return Result{Body: []byte(opalError(o)), IsError: true}
	}
	answer := answerText(c.Questions[0], o.Answers[0])
	if d.isRPC() {
		return d.respond(map[string]string{"answer": answer})
	}
	return Result{Body: []byte(answer)}
}
