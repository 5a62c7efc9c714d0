package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// qwen is Qwen Code's ask_user_question. To an ACP client it is a permission
// request with Submit and Cancel: the questions are in its raw input, and the
// answers go beside the outcome, by the numbers of the questions. As a tool call
// it is never recognised, only named; its result is text.
type qwen struct{}

func (qwen) recognises(d document) bool {
	return d.isMethod(permissionMethod) && isQwen(d.root.Get("params.toolCall"))
}

func isQwen(toolCall gjson.Result) bool {
	return toolCall.Get("_meta.qwenInteractionKind").Str == "user_question"
}

// decode lets texts come twice: numbers tell the questions apart.
func (qwen) decode(d document) (convert.Call, error) {
	if !d.isRPC() {
		limits := convert.NoLimits
		limits.RequireHeader = true // it is the key of the answer
		return convert.Parse([]byte(d.input.Raw), limits)
	}
	params := d.root.Get("params")
	call, err := convert.Parse([]byte(params.Get("toolCall.rawInput").Raw), convert.NoLimits)
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
	if !d.isRPC() {
		return qwenText(c, r.Outcome)
	}
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
	return d.respond(qwenResult{permissionOutcome{"selected", submit}, numbered(c, r.Outcome.Answers)})
}

const (
	qwenAnswers = "User has provided the following answers:\n"
	qwenRefused = `Tool "ask_user_question" was canceled by the user.`
)

// qwenText is what Qwen's model gets: a line for each answer.
func qwenText(c convert.Call, o convert.Outcome) Result {
	switch o.Status {
	case convert.Answered:
	case convert.Declined, convert.Cancelled:
		return Result{Body: []byte(qwenRefused), IsError: true}
	default:
		return Result{Body: []byte(o.Message()), IsError: true}
	}
	var b strings.Builder
	b.WriteString(qwenAnswers)
	for i, a := range o.Answers {
		if i < len(c.Questions) && !a.Empty() {
			fmt.Fprintf(&b, "\n**%s**: %s", clean.Line(c.Questions[i].Header), answerText(c.Questions[i], a))
		}
	}
	return Result{Body: []byte(b.String())}
}

// numbered are answers by the numbers of their questions, from 0.
func numbered(c convert.Call, answers []convert.Answer) map[string]string {
	by := map[string]string{}
	for i, a := range answers {
		if i < len(c.Questions) && !a.Empty() {
			by[strconv.Itoa(i)] = answerText(c.Questions[i], a)
		}
	}
	return by
}

// answerText is an answer as one string, its note included.
func answerText(q convert.Question, a convert.Answer) string {
	return convert.WithNote(q.AnswerText(a), a.Note)
}
