package dialect

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
)

// cursor is Cursor's extension request. Questions and options have ids, which
// are the answer; own words have no place in it.
type cursor struct{}

const cursorMethod = "cursor/ask_question"

func (cursor) id() string { return "cursor" }

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
	options := cursorOptions(v)
	q.Options = options.list
	return q, options.check(pos)
}

func cursorOptions(question gjson.Result) (l labels) {
	for _, o := range read.Field(question, "options").Array() {
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
	questions := read.Field(d.params(), "questions").Array()
	for i, a := range r.Outcome.Answers {
		if i < len(questions) && !a.Empty() {
			options := cursorOptions(questions[i])
			o.Answers = append(o.Answers, cursorAnswer{questions[i].Get("id").String(), options.of(a.Selected)})
		}
	}
	return d.respond(map[string]cursorOutcome{"outcome": o})
}

func (cursor) holds() holds { return holds{limits: cursorLimits, multi: true, closed: true} }

func (cursor) write(c convert.Call) any {
	type option struct {
		ID    string `json:"id"`
		Label string `json:"label"`
	}
	type question struct {
		ID            string   `json:"id"`
		Prompt        string   `json:"prompt"`
		Options       []option `json:"options"`
		AllowMultiple bool     `json:"allowMultiple,omitempty"`
	}
	params := struct {
		SessionID  string     `json:"sessionId,omitempty"`
		ToolCallID string     `json:"toolCallId"`
		Questions  []question `json:"questions"`
	}{SessionID: c.Session, ToolCallID: c.ID}
	for i, q := range c.Questions {
		made := question{ID: "q" + strconv.Itoa(i+1), Prompt: q.Text, AllowMultiple: q.MultiSelect}
		for j, o := range q.Options {
			made.Options = append(made.Options, option{"o" + strconv.Itoa(j+1), o.Label})
		}
		params.Questions = append(params.Questions, made)
	}
	return rpcCall(cursorMethod, params)
}

func (cursor) read(d document, c convert.Call, g given) (convert.Outcome, error) {
	outcome := g.json.Get("outcome")
	switch word := outcome.Get("outcome").Str; {
	case g.json.Get("error").Exists():
		return failure(g.json.Get("error").String()), nil
	case word == "skipped":
		return notAnswered(convert.Declined), nil
	case word == "cancelled":
		return notAnswered(convert.Cancelled), nil
	case word != "answered":
		return convert.Outcome{}, notThe(`"outcome":{"outcome":"answered", "skipped" or "cancelled"}`)
	}
	answers := make([]convert.Answer, len(c.Questions))
	questions := read.Field(d.params(), "questions").Array()
	for _, a := range outcome.Get("answers").Array() {
		i := slices.IndexFunc(questions, func(q gjson.Result) bool { return q.Get("id").String() == a.Get("questionId").String() })
		if i < 0 || answers[i].Selected != nil {
			return convert.Outcome{}, notThe("one answer to each of the questions that were asked")
		}
		ids, err := strs(a.Get("selectedOptionIds"))
		if err != nil {
			return convert.Outcome{}, err
		}
		options := cursorOptions(questions[i])
		if answers[i].Selected, err = options.labels(ids); err != nil {
			return convert.Outcome{}, err
		}
	}
	return answered(answers)
}
