package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// qwen is Qwen Code's ask_user_question. To an ACP client it is a permission
// request with Submit and Cancel: the questions are in its raw input, and the
// answers go beside the outcome, by the numbers of the questions. As a tool call
// it is never recognised, only named; its result is text.
type qwen struct{}

func (qwen) id() string { return "qwen" }

func (qwen) recognises(d document) bool {
	return d.isMethod(permissionMethod) && isQwen(d.root.Get("params.toolCall"))
}

func isQwen(toolCall gjson.Result) bool {
	return toolCall.Get("_meta.qwenInteractionKind").Str == "user_question"
}

// qwenLimits let texts come twice: numbers tell the questions apart.
var qwenLimits = convert.NoLimits

func (qwen) decode(d document) (convert.Call, error) {
	if !d.isRPC() {
		limits := qwenLimits
		limits.RequireHeader = true // it is the key of the answer
		return convert.Parse([]byte(d.input.Raw), limits)
	}
	params := d.root.Get("params")
	call, err := convert.Parse([]byte(params.Get("toolCall.rawInput").Raw), qwenLimits)
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
	result := qwenResult{Outcome: permissionOutcome{"selected", submit}, Answers: map[string]string{}}
	for i, a := range r.Outcome.Answers {
		if i < len(c.Questions) && !a.Empty() {
			result.Answers[strconv.Itoa(i)] = answerText(c.Questions[i], a)
		}
	}
	return d.respond(result)
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

// answerText is an answer as one string, its note included.
func answerText(q convert.Question, a convert.Answer) string {
	return convert.WithNote(convert.AnswerText(q, a), a.Note)
}

func (qwen) holds() holds {
	return holds{header: true, description: true, multi: true, open: true,
		limits: convert.Limits{RequireHeader: true, RepeatQuestions: true}}
}

// write puts the label where there is no description: Qwen asks for one.
func (qwen) write(c convert.Call) any {
	questions := withoutPreviews(c.Questions)
	for _, q := range questions {
		for i, o := range q.Options {
			if o.Description == "" {
				q.Options[i].Description = o.Label
			}
		}
	}
	return toolUse{c.ID, "ask_user_question", questionList{questionsJSON(questions)}}
}

// withoutPreviews is a copy of the questions for agents that know no previews.
func withoutPreviews(questions []convert.Question) []convert.Question {
	made := make([]convert.Question, len(questions))
	for i, q := range questions {
		made[i] = q
		made[i].Options = make([]convert.Option, len(q.Options))
		for j, o := range q.Options {
			o.Preview = ""
			made[i].Options[j] = o
		}
	}
	return made
}

func (qwen) read(d document, c convert.Call, g given) (convert.Outcome, error) {
	if !d.isRPC() {
		return readQwenText(c, g.text)
	}
	switch outcome := g.json.Get("outcome"); {
	case outcome.Get("outcome").Str == "cancelled", outcome.Get("optionId").Str == "cancel":
		return notAnswered(convert.Cancelled), nil
	case outcome.Get("outcome").Str != "selected":
		return convert.Outcome{}, notThe(`{"outcome":{"outcome":"selected","optionId":"proceed_once"},"answers":{…}}`)
	}
	return byNumber(c, g.json.Get("answers"))
}

// byNumber are the answers of a map from positions, from 0, to strings.
func byNumber(c convert.Call, answers gjson.Result) (convert.Outcome, error) {
	if err := onlyKeys(answers, func(key string) bool {
		n, err := strconv.Atoi(key)
		return err == nil && n >= 0 && n < len(c.Questions) && strconv.Itoa(n) == key
	}); err != nil {
		return convert.Outcome{}, err
	}
	return eachSaid(c, func(i int) gjson.Result { return read.Field(answers, strconv.Itoa(i)) })
}

// readQwenText finds the headers, in the order of the questions. An answer may
// have several lines.
func readQwenText(c convert.Call, text string) (convert.Outcome, error) {
	rest, ok := strings.CutPrefix(text, qwenAnswers)
	switch {
	case text == qwenRefused:
		return notAnswered(convert.Cancelled), nil
	case !ok:
		return failure(text), nil
	}
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		body, ok := strings.CutPrefix(rest, qwenMark(q))
		if !ok {
			continue
		}
		end := len(body)
		for _, later := range c.Questions[i+1:] {
			if at := strings.Index(body, qwenMark(later)); at >= 0 {
				end = min(end, at)
			}
		}
		if anyMark(c, body[:end], qwenMark) {
			return convert.Outcome{}, notThe("each header once, in the order of the questions")
		}
		answers[i], rest = said(q, body[:end]), body[end:]
	}
	return answered(answers)
}

func qwenMark(q convert.Question) string { return "\n**" + clean.Line(q.Header) + "**: " }
