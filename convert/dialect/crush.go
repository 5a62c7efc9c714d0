package dialect

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// crush is Crush's question: questions with a type, choices with ids. The result
// is text with the ids picked.
type crush struct{}

func (crush) id() string { return "crush" }

func (crush) recognises(d document) bool { return d.tool == "question" && d.typed() }

var crushLimits = convert.Limits{MaxQuestions: 5, MaxOptions: 5, FreeText: true, RepeatQuestions: true}

const (
	crushYesNo  = "yes_no"
	crushSingle = "single_choice"
	crushMulti  = "multi_choice"
	crushFree   = "free_text"
)

func (crush) decode(d document) (convert.Call, error) {
	call := convert.Call{Input: raw(d.input)}
	for i, v := range d.questions() {
		text, err := textOf(v, "question", i+1)
		if err != nil {
			return convert.Call{}, err
		}
		q := convert.Question{Text: text, Header: v.Get("label").String()}
		if more := v.Get("description").String(); more != "" && more != q.Text {
			q.Text += "\n\n" + more
		}
		options := crushChoices(v)
		switch kind := v.Get("type"); kind.Str {
		case crushYesNo:
			q.Options, q.Closed = []convert.Option{{Label: "Yes"}, {Label: "No"}}, true
		case crushSingle, crushMulti:
			q.Options, q.MultiSelect = options.list, kind.Str == crushMulti
			if err := options.check(i + 1); err != nil {
				return convert.Call{}, err
			}
			if n := len(q.Options); n < convert.MinOptions {
				return convert.Call{}, &convert.InputError{Question: i + 1, Err: convert.ErrOptionCount, Detail: "expected 2 to 5, got " + strconv.Itoa(n)}
			}
		case crushFree:
		default:
			return convert.Call{}, &convert.InputError{Question: i + 1, Err: convert.ErrWrongType,
				Detail: "type must be yes_no, single_choice, multi_choice or free_text, got " + clean.Truncate(kind.Raw, 40)}
		}
		call.Questions = append(call.Questions, q)
	}
	return call, call.Validate(crushLimits)
}

func crushChoices(question gjson.Result) (l labels) {
	list := read.Field(question, "choices")
	if len(list.Array()) == 0 {
		list = read.Field(question, "options")
	}
	for _, o := range list.Array() {
		l.add(o.Get("label").String(), o.Get("id").String(), o.Get("description").String())
	}
	return l
}

const (
	crushCancelled = "User cancelled this question"
	crushSkipped   = "User skipped this question"
	crushAnswered  = "User answered: "
	crushSelected  = "User selected: "
	crushProvided  = "User provided: "
	crushNotes     = "\n\nNotes:\n- "
)

func (crush) encode(d document, c convert.Call, r Reply) Result {
	switch r.Outcome.Status {
	case convert.Answered:
	case convert.Declined, convert.Cancelled:
		return Result{Body: []byte(crushCancelled), IsError: true}
	default:
		return Result{Body: []byte(r.Outcome.Message()), IsError: true}
	}
	var blocks []string
	for i, v := range d.questions() {
		var a convert.Answer
		if i < len(r.Outcome.Answers) {
			a = r.Outcome.Answers[i]
		}
		blocks = append(blocks, crushMark(i, v)+crushAnswer(v, a))
	}
	return Result{Body: []byte(strings.Join(blocks, "\n\n"))}
}

func crushMark(i int, question gjson.Result) string {
	return fmt.Sprintf("Q%d: %s\n", i+1, read.Field(question, "question").String())
}

func crushAnswer(question gjson.Result, a convert.Answer) string {
	if question.Get("type").Str == crushYesNo && len(a.Selected) == 1 {
		return crushAnswered + strings.ToLower(a.Selected[0]) + crushNote(a)
	}
	var lines []string
	if options := crushChoices(question); len(a.Selected) > 0 {
		lines = append(lines, crushSelected+string(clean.JSON(options.of(a.Selected))))
	}
	if a.Text != "" {
		lines = append(lines, crushProvided+a.Text)
	}
	if lines == nil {
		lines = []string{crushSkipped}
	}
	return strings.Join(lines, "\n") + crushNote(a)
}

func crushNote(a convert.Answer) string {
	if a.Note == "" {
		return ""
	}
	return crushNotes + a.Note
}

func (crush) holds() holds {
	return holds{limits: crushLimits, header: true, description: true, multi: true, open: true}
}

func (crush) write(c convert.Call) any {
	type choice struct {
		ID          string `json:"id"`
		Label       string `json:"label"`
		Description string `json:"description,omitempty"`
	}
	type question struct {
		Label       string   `json:"label,omitempty"`
		Type        string   `json:"type"`
		Question    string   `json:"question"`
		Description string   `json:"description"`
		Choices     []choice `json:"choices,omitempty"`
	}
	input := struct {
		Questions []question `json:"questions"`
	}{}
	for _, q := range c.Questions {
		made := question{Label: q.Header, Type: crushFree, Question: q.Text, Description: q.Text} // Crush asks for one
		for i, o := range q.Options {
			made.Type = crushSingle
			made.Choices = append(made.Choices, choice{"o" + strconv.Itoa(i+1), o.Label, o.Description})
		}
		if q.MultiSelect && len(q.Options) > 0 {
			made.Type = crushMulti
		}
		input.Questions = append(input.Questions, made)
	}
	return toolUse{c.ID, "question", input}
}

func (crush) read(d document, c convert.Call, g given) (convert.Outcome, error) {
	if g.text == crushCancelled {
		return notAnswered(convert.Cancelled), nil
	}
	questions, rest := d.questions(), "\n\n"+g.text
	answers := make([]convert.Answer, len(c.Questions))
	for i, v := range questions {
		body, ok := strings.CutPrefix(rest, "\n\n"+crushMark(i, v))
		if !ok {
			return failure(g.text), nil
		}
		end := len(body)
		if i+1 < len(questions) {
			if at := strings.Index(body, "\n\n"+crushMark(i+1, questions[i+1])); at >= 0 {
				end = at
			}
		}
		var err error
		if answers[i], err = crushSaid(v, body[:end]); err != nil {
			return convert.Outcome{}, err
		}
		rest = body[end:]
	}
	return answered(answers)
}

func crushSaid(question gjson.Result, body string) (a convert.Answer, err error) {
	body, a.Note, _ = strings.Cut(body, crushNotes)
	switch word, ok := strings.CutPrefix(body, crushAnswered); {
	case ok && word == "yes":
		a.Selected = []string{"Yes"}
		return a, nil
	case ok && word == "no":
		a.Selected = []string{"No"}
		return a, nil
	case ok:
		return a, notThe(crushAnswered + "yes or " + crushAnswered + "no")
	}
	if list, ok := strings.CutPrefix(body, crushSelected); ok {
		line, rest, _ := strings.Cut(list, "\n")
		var ids []string
		if err := json.Unmarshal([]byte(line), &ids); err != nil {
			return a, notThe(crushSelected + `["<id>",…], got ` + clean.Truncate(line, 60))
		}
		options := crushChoices(question)
		if a.Selected, err = options.labels(ids); err != nil {
			return a, err
		}
		body = rest
	}
	text, ok := strings.CutPrefix(body, crushProvided)
	if !ok && body != crushSkipped && body != "" {
		return a, notThe(crushSelected + "…, " + crushProvided + "… or " + crushSkipped)
	}
	if ok {
		a.Text = text
	}
	return a, nil
}
