package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// asksSecret reports whether a call asks for something that nobody else may see:
// a question that is marked so, or a form's field for a secret. What is answered
// at a hub is kept, and is in its history.
func asksSecret(body []byte) bool {
	type form struct {
		Message         string
		RequestedSchema json.RawMessage
	}
	var call struct {
		form        // of MCP
		Params form // of MCP, as a request
	}
	_ = json.Unmarshal(body, &call) // a dialect has read it; what is not there is empty
	for _, f := range []form{call.form, call.Params} {
		if len(ask.SecretFields(f.Message, f.RequestedSchema)) > 0 {
			return true
		}
	}
	var v any
	return bytes.Contains(body, []byte("isSecret")) && json.Unmarshal(body, &v) == nil && marked(v)
}

// secretQuestions says which questions ask for something that nobody else may see: the
// answers that would not be kept as they are.
func secretQuestions(c convert.Call) []bool {
	typed := slices.Repeat([]convert.Answer{{Text: "x"}}, len(c.Questions))
	is := make([]bool, len(typed))
	for i, a := range ask.Kept(c, typed) {
		is[i] = a.Text != typed[i].Text
	}
	return is
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
