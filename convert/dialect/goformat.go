package dialect

import (
	"github.com/acp-bridge/acp-bridge/convert"
)

// goText is the Go library's ask_user_question: Claude's input with a header
// on every question, answered with canonical text. It is never recognised,
// only named.
type goText struct{}

func (goText) recognises(document) bool { return false }

var goLimits = convert.Limits{RequireHeader: true, RepeatQuestions: true}

func (goText) decode(d document) (convert.Call, error) {
	return convert.Parse([]byte(d.input.Raw), goLimits)
}

func (goText) encode(_ document, c convert.Call, r Reply) Result {
	text, isError := convert.TextResult(c, r.Outcome)
	return Result{Body: []byte(text), IsError: isError}
}
