package dialect

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// renamed is an input with a list of questions whose fields have Claude's
// names, for [convert.Parse]; multi is what the agent calls multiSelect. What is
// not as expected stays as it is.
func renamed(input gjson.Result, multi string) []byte {
	list, ok := read.Embedded(read.Field(input, "questions"))
	if !ok || !list.IsArray() || read.TooDeep([]byte(list.Raw)) { // it may come out of a string
		return []byte(input.Raw)
	}
	questions := []any{}
	list.ForEach(func(_, q gjson.Result) bool {
		if !q.IsObject() {
			questions = append(questions, json.RawMessage(q.Raw))
			return true
		}
		made := map[string]json.RawMessage{}
		q.ForEach(func(k, v gjson.Result) bool {
			name := k.Str
			if name == multi {
				name = "multiSelect"
			}
			made[name] = json.RawMessage(v.Raw)
			return true
		})
		questions = append(questions, made)
		return true
	})
	return clean.JSON(map[string]any{"questions": questions})
}
