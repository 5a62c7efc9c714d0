package claude

import (
	"encoding/json"
	"slices"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
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

// Elicitation is the subtype of the control request by which the CLI passes on
// what an MCP server wants to know from the user.
const Elicitation = "elicitation"

// UserDialog is the subtype of the control request by which the CLI asks for a
// dialog of its own. It sends kinds that were declared in initialize, and takes
// no error for an answer.
const UserDialog = "request_user_dialog"

// Message is one line of the CLI.
type Message struct {
	Type string
	// Subtype is the message's subtype; for a control request that of the
	// request, for a stream event the event's type.
	Subtype string
	// Raw is the whole line, without its newline. It is the message's own
	// copy: it may be kept, and must not be changed.
	Raw json.RawMessage

	members []member
}

// member is a member of a message: parts of Raw, not copies.
type member struct {
	name  string
	value gjson.Result
}

// ParseMessage reads a line and takes ownership of it. It reports false for one
// that is not a JSON object with a type.
func ParseMessage(line []byte) (Message, bool) {
	if !clean.ValidJSON(line) {
		return Message{}, false
	}
	m := Message{Raw: line, members: make([]member, 0, 8)}
	// One pass for all that is read of a line, which may be tens of MB.
	gjson.Parse(unsafe.String(unsafe.SliceData(line), len(line))).ForEach(func(key, value gjson.Result) bool {
		m.members = append(m.members, member{key.Str, value})
		return true
	})
	m.Type = m.Get("type").Str
	path := "subtype"
	switch m.Type {
	case TypeControlRequest:
		path = "request.subtype"
	case TypeStreamEvent:
		path = "event.type"
	}
	m.Subtype = m.Get(path).Str
	return m, m.Type != ""
}

// Get reads a part of the message, by a path of gjson. It is a copy. Of two members with
// one name the first counts; gjson goes on to one that has the rest.
func (m Message) Get(path string) gjson.Result {
	r := m.part(path)
	r.Raw, r.Str = strings.Clone(r.Raw), strings.Clone(r.Str)
	return r
}

// Event is the event of a stream event. It is a part of Raw, not a copy.
func (m Message) Event() gjson.Result { return m.part("event") }

func (m Message) part(path string) gjson.Result {
	name, rest, deeper := strings.Cut(path, ".")
	i := slices.IndexFunc(m.members, func(one member) bool { return one.name == name })
	switch {
	case i < 0:
		return gjson.Result{}
	case deeper:
		return m.members[i].value.Get(rest)
	}
	return m.members[i].value
}

// RequestID is the id of a control request or of the request that a
// control_cancel_request withdraws.
func (m Message) RequestID() string { return m.Get("request_id").String() }

// ParentToolUseID is the id of the tool call in which a sub-agent runs whose
// message this is; empty for the main conversation.
func (m Message) ParentToolUseID() string { return m.Get("parent_tool_use_id").Str }

// SessionID is the CLI's session id as the message carries it.
func (m Message) SessionID() string { return m.Get("session_id").String() }

// Errors are those that a result names, without the CLI's own notes.
func (m Message) Errors() (texts []string) {
	for _, e := range m.Get("errors").Array() {
		if text := strings.TrimSpace(e.String()); text != "" && !strings.HasPrefix(text, "[ede_diagnostic]") {
			texts = append(texts, text)
		}
	}
	return texts
}

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
	// DecisionReason says why the CLI asks.
	DecisionReason string
}

// ToolRequest reads a can_use_tool control request. Fields that are missing
// are empty.
func (m Message) ToolRequest() ToolRequest {
	r := m.Get("request")
	t := ToolRequest{
		RequestID: m.RequestID(), ToolName: r.Get("tool_name").String(), ToolUseID: r.Get("tool_use_id").String(),
		Input: json.RawMessage(r.Get("input").Raw), AgentID: r.Get("agent_id").String(), DecisionReason: r.Get("decision_reason").String(),
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
