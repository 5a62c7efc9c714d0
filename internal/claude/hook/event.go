package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Names of events, as Claude Code has them.
const (
	PermissionRequest  = "PermissionRequest"
	Elicitation        = "Elicitation"
	PermissionDenied   = "PermissionDenied" // by auto mode
	PreToolUse         = "PreToolUse"
	PostToolUse        = "PostToolUse"
	PostToolUseFailure = "PostToolUseFailure"
	PostToolBatch      = "PostToolBatch"
	UserPromptSubmit   = "UserPromptSubmit"
	Stop               = "Stop"
	StopFailure        = "StopFailure"
	SubagentStop       = "SubagentStop"
	SessionEnd         = "SessionEnd"
	Notification       = "Notification"
	// AnsweredThere is our own: the dialog of a request that a program holds is gone from the
	// terminal, and the tool runs.
	AnsweredThere = "AcpBridgeAnswered"
	// TakenBack is our own, too: Claude Code has ended the program that holds a request, or
	// has ended itself.
	TakenBack = "AcpBridgeTakenBack"
)

// Event is what a hook says. Nothing in it is to be trusted but that it came with a
// credential: it names files that nobody may read for it.
type Event struct {
	Name    string
	Session string
	// Agent is the sub-agent in which it happens, and AgentType its kind; empty in
	// the main thread.
	Agent, AgentType string
	Dir, Transcript  string
	// Tool, ToolUse and Input are the tool's name, the call's id, which a
	// PermissionRequest does not have, and what it is called with.
	Tool, ToolUse string
	Input         json.RawMessage
	// Suggestions are the rules that Claude Code offers to add.
	Suggestions json.RawMessage
	// Permits is the mode of the session: what is allowed without a question. Prompt is the
	// id of the prompt that began the turn.
	Permits, Prompt string
	// Calls are the ids of a batch.
	Calls []string
	// Server, Message, Mode, URL and Schema are those of a form.
	Server, Message, Mode, URL string
	Schema                     json.RawMessage
	// Words are the last ones of a turn, those of a notification, or why auto mode blocked a
	// call, and Kind which notification or which error it is.
	Words, Kind string
	// Held is the name that the program which holds a request gave it, see [Name], and
	// Process the Claude Code in which it happens, see [From]: one session may be open in
	// two terminals.
	Held, Process string
	// Background says that something runs on when the turn has ended.
	Background bool
}

// ErrEvent means that something is no event of a hook.
var ErrEvent = errors.New("expected an event of a Claude Code hook: hook_event_name and session_id")

// maxName bounds the names of tools, and ids.
const maxName = 512

// isName reports whether a name has so many letters, digits and dashes. A session's
// becomes the name of a conversation.
func isName(s string, least, most int) bool {
	for _, c := range []byte(s) {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(s) >= least && len(s) <= most
}

// Parse reads what a hook sends. Events that are not known are read, too: others
// will come.
func Parse(data []byte) (Event, error) {
	root := gjson.ParseBytes(data)
	if !clean.ValidJSON(data) || !root.IsObject() {
		return Event{}, ErrEvent
	}
	var e Event
	texts := e.texts()
	root.ForEach(func(key, v gjson.Result) bool {
		if to := texts[key.Str]; to != nil && v.Type == gjson.String {
			*to = strings.Clone(v.Str) // or whoever keeps it keeps all of the event
			return true
		}
		switch key.Str {
		case "tool_input":
			e.Input = object(v)
		case "requested_schema":
			e.Schema = object(v)
		case "permission_suggestions":
			if v.IsArray() {
				e.Suggestions = json.RawMessage(v.Raw)
			}
		case "tool_calls":
			for _, c := range v.Array() {
				e.Calls = append(e.Calls, c.Get("tool_use_id").Str)
			}
		case "background_tasks":
			e.Background = len(v.Array()) > 0
		}
		return true
	})
	if !isName(e.Name, 1, 40) || !isName(e.Session, 8, 64) {
		return Event{}, ErrEvent
	}
	if max(len(e.Agent), len(e.Process), len(e.Prompt), len(e.Tool), len(e.ToolUse)) > maxName { // they are remembered
		return Event{}, fmt.Errorf("%w, and names and ids of at most %d bytes", ErrEvent, maxName)
	}
	return e, nil
}

// texts are where the texts of members go.
func (e *Event) texts() map[string]*string {
	return map[string]*string{
		"hook_event_name": &e.Name, "session_id": &e.Session, "agent_id": &e.Agent, "agent_type": &e.AgentType,
		"cwd": &e.Dir, "transcript_path": &e.Transcript, "permission_mode": &e.Permits, "prompt_id": &e.Prompt,
		"tool_name": &e.Tool, "tool_use_id": &e.ToolUse,
		"mcp_server_name": &e.Server, "mode": &e.Mode, "url": &e.URL, "message": &e.Message,
		"last_assistant_message": &e.Words, "reason": &e.Words, "notification_type": &e.Kind, "error": &e.Kind,
		heldMember: &e.Held, processMember: &e.Process,
	}
}

// heldMember is the member with the name of a request, processMember that with the
// process.
const heldMember, processMember = "acp_bridge_held", "acp_bridge_process"

// Name gives a request a name, by which the program that holds it can tell more of it.
func Name(event []byte, name string) []byte {
	return with(event, heldMember, name)
}

// From says of an event in which process of Claude Code it happens; an empty one is not
// known.
func From(event []byte, process string) []byte {
	if process == "" {
		return event
	}
	return with(event, processMember, process)
}

// with is an event with one more member, behind all that Claude Code has written.
func with(event []byte, member, value string) []byte {
	return fmt.Appendf(nil, `%s,%q:%s}`, bytes.TrimSuffix(bytes.TrimSpace(event), []byte("}")), member, clean.JSON(value))
}

// Apart reports whether two events are known to be of two processes.
func (e Event) Apart(o Event) bool {
	return e.Process != "" && o.Process != "" && e.Process != o.Process
}

// AnsweredIn is the event that tells that a request was answered in the terminal, and
// TakenBackIn that Claude Code has taken it back.
func AnsweredIn(session, name string) []byte { return ownEvent(AnsweredThere, session, name) }

func TakenBackIn(session, name string) []byte { return ownEvent(TakenBack, session, name) }

func ownEvent(event, session, name string) []byte {
	return clean.JSON(map[string]string{"hook_event_name": event, "session_id": session, heldMember: name})
}

func object(v gjson.Result) json.RawMessage {
	if !v.IsObject() {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// Asks reports whether the event waits for a person.
func (e Event) Asks() bool {
	return e.Name == PermissionRequest || e.Name == Elicitation || e.Name == PermissionDenied
}

// Blocks reports whether Claude Code shows nothing in the terminal as long as the
// hook waits: whoever sits there would be locked out.
func (e Event) Blocks() bool { return e.Agent != "" || e.Name != PermissionRequest }
