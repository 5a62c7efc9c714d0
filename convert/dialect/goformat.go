package dialect

import "github.com/acp-bridge/acp-bridge/convert"

// goText is the Go library's ask_user_question: Claude's input with a header
// on every question, answered with canonical text. It is never recognised,
// only named.
type goText struct{}

func (goText) ID() string { return "go" }

func (goText) Recognises(Document) bool { return false }

func (goText) Decode(d Document) (convert.Call, error) {
	return convert.Parse([]byte(d.Input.Raw), convert.Limits{RequireHeader: true, RepeatQuestions: true})
}

func (goText) Encode(_ Document, c convert.Call, r Reply) Result {
	text, isError := convert.TextResult(c, r.Outcome)
	return Result{Body: []byte(text), IsError: isError}
}
