package dialect

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// phoenix is Phoenix's ask_user_question. The result maps questions to
// answers; everything else is an error result. Both name the call, if it had
// an id.
type phoenix struct{}

func (phoenix) recognises(d document) bool { return d.tool == "ask_user_question" }

func (phoenix) decode(d document) (convert.Call, error) {
	return convert.Parse([]byte(d.input.Raw), convert.Limits{})
}

type phoenixResult struct {
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Answers   json.RawMessage `json:"answers,omitempty"`
	Error     string          `json:"error,omitempty"`
}

func (phoenix) encode(d document, c convert.Call, r Reply) Result {
	if r.Outcome.Status != convert.Answered {
		return phoenixError(d, r.Outcome.Message())
	}
	return Result{Body: clean.JSON(phoenixResult{ToolUseID: d.call, Answers: answerMap(c, r.Outcome.Answers)})}
}

func phoenixError(d document, message string) Result {
	return Result{Body: clean.JSON(phoenixResult{ToolUseID: d.call, Error: message}), IsError: true}
}

// refuse has a text for each limit, and one for everything else.
func (phoenix) refuse(d document, err error) Result {
	var bad *convert.InputError
	switch {
	case errors.Is(err, convert.ErrTooManyQuestions), errors.Is(err, convert.ErrNoQuestions) && d.input.Get("questions").IsArray():
		return phoenixError(d, fmt.Sprintf("Must have 1-%d questions", convert.MaxQuestions))
	case errors.Is(err, convert.ErrOptionCount) && errors.As(err, &bad):
		text := d.questions()[bad.Question-1].Get("question").String()
		return phoenixError(d, fmt.Sprintf("Question '%s' must have %d-%d options", text, convert.MinOptions, convert.MaxOptions))
	}
	return phoenixError(d, "Invalid input: "+err.Error())
}
