package watch

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

// Events as the agents sent them, shortened.
const (
	qwenAsks    = `{"session_id":"4a271050","cwd":"/w","hook_event_name":"PermissionRequest","permission_mode":"auto","tool_name":"ask_user_question","tool_input":{"questions":[{"header":"Database","multiSelect":true,"options":[{"description":"big","label":"PostgreSQL"},{"description":"small","label":"SQLite"}],"question":"Which database?"}]}}`
	qwenRuns    = `{"session_id":"4a271050","cwd":"/w","hook_event_name":"PermissionRequest","permission_mode":"auto","tool_name":"run_shell_command","tool_input":{"command":"echo three > three.txt","description":"does it","is_background":false}}`
	qwenUses    = `{"session_id":"4a271050","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"run_shell_command","tool_input":{"command":"make"}}`
	geminiAsks  = `{"session_id":"c71bdecb","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"ask_user","tool_input":{"questions":[{"header":"Database","multiSelect":false,"options":[{"description":"big","label":"PostgreSQL"},{"description":"small","label":"SQLite"}],"question":"Which database?","type":"choice"}]}}`
	geminiRuns  = `{"session_id":"c71bdecb","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"make"}}`
	copilotAsks = `{"sessionId":"14151a5a","timestamp":1794879303433,"cwd":"/w","toolName":"ask_user","toolArgs":{"choices":["PostgreSQL","SQLite"],"question":"Which database?"}}`
	copilotText = `{"sessionId":"14151a5a","cwd":"/w","toolName":"ask_user","toolArgs":"{\"choices\":[\"PostgreSQL\",\"SQLite\"],\"question\":\"Which database?\"}"}`
	copilotRuns = `{"hookName":"permissionRequest","sessionId":"14151a5a","cwd":"/w","toolName":"bash","toolInput":{"command":"echo three > three.txt"},"permissionSuggestions":[]}`
	copilotUses = `{"sessionId":"14151a5a","cwd":"/w","toolName":"bash","toolArgs":{"command":"echo three > three.txt"}}`
)

