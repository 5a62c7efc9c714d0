package dialect

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
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
)

func (codex) recognises(d document) bool { return d.tool == codexTool || d.isMethod(codexMethod) }

// decode lets texts come twice: ids tell the questions apart. What Codex tells
// its model (3 questions, 3 options) it does not check.
func (codex) decode(d document) (convert.Call, error) {
	params := d.params()
	call, err := convert.Parse([]byte(params.Raw), convert.NoLimits)
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

type codexAnswer struct {
	Answers []string `json:"answers"`
}

// encode tells Codex of a user who declines as its own clients do, by an empty
// map. They send that for a failure, too, so the result of a tool call is the text
// for a question that was cancelled.
func (codex) encode(d document, c convert.Call, r Reply) Result {
	answers := map[string]codexAnswer{}
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
			answers[q.Get("id").String()] = codexAnswer{codexList(c.Questions[i], r.Outcome.Answers[i])}
		}
	}
	return d.respond(map[string]any{"answers": answers})
}

func codexList(q convert.Question, a convert.Answer) []string {
	list := slices.Clone(a.Selected)
	if a.Text != "" && len(list) == 0 && len(q.Options) > 0 && !q.HasLabel(codexOther) {
		list = append(list, codexOther)
	}
	for _, words := range []string{a.Text, a.Note} {
		if words != "" {
			list = append(list, codexNote+words)
		}
	}
	return list
}
