package dialect

import (
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// phoenix is Phoenix's ask_user_question. The result maps questions to
// answers; everything else is an error result.
type phoenix struct{}

func (phoenix) id() string { return "phoenix" }

func (phoenix) recognises(d document) bool { return d.tool == "ask_user_question" }

func (phoenix) decode(d document) (convert.Call, error) {
	return convert.Parse([]byte(d.input.Raw), convert.Limits{})
}

func (phoenix) encode(_ document, c convert.Call, r Reply) Result {
	if r.Outcome.Status != convert.Answered {
		return Result{Body: clean.JSON(map[string]string{"error": r.Outcome.Message()}), IsError: true}
	}
	answers := answerMap(c, r.Outcome.Answers)
	return Result{Body: clean.JSON(map[string]json.RawMessage{"answers": answers})}
}
