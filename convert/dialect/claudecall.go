package dialect

import (
	"encoding/json"
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// ClaudeCall writes a call as Claude Code's AskUserQuestion. Lost says, in words,
// what that has no place for. An error means that it cannot hold the call at all,
// and is one of [convert.Call.Validate].
func ClaudeCall(c convert.Call) (document []byte, lost []string, err error) {
	if err := c.Validate(convert.Limits{}); err != nil {
		return nil, nil, fmt.Errorf("claude cannot hold the call: %w", err)
	}
	for i, q := range c.Questions {
		if q.Closed {
			lost = append(lost, fmt.Sprintf("question %d: claude accepts own words, the question only its options", i+1))
		}
	}
	input := map[string]json.RawMessage{"questions": questionsJSON(c.Questions)}
	return clean.JSON(toolUse{c.ID, "AskUserQuestion", input}), lost, nil
}

// toolUse is a call of a tool, as Claude Code writes it.
type toolUse struct {
	ID    string                     `json:"id,omitempty"`
	Name  string                     `json:"name"`
	Input map[string]json.RawMessage `json:"input"`
}
