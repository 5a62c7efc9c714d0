package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
)

// codex is Codex's request_user_input, as a tool call or as its app server's
// item/tool/requestUserInput. Questions have ids; answers are lists of a label
// and a note, and own words are a note beside "None of the above".
type codex struct{}

const (
	codexTool   = "request_user_input"
	codexMethod = "item/tool/requestUserInput"
	codexOther  = "None of the above"
	codexNote   = "user_note: "
	codexEnded  = codexTool + " was cancelled before receiving a response"
	// codexEmpty is why an empty map is nobody's choice.
	codexEmpty = "there are no answers: Codex's clients say so for a user who declines, and for a question that they could not ask"
)

func (codex) id() string { return "codex" }

func (codex) recognises(d document) bool { return d.tool == codexTool || d.isMethod(codexMethod) }

// codexLimits let texts come twice: ids tell the questions apart. What Codex
// tells its model (3 questions, 3 options) it does not check.
var codexLimits = convert.NoLimits

func (codex) decode(d document) (convert.Call, error) {
	params := d.params()
	call, err := convert.Parse([]byte(params.Raw), codexLimits)
	if err != nil {
		return convert.Call{}, err
	}
	seen := map[string]bool{}
	for i, q := range codexQuestions(d) {
		id := q.Get("id").String()
		switch {
		case q.Get("isSecret").Bool(): // what is shown and stored on the way is no place for one
			return convert.Call{}, &convert.InputError{Question: i + 1, Err: convert.ErrWrongType, Detail: "a secret cannot be asked for here"}
		case id == "":
			return convert.Call{}, &convert.InputError{Question: i + 1, Err: convert.ErrWrongType, Detail: "id must be a string"}
		case seen[id]:
			return convert.Call{}, &convert.InputError{Question: i + 1, Err: convert.ErrWrongType, Detail: fmt.Sprintf("id must be unique, got %q again", id)}
		}
		seen[id] = true
		call.Questions[i].Closed = len(call.Questions[i].Options) > 0 && q.Get("isOther").Type == gjson.False
	}
	call.Session, call.ID = params.Get("threadId").String(), params.Get("itemId").String()
	return call, nil
}

func codexQuestions(d document) []gjson.Result {
	return document{input: d.params()}.questions()
}

type codexResult struct {
	Answers map[string]codexAnswer `json:"answers"`
}

type codexAnswer struct {
	Answers []string `json:"answers"`
}

// encode tells Codex of a user who declines as its own clients do, by an empty
// map. They send that for a failure, too, so the result of a tool call is the text
// for a question that was cancelled.
func (codex) encode(d document, c convert.Call, r Reply) Result {
	result := codexResult{map[string]codexAnswer{}}
	switch {
	case r.Outcome.Status == convert.Answered, r.Outcome.Status == convert.Declined && d.isRPC():
	case d.isRPC():
		return d.refuse(r.Outcome)
	case r.Outcome.Status == convert.Cancelled, r.Outcome.Status == convert.Declined:
		return Result{Body: []byte(codexEnded), IsError: true}
	default:
		return Result{Body: []byte(r.Outcome.Message()), IsError: true}
	}
	for i, q := range codexQuestions(d) {
		if i < len(r.Outcome.Answers) && !r.Outcome.Answers[i].Empty() {
			result.Answers[q.Get("id").String()] = codexAnswer{codexList(c.Questions[i], r.Outcome.Answers[i])}
		}
	}
	return d.respond(result)
}

func codexList(q convert.Question, a convert.Answer) []string {
	list := slices.Clone(a.Selected)
	if a.Text != "" && len(list) == 0 && len(q.Options) > 0 && !has(q, codexOther) {
		list = append(list, codexOther)
	}
	for _, words := range []string{a.Text, a.Note} {
		if words != "" {
			list = append(list, codexNote+words)
		}
	}
	return list
}

func (codex) holds() holds {
	limits := codexLimits
	limits.RequireHeader = true
	return holds{limits: limits, header: true, description: true, open: true} // a model cannot set isOther
}

func (codex) write(c convert.Call) any {
	type option struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	}
	type question struct {
		ID       string   `json:"id"`
		Header   string   `json:"header"`
		Question string   `json:"question"`
		Options  []option `json:"options,omitempty"`
	}
	input := struct {
		Questions []question `json:"questions"`
	}{}
	for i, q := range c.Questions {
		made := question{ID: "q" + strconv.Itoa(i+1), Header: q.Header, Question: q.Text}
		for _, o := range q.Options {
			made.Options = append(made.Options, option{o.Label, o.Description})
		}
		input.Questions = append(input.Questions, made)
	}
	return toolUse{c.ID, codexTool, input}
}

func (codex) read(d document, c convert.Call, g given) (convert.Outcome, error) {
	all := g.json.Get("answers")
	switch {
	case g.text == codexEnded:
		return notAnswered(convert.Cancelled), nil
	case all.Raw == "{}":
		return convert.Outcome{Status: convert.Failed, Reason: codexEmpty}, nil
	case g.json.Get("error").Exists():
		return failure(g.json.Get("error").String()), nil
	case g.json.Raw == "": // the text of an error
		return failure(g.text), nil
	case !all.IsObject():
		return convert.Outcome{}, notThe(`{"answers":{"<id>":{"answers":[…]}}}`)
	}
	ids := codexQuestions(d)
	if err := onlyKeys(all, func(id string) bool {
		return slices.ContainsFunc(ids, func(q gjson.Result) bool { return q.Get("id").String() == id })
	}); err != nil {
		return convert.Outcome{}, err
	}
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range ids {
		var err error
		if answers[i], err = codexAnswerOf(c.Questions[i], read.Field(all, q.Get("id").String())); err != nil {
			return convert.Outcome{}, fmt.Errorf("question %d: %w", i+1, err)
		}
	}
	return answered(answers)
}

// codexAnswerOf reads {"answers":[…]}; a question that was left out has none.
func codexAnswerOf(q convert.Question, v gjson.Result) (convert.Answer, error) {
	list := read.Field(v, "answers")
	switch {
	case v.Type == gjson.Null:
		return convert.Answer{}, nil
	case !v.IsObject():
		return convert.Answer{}, notThe(`{"answers":[…]}, got ` + read.Kind(v))
	case !list.IsArray():
		return convert.Answer{}, notThe(`{"answers":[…]}, got ` + read.Kind(list) + " as answers")
	}
	said, err := strs(list)
	if err != nil {
		return convert.Answer{}, err
	}
	return codexSaid(q, said)
}

// codexSaid reads a list: a note beside a label is a note, any other is the
// answer. The answer is one text.
func codexSaid(q convert.Question, list []string) (a convert.Answer, err error) {
	var notes []string
	for _, item := range list {
		switch note, ok := strings.CutPrefix(item, codexNote); {
		case has(q, item):
			a.Selected = append(a.Selected, item)
		case ok:
			notes = append(notes, note)
		case item != codexOther && a.Text != "":
			return a, notThe("a label or one text, got several texts")
		case item != codexOther:
			a.Text = item
		}
	}
	words := strings.Join(notes, "\n")
	switch {
	case len(a.Selected) > 0:
		a.Note = words
	case words != "":
		a.Text = strings.TrimPrefix(a.Text+"\n"+words, "\n")
	case slices.Contains(list, codexOther): // without saying what: the word that was picked
		a.Text = codexOther
	}
	return a, nil
}
