package modeltest

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Request is one call of an agent.
type Request struct {
	// Protocol is messages, chat, responses or gemini.
	Protocol string
	Body     json.RawMessage
	// Tools are the names of the tools on offer.
	Tools []string
	// Users are the texts of the user's messages, agents' additions included.
	Users []string
	// Results are the results of tool calls, in their order.
	Results []Result
}

// Result is what the model was told about a tool call.
type Result struct {
	// ID is that of the call; Gemini has none.
	ID string
	// Text is the result as text; Gemini's is JSON.
	Text string
}

// Contains reports whether the body holds s anywhere, as JSON spells it.
func (r Request) Contains(s string) bool { return strings.Contains(string(r.Body), s) }

// Result returns the last result of the call with this id, or of the last call
// of all for an empty id.
func (r Request) Result(id string) (string, bool) {
	for i := len(r.Results) - 1; i >= 0; i-- {
		if id == "" || strings.Contains(r.Results[i].ID, id) {
			return r.Results[i].Text, true
		}
	}
	return "", false
}

func (r *Request) get(path string) gjson.Result { return gjson.GetBytes(r.Body, path) }

// text joins the texts of a content: a string, or a list of blocks.
func text(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	if !content.IsArray() {
		return content.Raw
	}
	var parts []string
	for _, b := range content.Array() {
		if t := b.Get("text"); t.Exists() {
			parts = append(parts, t.String())
		}
	}
	return strings.Join(parts, "\n")
}