// What a hook prints for each thing that a person can say. Nothing but what a person said
// is ever a yes.
func TestReplies(t *testing.T) {
	picks := func(label string) convert.Outcome {
		return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{watchtest.Picks(label)}}
	}
	says := func(words string) convert.Outcome {
		return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: words}}}
	}
	noted := func(label, note string) convert.Outcome {
		return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{watchtest.Noted(label, note)}}
	}
	dismissed := convert.Outcome{Status: convert.Cancelled}
	const deny = `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":`
	for name, c := range map[string]struct {
		agent, event string
		said         convert.Outcome
		prints       string
	}{
		"qwen, question":           {"qwen", qwenAsks, picks("SQLite"), `SQLite"},"hookEventName":"PermissionRequest"}}`},
		"qwen, own words":          {"qwen", qwenAsks, says("DuckDB"), `DuckDB"}`},
		"qwen, dismissed":          {"qwen", qwenAsks, dismissed, deny + `"` + "[cancelled by user]"},
		"qwen, allowed":            {"qwen", qwenRuns, picks("Allow once"), `{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}`},
		"qwen, rejected":           {"qwen", qwenRuns, picks("Reject"), deny + `"The user rejected this tool use"`},
		"qwen, with a reason":      {"qwen", qwenRuns, noted("Reject", "use printf"), deny + `"use printf"`},
		"qwen, not answered":       {"qwen", qwenRuns, dismissed, deny + `"The user dismissed the permission request"`},
		"gemini, question":         {"gemini", geminiAsks, picks("SQLite"), `{"decision":"deny","reason":"This is no error: the user has answered from another device.\n\n`},
		"copilot, question":        {"copilot", copilotAsks, picks("SQLite"), `{"permissionDecision":"deny","permissionDecisionReason":"This is no error`},
		"copilot, input as a text": {"copilot", copilotText, picks("SQLite"), `SQLite"}`},
		"copilot, allowed":         {"copilot", copilotRuns, picks("Allow once"), `{"behavior":"allow"}`},
		"copilot, with a reason":   {"copilot", copilotRuns, noted("Reject", "use printf"), `{"behavior":"deny","message":"use printf"}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := acptest.Must(ReadHook(c.agent, []byte(c.event)))
			require.Equal(t, "/w", a.Item.Dir)
			require.Contains(t, string(acptest.Must(a.reply(c.said)).prints), c.prints)
		})
	}
}

// Answers for which an agent has no place are told to whoever gives them.
func TestReplyRefused(t *testing.T) {
	a := acptest.Must(ReadHook("qwen", []byte(qwenRuns)))
	require.Equal(t, desk.Permission, a.Item.Kind)
	for what, answers := range map[string][]convert.Answer{
		"a permission takes one of its options": {{Text: "yes"}},
		"was not offered":                       {watchtest.Picks("Always")},
		"with a condition (\"quickly\")":        {watchtest.Noted("Allow once", "quickly")},
	} {
		require.ErrorContains(t, a.Item.Check(answers), what)
		require.ErrorContains(t, acptest.Err(a.reply(convert.Outcome{Status: convert.Answered, Answers: answers})), what)
	}
	require.NoError(t, a.Item.Check([]convert.Answer{watchtest.Picks("Allow once")}))
}

// One option is what a permission takes: none, two, or two answers are no decision.
func TestOnePickDecides(t *testing.T) {
	a := acptest.Must(ReadHook("qwen", []byte(qwenRuns)))
	allow := watchtest.Picks("Allow once")
	for name, answers := range map[string][]convert.Answer{
		"none":        nil,
		"no option":   {{}},
		"two options": {watchtest.Picks("Allow once", "Reject")},
		"two answers": {allow, allow},
		"and words":   {{Selected: []string{"Allow once"}, Text: "but not today"}},
	} {
		require.ErrorContains(t, a.Item.Check(answers), "one of its options", name)
	}
	require.NoError(t, a.Item.Check([]convert.Answer{allow}))
}

// An event that came in part, or that lacks what it is about, asks nothing, however much
// of it can be read.
func TestReadHalfAnEvent(t *testing.T) {
	const from = `{"session_id":"4a271050","hook_event_name":"PermissionRequest",`
	for name, event := range map[string]string{
		"cut off":             strings.TrimSuffix(qwenRuns, "}"),
		"something behind it": qwenRuns + "}",
		"no input":            from + `"tool_name":"run_shell_command"}`,
		"no object as input":  from + `"tool_name":"run_shell_command","tool_input":["make"]}`,
		"a text as input":     from + `"tool_name":"run_shell_command","tool_input":"make"}`,
		"no tool":             from + `"tool_input":{"command":"make"}}`,
	} {
		require.ErrorIs(t, acptest.Err(ReadHook("qwen", []byte(event))), ErrNothing, name)
	}
}

// What a hook cannot answer, or is not asked, is left to the terminal.
func TestReadNothing(t *testing.T) {
	for name, c := range map[string]struct{ agent, event string }{
		"another agent":          {"emacs", qwenAsks},
		"no JSON":                {"qwen", `{"session_id"`},
		"no object":              {"qwen", `[]`},
		"no tool":                {"qwen", `{"session_id":"1","hook_event_name":"PermissionRequest"}`},
		"no session":             {"qwen", `{"hook_event_name":"PermissionRequest","tool_name":"x","tool_input":{}}`},
		"a tool that only runs":  {"qwen", qwenUses},
		"gemini takes no yes":    {"gemini", geminiRuns},
		"copilot, before a tool": {"copilot", copilotUses},
		"a question without any": {"qwen", `{"session_id":"1","hook_event_name":"PermissionRequest","tool_name":"ask_user_question","tool_input":{}}`},
		"more than one reads":    {"qwen", strings.Replace(qwenRuns, "echo three", strings.Repeat("x", maxDetail), 1)},
	} {
		require.ErrorIs(t, acptest.Err(ReadHook(c.agent, []byte(c.event))), ErrNothing, name)
	}
}

// A hook that waits: answered at the hub, somebody is back, and the agent takes it back.
func TestHold(t *testing.T) {
	t.Parallel()
	s := watchtest.New(t, web.CanAsk)
	hold := func(t *testing.T) (r *hub.Record, out *strings.Builder, back func(), stop func(), done chan struct{}) {
		a := acptest.Must(ReadHook("qwen", []byte(qwenAsks)))
		w := Start(s.Options())
		out, done = new(strings.Builder), make(chan struct{})
		var here atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(done)
			a.Hold(ctx, w, func(context.Context) bool { return !here.Load() }, out)
			w.Close()
		}()
		return s.Next(), out, func() { here.Store(true) }, cancel, done
	}
	t.Run("answered", func(t *testing.T) {
		r, out, _, stop, done := hold(t)
		defer stop()
		require.Equal(t, "Qwen Code", r.Agent)
		s.Answer(r, watchtest.Picks("SQLite"))
		<-done
		require.Contains(t, out.String(), "SQLite")
		s.Receipt(r, "unknown") // this one is written down nowhere
	})
	t.Run("back", func(t *testing.T) {
		r, out, back, stop, done := hold(t)
		defer stop()
		back()
		<-done
		require.Empty(t, out.String())
		require.Contains(t, s.Settled(r).End.Reason, "it is asked in the terminal now")
	})
	t.Run("taken back", func(t *testing.T) {
		r, out, _, stop, done := hold(t)
		stop()
		<-done
		require.Empty(t, out.String())
		require.Contains(t, s.Settled(r).End.Reason, "the agent has taken it back")
	})
}

// What an agent was told is not told as lost because nobody watches it from then on.
func TestToldAndClosed(t *testing.T) {
	t.Parallel()
	s := watchtest.New(t, web.CanAsk)
	a := acptest.Must(ReadHook("qwen", []byte(qwenAsks)))
	w := Start(s.Options())
	closed := make(chan struct{})
	w.Ask(Dialog{Item: a.Item, Answer: func(ctx context.Context, _ convert.Outcome) error {
		go func() { defer close(closed); w.Close() }()
		<-ctx.Done()
		return ErrUnsure
	}})
	r := s.Next()
	s.Answer(r, watchtest.Picks("SQLite"))
	<-closed
	require.NotEqual(t, "undeliverable", s.Becomes(r, "known", func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() != "accepted" }).End.Receipt())
}

// An answer that comes as the agent takes its question back is not printed.
func TestTakenBackIsNotPrinted(t *testing.T) {
	t.Parallel()
	a := acptest.Must(ReadHook("copilot", []byte(copilotRuns)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	o := convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{allowOnce}}}}
	require.ErrorIs(t, a.give(ctx, nil, o, &out), errTakenBack)
	require.Empty(t, out.String())
}
