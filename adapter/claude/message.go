package claude

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// The values of Message.Type that this package or its callers act on. The CLI
// sends others and will send more; they are passed on as they are.
const (
	TypeSystem         = "system"
	TypeAssistant      = "assistant"
	TypeUser           = "user"
	TypeStreamEvent    = "stream_event"
	TypeResult         = "result"
	TypeControlRequest = "control_request"
	TypeControlCancel  = "control_cancel_request"

	typeControlResponse = "control_response"
)

// CanUseTool is the subtype of the control request by which the CLI asks for
// a permission, or asks a question.
const CanUseTool = "can_use_tool"

// Message is one line of the CLI.
type Message struct {
	Type string
	// Subtype is the message's subtype; for a control request that of the
	// request, for a stream event the event's type.
	Subtype string
	// Raw is the whole line, without its newline. It is the message's own
	// copy: it may be kept.
	Raw json.RawMessage
}

// parseMessage takes ownership of line. It reports false for a line that is
// not a JSON object with a type.
func parseMessage(line []byte) (Message, bool) {
	if !gjson.ValidBytes(line) {
		return Message{}, false
	}
	m := Message{Raw: line}
	typ := gjson.GetBytes(line, "type")
	if typ.Type != gjson.String || typ.Str == "" {
		return Message{}, false
	}
	m.Type = typ.Str
	path := "subtype"
	switch m.Type {
	case TypeControlRequest:
		path = "request.subtype"
	case TypeStreamEvent:
		path = "event.type"
	}
	if s := gjson.GetBytes(line, path); s.Type == gjson.String {
		m.Subtype = s.Str
	}
	return m, true
}

// Get reads a gjson path of the message.
func (m Message) Get(path string) gjson.Result { return gjson.GetBytes(m.Raw, path) }

// RequestID is the id of a control request or of the request that a
// control_cancel_request withdraws.
func (m Message) RequestID() string { return m.Get("request_id").String() }

// ParentToolUseID is the id of the tool call in which a sub-agent runs whose
// message this is; empty for the main conversation.
func (m Message) ParentToolUseID() string { return m.Get("parent_tool_use_id").String() }

// SessionID is the CLI's session id as the message carries it.
func (m Message) SessionID() string { return m.Get("session_id").String() }

// ToolRequest is a can_use_tool request: a permission that the CLI asks for,
// or a question.
type ToolRequest struct {
	RequestID string
	ToolName  string
	ToolUseID string
	// Input is the tool's input, token for token as received.
	Input json.RawMessage
	// Suggestions are the permission updates that the CLI proposes, a JSON
	// array; nil when there are none.
	Suggestions json.RawMessage
	// AgentID names the sub-agent that asks; empty for the main conversation.
	AgentID string
	// RequiresUserInteraction is set where no rule or mode may answer.
	RequiresUserInteraction bool
	BlockedPath             string
	DecisionReason          string
	Title                   string
	DisplayName             string
	Description             string
}

// ToolRequest reads a can_use_tool control request. Fields that are missing
// are empty.
func (m Message) ToolRequest() ToolRequest {
	r := m.Get("request")
	t := ToolRequest{
		RequestID:               m.RequestID(),
		ToolName:                r.Get("tool_name").String(),
		ToolUseID:               r.Get("tool_use_id").String(),
		AgentID:                 r.Get("agent_id").String(),
		RequiresUserInteraction: r.Get("requires_user_interaction").Bool(),
		BlockedPath:             r.Get("blocked_path").String(),
		DecisionReason:          r.Get("decision_reason").String(),
		Title:                   r.Get("title").String(),
		DisplayName:             r.Get("display_name").String(),
		Description:             r.Get("description").String(),
	}
	if in := r.Get("input"); in.Exists() {
		t.Input = json.RawMessage(in.Raw)
	}
	if s := r.Get("permission_suggestions"); s.IsArray() && len(s.Array()) > 0 {
		t.Suggestions = json.RawMessage(s.Raw)
	}
	return t
}

// Permission is the answer to a can_use_tool request.
type Permission struct {
	Behavior string `json:"behavior"` // "allow" or "deny"
	// UpdatedInput is the input to run an allowed tool with. The CLI wants it
	// also when nothing changed.
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	// UpdatedPermissions are those of the suggestions that the user agreed to.
	UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
	Message            string          `json:"message,omitempty"`
	// Interrupt ends the turn; the model then never sees Message.
	Interrupt bool   `json:"interrupt,omitempty"`
	ToolUseID string `json:"toolUseID,omitempty"`
}

// Allow answers a can_use_tool request with yes.
func Allow(input json.RawMessage) Permission {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return Permission{Behavior: "allow", UpdatedInput: input}
}

// Deny answers a can_use_tool request with no. The model reads message,
// unless interrupt ends the turn.
func Deny(message string, interrupt bool) Permission {
	return Permission{Behavior: "deny", Message: message, Interrupt: interrupt}
}
