package dialect

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// qwen is Qwen Code's ask_user_question as it reaches an ACP client: a
// permission request with Submit and Cancel. The questions are in its raw input,
// and the answers go beside the outcome, by the numbers of the questions.
type qwen struct{}

func (qwen) id() string { return "qwen" }

func (qwen) recognises(d document) bool {
	return d.isMethod(permissionMethod) && isQwen(d.root.Get("params.toolCall"))
}

func isQwen(toolCall gjson.Result) bool {
	return toolCall.Get("_meta.qwenInteractionKind").Str == "user_question"
}

func (qwen) decode(d document) (convert.Call, error) {
	params := d.root.Get("params")
	limits := anyCount
	limits.RepeatQuestions = true // numbers tell them apart
	call, err := convert.Parse([]byte(params.Get("toolCall.rawInput").Raw), limits)
	if err != nil {
		return convert.Call{}, err
	}
	call.Session, call.ID = params.Get("sessionId").String(), params.Get("toolCall.toolCallId").String()
	call.Name = params.Get("toolCall._meta.toolName").String()
	return call, nil
}

type qwenResult struct {
	Outcome permissionOutcome `json:"outcome"`
	Answers map[string]string `json:"answers,omitempty"`
}

// encode has one word for a user who declines and for one who cancels: Qwen
// ends the turn after either.
func (qwen) encode(d document, c convert.Call, r Reply) Result {
	switch r.Outcome.Status {
	case convert.Answered:
	case convert.Declined, convert.Cancelled:
		return d.respond(qwenResult{Outcome: permissionOutcome{Outcome: "cancelled"}})
	default:
		return d.refuse(r.Outcome)
	}
	submit := "proceed_once"
	for _, o := range d.root.Get("params.options").Array() {
		if o.Get("kind").Str == "allow_once" {
			submit = o.Get("optionId").Str
			break
		}
	}
	result := qwenResult{Outcome: permissionOutcome{"selected", submit}, Answers: map[string]string{}}
	for i, a := range r.Outcome.Answers {
		if i < len(c.Questions) && !a.Empty() {
			result.Answers[strconv.Itoa(i)] = convert.WithNote(convert.AnswerText(c.Questions[i], a), a.Note)
		}
	}
	return d.respond(result)
}
