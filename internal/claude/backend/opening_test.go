package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// openings are the ways in which an editor opens a session.
var openings = []string{acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionFork}

// opens opens a session in one of these ways, and returns its id and the response.
func (s *saved) opens(method string) (*editor, string, gjson.Result) {
	known := filepath.Join(filepath.Dir(s.cli.Path), "session-"+reopened) // the stand-in has it
	require.NoError(s.t, os.WriteFile(known, []byte("0"), 0o600))
	e, r := s.reopen(s.options(), method, `{"subagents":{},"fs":{"readTextFile":true}}`)
	if id := r.Get("sessionId"); id.Exists() {
		return e, id.Str, r
	}
	return e, reopened, r
}

// modeNow is the mode that the editor shows: that of the response, unless an update
// changed it.
func (e *editor) modeNow(session string, response gjson.Result) string {
	mode := response.Get("modes.currentModeId").Str
	for _, u := range e.Updates(session) {
		if u.Get("sessionUpdate").Str == "current_mode_update" {
			mode = u.Get("currentModeId").Str
		}
	}
	return mode
}

// works runs a turn: the session is whole.
func (e *editor) works(session string) {
	e.T.Helper()
	e.Prompt(session, "go").Ends(acp.StopReasonEndTurn)
	require.Contains(e.T, e.Said(session), "Working.")
}

const statusLine = `{"type":"system","subtype":"status","status":null,"permissionMode":"%s","session_id":"x"}`

// The CLI says in which mode a session was left before or behind its reply to
// initialize: the session opens, and the editor shows that mode.
func TestOpensInEveryMode(t *testing.T) {
	type opening struct{ method, mode string }
	var list []opening
	for _, mode := range []string{"default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions", "a mode of tomorrow"} {
		list = append(list, opening{acp.AgentMethodSessionLoad, mode})
	}
	for _, method := range openings {
		list = append(list, opening{method, "plan"})
	}
	for _, o := range list {
		for _, place := range []string{"before the reply", "behind the reply", "in the reply"} {
			t.Run(strings.Join([]string{o.method, o.mode, place}, " "), func(t *testing.T) {
				t.Parallel()
				script, status := turns(steps{ct.Text("Working.")}), steps{ct.Raw(fmt.Sprintf(statusLine, o.mode))}
				script.Init = map[string]any{"current_permission_mode": o.mode}
				switch place {
				case "before the reply":
					script.Start = status
				case "behind the reply":
					script.Opened, script.Init = status, nil
				}
				e, s, r := save(t, script, promptLine).opens(o.method)
				e.awaitMode(s, r, o.mode)
			})
		}
	}
}

// awaitMode waits until the editor shows a mode.
func (e *editor) awaitMode(session string, response gjson.Result, mode string) {
	e.T.Helper()
	if e.modeNow(session, response) != mode {
		e.Await(session, "the mode", func(u gjson.Result) bool { return u.Get("currentModeId").Str == mode })
	}
	require.Equal(e.T, mode, e.modeNow(session, response))
}

// firsts are messages that the CLI may send before a session is open.
var firsts = map[string]string{
	"status": fmt.Sprintf(statusLine, "plan"),
	"init":   `{"type":"system","subtype":"init","permissionMode":"plan","capabilities":["msg_lifecycle_v1","interrupt_cancel_queued_v1"],"session_id":"x"}`,
	"result": `{"type":"result","subtype":"success","result":"","is_error":false,"origin":{"kind":"task-notification"},"fast_mode_state":"on","local_command":"model","modelUsage":{"m":{"contextWindow":100}},"queued_turn_count":1,"user_message_uuids":[]}`,
}

// others are messages that are less likely then.
var others = map[string]string{
	"idle":              `{"type":"system","subtype":"session_state_changed","state":"idle"}`,
	"text":              `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Before."}],"usage":{}}}`,
	"a call":            `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"toolu_x","name":"Bash","input":{"command":"ls"}}]}}`,
	"a delta":           `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Before."}}}`,
	"a command":         `{"type":"system","subtype":"task_started","task_type":"local_bash","task_id":"b","tool_use_id":"toolu_x"}`,
	"a sub-agent":       `{"type":"system","subtype":"task_started","task_type":"local_agent","task_id":"a","tool_use_id":"toolu_x","description":"d"}`,
	"its end":           `{"type":"system","subtype":"task_notification","task_id":"a","status":"completed"}`,
	"a result of none":  `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_x","content":"x"}]}}`,
	"a prompt's state":  `{"type":"command_lifecycle","command_uuid":"x","state":"started"}`,
	"a reset":           `{"type":"conversation_reset","new_conversation_id":""}`,
	"a withdrawal":      `{"type":"control_cancel_request","request_id":"r0"}`,
	"a form's end":      `{"type":"system","subtype":"elicitation_complete","elicitation_id":"x"}`,
	"a hook":            `{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback","callback_id":"acp-bridge-read","input":{}}}`,
	"a dialog":          `{"type":"control_request","request_id":"r2","request":{"subtype":"request_user_dialog","dialog_kind":"x"}}`,
	"a broken form":     `{"type":"control_request","request_id":"r3","request":{"subtype":"elicitation","requested_schema":7}}`,
	"a broken question": `{"type":"control_request","request_id":"r4","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"toolu_q","input":{}}}`,
}

// Whatever the CLI says first, and in whatever order, the session opens and works.
func TestOpensInEveryOrder(t *testing.T) {
	orders := permutations([]string{"reply", "status", "init", "result"})
	for name := range others {
		orders = append(orders, []string{name, "reply", "status"}, []string{"status", name, "reply"}, []string{"reply", name, "status"})
	}
	for i, order := range orders {
		t.Run(strings.Join(order, ", "), func(t *testing.T) {
			t.Parallel()
			script := turns(steps{ct.Text("Working.")})
			at := &script.Start
			for _, name := range order {
				switch {
				case name == "reply":
					at = &script.Opened
				case firsts[name] != "":
					*at = append(*at, ct.Raw(firsts[name]))
				default:
					*at = append(*at, ct.Raw(others[name]))
				}
			}
			e, s, r := save(t, script, promptLine).opens(openings[i%len(openings)])
			e.awaitMode(s, r, "plan")
			e.works(s)
		})
	}
}

func permutations(list []string) (all [][]string) {
	if len(list) == 0 {
		return [][]string{nil}
	}
	for i, first := range list {
		for _, rest := range permutations(slices.Delete(slices.Clone(list), i, i+1)) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}
