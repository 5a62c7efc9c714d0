package dialect

import (
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
)

// goText is the Go library's ask_user_question: Claude's input with a header
// on every question, answered with canonical text. It is never recognised,
// only named.
type goText struct{}

func (goText) id() string { return "go" }

func (goText) recognises(document) bool { return false }

var goLimits = convert.Limits{RequireHeader: true, RepeatQuestions: true}

func (goText) decode(d document) (convert.Call, error) {
	return convert.Parse([]byte(d.input.Raw), goLimits)
}

func (goText) encode(_ document, c convert.Call, r Reply) Result {
	text, isError := convert.TextResult(c, r.Outcome)
	return Result{Body: []byte(text), IsError: isError}
}

func (goText) holds() holds {
	return holds{limits: goLimits, header: true, description: true, multi: true, open: true}
}

func (goText) write(c convert.Call) any {
	return toolUse{c.ID, "ask_user_question", questionList{questionsJSON(withoutPreviews(c.Questions))}}
}

// read finds the questions in the text, in their order. Text that does not
// begin with one of them says why there is no answer.
func (goText) read(_ document, c convert.Call, g given) (convert.Outcome, error) {
	if g.text == convert.CancelledText {
		return notAnswered(convert.Cancelled), nil
	}
	answers, rest, found := make([]convert.Answer, len(c.Questions)), "\n\n"+g.text, false
	for i, q := range c.Questions {
		body, ok := strings.CutPrefix(rest, "\n\n"+q.Text+"\n")
		if !ok {
			continue
		}
		found = true
		end := len(body)
		for _, later := range c.Questions[i+1:] {
			if at := strings.Index(body, "\n\n"+later.Text+"\n"); at >= 0 && at < end {
				end = at
			}
		}
		body, rest = body[:end], body[end:]
		if anyMark(c, body, func(q convert.Question) string { return "\n\n" + q.Text + "\n" }) {
			return convert.Outcome{}, notThe("each question once, in the order in which they were asked")
		}
		answers[i] = goAnswer(q, body)
	}
	if !found {
		return failure(g.text), nil
	}
	return answered(answers)
}

// anyMark reports whether an answer in a text holds what begins a question: the
// questions are then not in their order, or one comes twice, and the answer would
// be taken for longer than it is.
func anyMark(c convert.Call, body string, mark func(convert.Question) string) bool {
	return slices.ContainsFunc(c.Questions, func(q convert.Question) bool { return strings.Contains(body, mark(q)) })
}

func goAnswer(q convert.Question, body string) convert.Answer {
	if !q.MultiSelect {
		return said(q, body)
	}
	front, note := body, ""
	if i := strings.LastIndex(body, noteMark); i >= 0 && strings.HasSuffix(body, ")") {
		front, note = body[:i], body[i+len(noteMark):len(body)-1]
	}
	for _, try := range []struct{ body, note string }{{body, ""}, {front, note}} {
		list, ok := strings.CutPrefix(try.body, "- ")
		if a := items(q, strings.Split(list, "\n- ")); ok && a.Text == "" {
			a.Note = try.note
			return a
		}
	}
	return convert.Answer{Text: body}
}
