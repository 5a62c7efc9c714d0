package dialect

import (
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
)

// cursor is Cursor's extension request. Questions and options have ids, which
// are the answer; own words have no place in it.
type cursor struct{}

const cursorMethod = "cursor/ask_question"

func (cursor) recognises(d document) bool {
	return d.isMethod(cursorMethod) || d.tool == "" && !d.isRPC() && d.input.Get("questions.0.prompt").Exists()
}

func (cursor) decode(d document) (convert.Call, error) {
	params := d.params()
	questions, err := listOf(params, "questions", 0)
	if err != nil {
		return convert.Call{}, err
	}
	var call convert.Call
	for i, v := range questions {
		q, err := cursorQuestion(v, i+1)
		if err != nil {
			return convert.Call{}, err
		}
		if i == 0 {
			q.Header = params.Get("title").String()
		}
		call.Questions = append(call.Questions, q)
	}
	if err := call.Validate(cursorLimits); err != nil {
		return convert.Call{}, err
	}
	return inSession(call, params), nil
}

// cursorLimits let texts come twice: ids tell the questions apart.
var cursorLimits = convert.Limits{MaxQuestions: -1, MinOptions: -1, MaxOptions: -1, RepeatQuestions: true}

func cursorQuestion(v gjson.Result, pos int) (q convert.Question, err error) {
	q.Closed = true
	if q.Text, err = textOf(v, "prompt", pos); err != nil {
		return q, err
	}
	if q.MultiSelect, err = flagOf(v, "allowMultiple", pos, false); err != nil {
		return q, err
	}
	if _, err = listOf(v, "options", pos); err != nil {
		return q, err
	}
	options := labelsOf(v, "label", "id")
	q.Options = options.list
	return q, options.check(pos)
}

type cursorOutcome struct {
	Outcome string         `json:"outcome"`
	Answers []cursorAnswer `json:"answers,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

type cursorAnswer struct {
	QuestionID        string   `json:"questionId"`
	SelectedOptionIDs []string `json:"selectedOptionIds"`
}

func (cursor) encode(d document, _ convert.Call, r Reply) Result {
	o := cursorOutcome{Outcome: "answered"}
	switch r.Outcome.Status {
	case convert.Answered:
	case convert.Declined:
		o = cursorOutcome{Outcome: "skipped", Reason: r.Outcome.Message()}
	case convert.Cancelled:
		o = cursorOutcome{Outcome: "cancelled"}
	default:
		return d.refuse(r.Outcome)
	}
	questions := read.Field(d.params(), "questions").Array()
	for i, a := range r.Outcome.Answers {
		if i < len(questions) && !a.Empty() {
			options := labelsOf(questions[i], "label", "id")
			o.Answers = append(o.Answers, cursorAnswer{questions[i].Get("id").String(), options.of(a.Selected)})
		}
	}
	return d.respond(map[string]cursorOutcome{"outcome": o})
}
