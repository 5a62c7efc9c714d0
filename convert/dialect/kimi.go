package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// kimi is Kimi's AskUserQuestion: Claude's questions with multi_select, and a
// map from questions to answers. To an ACP client without forms it is a
// permission request for the first question, which accepts only its options.
type kimi struct{}

func (kimi) recognises(d document) bool {
	if d.isRPC() {
		return d.isMethod(permissionMethod) && strings.HasPrefix(d.root.Get("params.options.0.optionId").Str, kimiOption)
	}
	return d.tool == "AskUserQuestion" && d.snake()
}

const kimiOption, kimiSkip = "q0_opt_", "q0_skip"

// snake reports whether a question is written with multi_select.
func (d document) snake() bool {
	return slices.ContainsFunc(d.questions(), func(q gjson.Result) bool { return q.Get("multi_select").Exists() })
}

func (kimi) decode(d document) (convert.Call, error) {
	if !d.isRPC() {
		call, err := convert.Parse(renamed(d.input, "multi_select"), convert.Limits{})
		call.Input = raw(d.input)
		return call, err
	}
	params := d.root.Get("params")
	options := kimiOptions(params)
	call := convert.Call{Questions: []convert.Question{{
		Text: params.Get("toolCall.content.0.content.text").String(), Options: options.list, Closed: true,
	}}}
	if err := call.Validate(anyCount); err != nil {
		return convert.Call{}, err
	}
	call = inSession(call, params)
	call.ID, call.Name = params.Get("toolCall.toolCallId").String(), params.Get("toolCall.title").String()
	return call, nil
}

func kimiOptions(params gjson.Result) (l labels) {
	for _, o := range params.Get("options").Array() {
		if id := o.Get("optionId").Str; strings.HasPrefix(id, kimiOption) {
			l.add(o.Get("name").String(), id)
		}
	}
	return l
}

type kimiResult struct {
	Answers json.RawMessage `json:"answers"`
	Note    string          `json:"note,omitempty"`
}

const kimiDismissed = "User dismissed the question without answering."

func (kimi) encode(d document, c convert.Call, r Reply) Result {
	o := r.Outcome
	switch {
	case !o.Status.ByPerson():
		return d.refuse(o)
	case d.isRPC():
		return d.respond(map[string]permissionOutcome{"outcome": kimiOutcome(d, o)})
	case o.Status != convert.Answered:
		return Result{Body: clean.JSON(kimiResult{json.RawMessage("{}"), kimiDismissed})}
	}
	return Result{Body: clean.JSON(kimiResult{Answers: answerMap(c, o.Answers)})}
}

func kimiOutcome(d document, o convert.Outcome) permissionOutcome {
	options := kimiOptions(d.root.Get("params"))
	switch {
	case o.Status == convert.Declined:
		return permissionOutcome{"selected", kimiSkip}
	case o.Status == convert.Answered && len(o.Answers) == 1:
		if ids := options.of(o.Answers[0].Selected); len(ids) == 1 {
			return permissionOutcome{"selected", ids[0]}
		}
	}
	return permissionOutcome{Outcome: "cancelled"}
}
