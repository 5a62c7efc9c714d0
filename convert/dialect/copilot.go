package dialect

import (
	"github.com/acp-bridge/acp-bridge/convert"
)

// copilot is Copilot CLI's ask_user: one question with choices, and own words
// unless it says otherwise. The result is a line of text.
type copilot struct{}

// recognises needs a field that Opal's tool of the same name has not.
func (copilot) recognises(d document) bool {
	ours := d.tool == "ask_user"
	return ours && isCopilotForm(d) || (ours || d.bare()) && d.input.Get("allow_freeform").Exists()
}

func (copilot) decode(d document) (convert.Call, error) {
	if isCopilotForm(d) {
		return formCall(d.input)
	}
	call, err := oneQuestion(d.input)
	if err != nil {
		return convert.Call{}, err
	}
	free, err := flagOf(d.input, "allow_freeform", 1, true)
	if err != nil {
		return convert.Call{}, err
	}
	q := &call.Questions[0]
	q.Closed = !free
	if q.Closed && len(q.Options) == 0 {
		return convert.Call{}, &convert.InputError{Question: 1, Err: convert.ErrOptionCount, Detail: "choices, or allow_freeform, is needed"}
	}
	return call, nil
}

const (
	copilotSelected  = "User selected: "
	copilotResponded = "User responded: "
	copilotSkipped   = "User skipped question"
	copilotError     = "Error asking user: "
)

func (copilot) encode(d document, c convert.Call, r Reply) Result {
	if isCopilotForm(d) {
		return copilotFormResult(d, r.Outcome)
	}
	switch r.Outcome.Status {
	case convert.Answered:
	case convert.Declined, convert.Cancelled:
		return Result{Body: []byte(copilotSkipped)}
	default:
		return Result{Body: []byte(copilotError + r.Outcome.Message()), IsError: true}
	}
	a := r.Outcome.Answers[0]
	word := copilotResponded
	if a.Text == "" {
		word = copilotSelected
	}
	return Result{Body: []byte(word + answerText(c.Questions[0], a))}
}
