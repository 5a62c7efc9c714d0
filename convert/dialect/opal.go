package dialect

import (
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// opal is Opal's ask_user with one question and optional choices, as a tool
// call or as the JSON-RPC request client/ask_user.
type opal struct{}

const opalMethod = "client/ask_user"

func (opal) id() string { return "opal" }

func (opal) recognises(d document) bool {
	switch {
	case d.tool != "":
		return d.tool == "ask_user" && !d.input.Get("questions").Exists()
	case d.bare():
		return d.input.Get("question").Exists() && !d.input.Get("questions").Exists()
	}
	return d.isMethod(opalMethod)
}

func (opal) decode(d document) (convert.Call, error) {
	input := d.input
	if d.isRPC() {
		input = d.root.Get("params")
	}
	question := map[string]json.RawMessage{}
	if text := input.Get("question"); text.Exists() {
		question["question"] = raw(text)
	}
	if choices := input.Get("choices"); choices.Exists() {
		question["options"] = raw(choices)
	}
	call, err := convert.Parse(clean.JSON(map[string]any{"questions": []any{question}}), convert.Limits{
		MaxQuestions: 1, MinOptions: -1, MaxOptions: -1, FreeText: true,
	})
	if err != nil {
		return convert.Call{}, err
	}
	call.Input = raw(input)
	call.Session = input.Get("session_id").String()
	if d.isRPC() {
		call.ID = d.root.Get("id").String()
	}
	return call, nil
}

type opalAnswer struct {
	Answer string `json:"answer"`
}

func (opal) encode(d document, c convert.Call, r Reply) Result {
	o := r.Outcome
	answered := o.Status == convert.Answered && len(o.Answers) > 0
	var answer opalAnswer
	if answered {
		a := o.Answers[0]
		answer.Answer = convert.WithNote(convert.AnswerText(c.Questions[0], a), a.Note)
	}
	if !d.isRPC() {
		if answered {
			return Result{Body: clean.JSON(answer)}
		}
		return Result{Body: clean.JSON(map[string]string{"error": o.Message()}), IsError: true}
	}
	if answered {
		return d.respond(answer)
	}
	return d.refuse(o)
}
