package conn

import (
	"encoding/json"

	"github.com/coder/acp-go-sdk"
)

// Encode renders the parameters of a message. The SDK's unions encode
// themselves, decode that into a map and encode the map, once for each level:
// for updates that are sent often, or are long, the same JSON is made in one go.
// What is raw in them also stays as it is.
//
// The SDK's tool calls have no name: it is the one in _meta.claudeCode.toolName,
// where it was before ACP had a place for it.
func Encode(params any) ([]byte, error) {
	switch p := params.(type) {
	case acp.SessionNotification:
		return json.Marshal(notification{p.Meta, p.SessionId, plain(p.Update)})
	case acp.RequestPermissionRequest:
		c := &p.ToolCall
		return json.Marshal(permissionRequest{p.Meta, p.Options, p.SessionId, toolCall{
			c.Meta, contents(c.Content), c.Kind, c.Locations, toolName(c.Meta), c.RawInput, c.RawOutput,
			"", c.Status, c.Title, c.ToolCallId,
		}})
	}
	return json.Marshal(params)
}

// plain is an update in a form that encodes as it is, if there is one.
func plain(u acp.SessionUpdate) any {
	switch {
	case u.ToolCall != nil:
		c := u.ToolCall
		return toolCall{
			c.Meta, contents(c.Content), orNil(c.Kind), c.Locations, toolName(c.Meta), c.RawInput, c.RawOutput,
			"tool_call", orNil(c.Status), &c.Title, c.ToolCallId,
		}
	case u.ToolCallUpdate != nil:
		c := u.ToolCallUpdate
		return toolCall{
			c.Meta, contents(c.Content), c.Kind, c.Locations, "", c.RawInput, c.RawOutput,
			"tool_call_update", c.Status, c.Title, c.ToolCallId,
		}
	}
	return u
}

// toolName is the name of the tool that is called. Updates of a call do not repeat
// it.
func toolName(meta map[string]any) string {
	claude, _ := meta["claudeCode"].(map[string]any)
	name, _ := claude["toolName"].(string)
	return name
}

// orNil is nil for a value that is to be left out.
func orNil[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}

type notification struct {
	Meta      map[string]any `json:"_meta,omitempty"`
	SessionID acp.SessionId  `json:"sessionId"`
	Update    any            `json:"update"`
}

type permissionRequest struct {
	Meta      map[string]any         `json:"_meta,omitempty"`
	Options   []acp.PermissionOption `json:"options"`
	SessionID acp.SessionId          `json:"sessionId"`
	ToolCall  toolCall               `json:"toolCall"`
}

// toolCall has the fields of the SDK's three types of tool calls, and what is newer.
type toolCall struct {
	Meta          map[string]any         `json:"_meta,omitempty"`
	Content       []any                  `json:"content,omitempty"`
	Kind          *acp.ToolKind          `json:"kind,omitempty"`
	Locations     []acp.ToolCallLocation `json:"locations,omitempty"`
	Name          string                 `json:"name,omitempty"`
	RawInput      any                    `json:"rawInput,omitempty"`
	RawOutput     any                    `json:"rawOutput,omitempty"`
	SessionUpdate string                 `json:"sessionUpdate,omitempty"`
	Status        *acp.ToolCallStatus    `json:"status,omitempty"`
	Title         *string                `json:"title,omitempty"`
	ToolCallID    acp.ToolCallId         `json:"toolCallId"`
}

type textContent struct {
	Content textBlock `json:"content"`
	Type    string    `json:"type"`
}

type textBlock struct {
	Text string `json:"text"`
	Type string `json:"type"`
}

// diff is the SDK's without its methods.
type diff acp.ToolCallContentDiff

// contents are texts and diffs in a form that encodes as it is, and others as
// the SDK has them.
func contents(list []acp.ToolCallContent) []any {
	out := make([]any, len(list))
	for i, c := range list {
		switch {
		case c.Content != nil && c.Content.Meta == nil && c.Content.Content.Text != nil:
			out[i] = textContent{textBlock{c.Content.Content.Text.Text, "text"}, "content"}
		case c.Content == nil && c.Diff != nil:
			d := diff(*c.Diff)
			d.Type = "diff"
			out[i] = &d
		default:
			out[i] = c
		}
	}
	return out
}
