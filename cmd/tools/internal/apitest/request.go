package apitest

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Request is one call of the CLI.
type Request struct {
	Body json.RawMessage
	// Main is set for a call that offers tools: one of a conversation.
	Main bool
	// HasKey is set if the call carried a key or token. It is not kept.
	HasKey bool
}

func newRequest(body []byte) Request {
	return Request{Body: body, Main: len(gjson.GetBytes(body, "tools").Array()) > 0}
}

// ToolResult is what the model was told about a tool call.
type ToolResult struct {
	ID      string
	Text    string // text blocks joined by newlines
	IsError bool
}

// Get reads a gjson path of the body.
func (r Request) Get(path string) gjson.Result { return gjson.GetBytes(r.Body, path) }

// LastUser is the content of the last message of the user. Messages of the
// system may follow it.
func (r Request) LastUser() gjson.Result {
	messages := r.Get("messages").Array()
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Get("role").String() == "user" {
			return messages[i].Get("content")
		}
	}
	return gjson.Result{}
}

// ToolResults are those of the last message of the user.
func (r Request) ToolResults() []ToolResult {
	var results []ToolResult
	for _, b := range r.LastUser().Array() {
		if b.Get("type").String() == "tool_result" {
			results = append(results, ToolResult{
				ID:      b.Get("tool_use_id").String(),
				Text:    strings.Join(texts(b.Get("content")), "\n"),
				IsError: b.Get("is_error").Bool(),
			})
		}
	}
	return results
}

// ToolResult finds a tool's result in any message of the call.
func (r Request) ToolResult(id string) (ToolResult, bool) {
	for _, m := range r.Get("messages").Array() {
		for _, b := range m.Get("content").Array() {
			if b.Get("type").String() == "tool_result" && b.Get("tool_use_id").String() == id {
				return ToolResult{ID: id, Text: strings.Join(texts(b.Get("content")), "\n"), IsError: b.Get("is_error").Bool()}, true
			}
		}
	}
	return ToolResult{}, false
}

// Texts are the texts of the last message of the user, the CLI's own
// reminders left out.
func (r Request) Texts() []string {
	var out []string
	for _, t := range texts(r.LastUser()) {
		if !strings.HasPrefix(strings.TrimSpace(t), "<system-reminder>") {
			out = append(out, t)
		}
	}
	return out
}

// Tools are the names of the tools on offer.
func (r Request) Tools() []string {
	var names []string
	for _, t := range r.Get("tools").Array() {
		names = append(names, t.Get("name").String())
	}
	return names
}

// Contains reports whether the body holds s anywhere, as JSON spells it.
func (r Request) Contains(s string) bool { return strings.Contains(string(r.Body), s) }

func texts(content gjson.Result) []string {
	if content.Type == gjson.String {
		return []string{content.Str}
	}
	var out []string
	for _, b := range content.Array() {
		if b.Get("type").String() == "text" {
			out = append(out, b.Get("text").String())
		}
	}
	return out
}
