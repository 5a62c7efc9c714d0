package dialect

import (
	"github.com/acp-bridge/acp-bridge/convert"
)

func init() { register(claude{}) }

// claude is Claude Code's AskUserQuestion. The result is the permission
// result that Claude Code expects.
type claude struct{}

func (claude) ID() string { return "claude" }

func (claude) Recognises(d Document) bool {
	if d.Tool != "" {
		return d.Tool == "AskUserQuestion"
	}
	return d.bare() && !d.freeText() && !d.Input.Get("question").Exists()
}

func (claude) Decode(d Document) (convert.Call, error) {
	return convert.Parse([]byte(d.Input.Raw), convert.Limits{})
}

func (claude) Encode(_ Document, c convert.Call, r Reply) Result {
	return Result{
		Body:    convert.ClaudeResult(c, r.Outcome),
		IsError: r.Outcome.Status != convert.Answered,
	}
}
