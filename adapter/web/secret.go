package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// asksSecret reports whether a call asks for something that nobody else may see:
// a question that is marked so, or a form's field for a secret. What is answered
// at a hub is kept, and is in its history.
func asksSecret(body []byte) bool {
	type form struct{ RequestedSchema json.RawMessage }
	var call struct {
		form
		Params form
	}
	if json.Unmarshal(body, &call) == nil && len(ask.SecretFields(call.RequestedSchema))+len(ask.SecretFields(call.Params.RequestedSchema)) > 0 {
		return true
	}
	var v any
	return bytes.Contains(body, []byte("isSecret")) && json.Unmarshal(body, &v) == nil && marked(v)
}

func marked(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return v["isSecret"] == true || slices.ContainsFunc(slices.Collect(maps.Values(v)), marked)
	case []any:
		return slices.ContainsFunc(v, marked)
	}
	return false
}
