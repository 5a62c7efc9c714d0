package dialect

import (
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// cursor is Cursor's extension request. Questions and options have ids, which
// are the answer; own words have no place in it.
type cursor struct{}

const cursorMethod = "cursor/ask_question"

func (cursor) id() string { return "cursor" }

func (cursor) recognises(d document) bool { return d.isMethod(cursorMethod) }

func (cursor) decode(d document) (convert.Call, error) {
	params := d.root.Get("params")
	var call convert.Call
	for i, v := range params.Get("questions").Array() {
		q := convert.Question{
			Text: v.Get("prompt").String(), MultiSelect: v.Get("allowMultiple").Bool(),
			Options: cursorOptions(v).list, Closed: true,
		}
		if i == 0 {
			q.Header = params.Get("title").String()
		}
		call.Questions = append(call.Questions, q)
	}
	limits := anyCount
	limits.FreeText, limits.RepeatQuestions = false, true // ids tell them apart
	if err := call.Validate(limits); err != nil {
		return convert.Call{}, err
	}
	return inSession(call, params), nil
}

func cursorOptions(question gjson.Result) (l labels) {
	for _, o := range question.Get("options").Array() {
		l.add(o.Get("label").String(), o.Get("id").String(), "")
	}
	return l
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
	questions := d.root.Get("params.questions").Array()
	for i, a := range r.Outcome.Answers {
		if i < len(questions) && !a.Empty() {
			options := cursorOptions(questions[i])
			o.Answers = append(o.Answers, cursorAnswer{questions[i].Get("id").String(), options.of(a.Selected)})
		}
	}
	return d.respond(map[string]cursorOutcome{"outcome": o})
}
