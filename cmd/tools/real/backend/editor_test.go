//go:build unix

package backend_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// editor has what only the tests of this package ask of one.
type editor struct{ *acptest.Editor }

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

// awaitMode waits until the editor shows a mode.
func (e *editor) awaitMode(session string, response gjson.Result, mode string) {
	e.T.Helper()
	if e.modeNow(session, response) != mode {
		e.Await(session, "the mode", func(u gjson.Result) bool { return u.Get("currentModeId").Str == mode })
	}
	require.Equal(e.T, mode, e.modeNow(session, response))
}

// sets changes an option and returns all of them.
func (e *editor) sets(session, id, value string) gjson.Result {
	e.T.Helper()
	return e.Call(acp.AgentMethodSessionSetConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%s}`, session, id, value)).Get("configOptions")
}

// refused is the error of a change that is not made.
func (e *editor) refused(session, id, value string) string {
	e.T.Helper()
	_, err := e.Try(acp.AgentMethodSessionSetConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%s}`, session, id, value))
	var re *acp.RequestError
	require.ErrorAs(e.T, err, &re)
	require.Equal(e.T, -32602, re.Code)
	return re.Message
}

// shows waits until the options have a value that the CLI told of.
func (e *editor) shows(session, id, value string) gjson.Result {
	e.T.Helper()
	var found gjson.Result
	e.Await(session, id+" "+value, func(u gjson.Result) bool {
		found = option(u.Get("configOptions"), id)
		return found.Get("currentValue").Exists() && found.Get("currentValue").String() == value
	})
	return found
}

// picks answers a request and returns the options that it had.
func (e *editor) picks(text, id string) string {
	e.T.Helper()
	r := e.Asked(text)
	r.Selects(id)
	return r.Options()
}

// openWith opens a session with a _meta.
func (e *editor) openWith(meta object) gjson.Result {
	e.T.Helper()
	raw, err := json.Marshal(meta)
	require.NoError(e.T, err)
	return e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, e.T.TempDir(), raw))
}

// initializeAs makes the editor a client of the table.
func (e *editor) initializeAs(name, caps string) {
	e.T.Helper()
	e.Call(acp.AgentMethodInitialize, `{"protocolVersion":1,"clientInfo":{"name":"`+name+`","version":"1"},"clientCapabilities":`+caps+`}`)
}

// saying waits until a chunk holds a text.
func (e *editor) saying(session, text string) {
	e.T.Helper()
	e.Await(session, text, func(u gjson.Result) bool { return strings.Contains(u.Get("content.text").Str, text) })
}

// running is a session with commands that print.
type running struct {
	*editor
	session string
}

// shows waits until a tool call's content, or what its terminal got, holds text.
func (r *running) shows(id, text string) {
	r.T.Helper()
	r.Await(r.session, text, func(u gjson.Result) bool {
		return u.Get("toolCallId").Str == id && (strings.Contains(u.Get("content.0.content.text").Str, text) || strings.Contains(r.printed(id), text))
	})
}

// of returns the updates of a tool call.
func (r *running) of(id string) []gjson.Result {
	var list []gjson.Result
	for _, u := range r.Updates(r.session) {
		if u.Get("toolCallId").Str == id {
			list = append(list, u)
		}
	}
	return list
}

// printed is all that the terminal of a tool call got.
func (r *running) printed(id string) string {
	var b strings.Builder
	for _, u := range r.of(id) {
		out := u.Get("_meta.terminal_output")
		if out.Exists() && out.Get("terminal_id").Str == id {
			b.WriteString(out.Get("data").Str)
		}
	}
	return b.String()
}

// exits are the ends of a tool call's terminal.
func (r *running) exits(id string) []string {
	var list []string
	for _, u := range r.of(id) {
		if exit := u.Get("_meta.terminal_exit"); exit.Exists() && exit.Get("terminal_id").Str == id {
			list = append(list, exit.Get("exit_code").Raw)
		}
	}
	return list
}

// partLines is what an editor was told of sub-agents and by them, and of tool calls, in
// order: the session, and what.
func partLines(e *editor, main string) (lines []string) {
	all, _ := e.Log()
	for _, n := range all {
		u, line := n.Get("update"), ""
		switch kind := u.Get("sessionUpdate").Str; kind {
		case "subagent_update":
			line = strings.Join([]string{u.Get("sessionId").Str, "is", u.Get("state.state").Str, u.Get("state.stopReason").Str, u.Get("state.error.message").Str, u.Get("title").Str}, " ")
		case "session_message":
			line = u.Get("senderSessionId").Str + " to " + u.Get("recipientSessionId").Str + ": " + u.Get("content.0.text").Str
		case "agent_message_chunk":
			line = "says " + u.Get("content.text").Str
		case "tool_call", "tool_call_update":
			line = u.Get("toolCallId").Str + " " + u.Get("status").Str
		default:
			continue
		}
		lines = append(lines, strings.Join(strings.Fields(strings.ReplaceAll(n.Get("sessionId").Str+"| "+line, main, "main")), " "))
	}
	return lines
}

// serve starts an agent with an editor.
func serve(t testing.TB, opts backend.Options) *editor {
	return serveUntil(context.Background(), t, opts)
}

// serveUntil is serve up to an end of the agent.
func serveUntil(ctx context.Context, t testing.TB, opts backend.Options) *editor {
	opts.TrustPrompts = true                                      // the guards have their own tests
	opts.CancelGrace = cmp.Or(opts.CancelGrace, acptest.Patience) // a CLI on a busy machine is not killed
	if opts.Logger == nil {
		opts.Logger = acptest.NewLogger(t)
	}
	return &editor{acptest.NewEditor(t, func(_ context.Context, in io.Reader, out io.Writer) error { return backend.Serve(ctx, in, out, opts) })}
}

func question(text, header string, multi bool, labels ...string) object {
	var options []object
	for _, l := range labels {
		options = append(options, object{"label": l, "description": "about " + l})
	}
	return object{"question": text, "header": header, "multiSelect": multi, "options": options}
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx, cancel
}

// option finds an option in a list of them.
func option(list gjson.Result, id string) gjson.Result {
	return list.Get(`#(id=="` + id + `")`)
}

// subAgents is an editor that has sub-agents as sessions.
const subAgents = `{"subagents":{}}`

const logIn = `{"mode":"url","message":"Log in","url":"https://example.com/login?x=1","elicitationId":"e1"}`

func options(entries object) object { return object{"claudeCode": object{"options": entries}} }

type object = map[string]any

var steerSeed = flag.Uint64("steer.seed", 0, "what the steers at random do; 0 chooses")

func kill(t testing.TB, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) }
