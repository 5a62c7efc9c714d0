package watch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// Lines of records, as the agents wrote them.
const (
	geminiStops = `{"id":"c2b60626","timestamp":"2026-11-17T04:51:43.004Z","type":"info","content":"Request cancelled."}`
	geminiTakes = `{"id":"3fb073e6","type":"gemini","content":"","toolCalls":[{"id":"ask_user__call_1","name":"ask_user","args":{"n":[1],"q":"x"},"result":[{"functionResponse":{"id":"ask_user__call_1","name":"ask_user","response":{"error":"Tool execution blocked: our words"}}}],"status":"error"}]}`
	geminiDrops = `{"id":"3c80fc12","type":"gemini","content":"","toolCalls":[{"id":"ask_user__call_2","name":"ask_user","args":{"n":[1],"q":"x"},"result":[{"functionResponse":{"id":"ask_user__call_2","name":"ask_user","response":{"error":"[Operation Cancelled] Reason: Operation cancelled by user"}}}],"status":"cancelled"}]}`
	geminiOther = `{"id":"3c80fc12","type":"gemini","content":"","toolCalls":[{"id":"ask_user__call_2","name":"ask_user","args":{"q":"y"},"result":[{"functionResponse":{"response":{"error":"our words"}}}],"status":"cancelled"}]}`

	copilotStops  = `{"type":"abort","data":{"reason":"user_abort"},"id":"7b76080f"}`
	copilotTakes  = `{"type":"tool.execution_complete","data":{"toolCallId":"call_1","success":false,"error":{"message":"Denied by preToolUse hook: our words","code":"denied"}}}`
	copilotWants  = `{"type":"permission.requested","data":{"requestId":"2b8ba324","permissionRequest":{"kind":"shell","toolCallId":"call_3","fullCommandText":"echo three > three.txt","intention":"does it"}}}`
	copilotEdits  = `{"type":"permission.requested","data":{"requestId":"f6911ce4","permissionRequest":{"kind":"write","toolCallId":"call_c","intention":"Create file","fileName":"/w/a.txt","diff":"+one\n","newFileContents":"one"}}}`
	copilotWrites = `{"type":"permission.completed","data":{"requestId":"f6911ce4","result":{"kind":"approved"}}}`
	copilotAllows = `{"type":"permission.completed","data":{"requestId":"2b8ba324","result":{"kind":"approved"}}}`
	copilotDenies = `{"type":"permission.completed","data":{"requestId":"9625fe8e","result":{"kind":"denied-by-permission-request-hook","message":"our words"}}}`
	copilotHooked = `{"type":"hook.end","data":{"hookInvocationId":"da58a130","hookType":"preToolUse","success":true,"output":{"call_2":"Denied by preToolUse hook: our words"}}}`

	qwenTakes = `{"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.tool_call","function_name":"ask_user","function_args":{"q":"x","n":[1]},"status":"error","error":"our words"}}}`
	qwenDrops = `{"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.tool_call","function_name":"ask_user","function_args":{"q":"x","n":[1]},"status":"cancelled"}}}`
	qwenRan   = `{"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.tool_call","function_name":"ask_user","function_args":{"q":"x","n":[1]},"status":"success","success":true}}}`
)

// What a line says of a call depends on what was said before, if anything was.
func TestFate(t *testing.T) {
	words, allows := &said{words: "our words"}, &said{allows: true}
	for _, c := range []struct {
		agent, line         string
		before, after, then fate // nothing, words, or a permission was given
	}{
		{"gemini", geminiStops, stopped, stopped, stopped},
		{"gemini", geminiTakes, pending, used, pending},
		{"gemini", geminiDrops, stopped, stopped, stopped},
		{"gemini", geminiOther, pending, pending, pending},
		{"copilot", copilotStops, stopped, stopped, stopped},
		{"copilot", copilotTakes, pending, used, pending},
		{"copilot", copilotAllows, pending, pending, pending}, // of what, is not known
		{"copilot", copilotDenies, pending, pending, pending},
		{"copilot", copilotHooked, pending, pending, pending}, // also of a turn that was stopped
		{"qwen", qwenTakes, pending, used, used},
		{"qwen", qwenDrops, pending, stopped, stopped},
		{"qwen", qwenRan, pending, stopped, used},
		{"qwen", copilotStops, pending, pending, pending},
		{"copilot", `no JSON`, pending, pending, pending},
	} {
		read := map[string]hooks{"qwen": qwen, "gemini": gemini, "copilot": copilot}[c.agent].fate("ask_user", gjson.Parse(`{"q":"x","n":[1]}`))
		line := gjson.Parse(c.line)
		require.Equal(t, c.before, read(line, nil), "%s, before: %s", c.agent, c.line)
		require.Equal(t, c.after, read(line, words), "%s, after: %s", c.agent, c.line)
		require.Equal(t, c.then, read(line, allows), "%s, allowed: %s", c.agent, c.line)
	}
}

// What a model says is not what its program says: a turn is stopped when Gemini says so.
func TestGeminiSpeaksOfStopping(t *testing.T) {
	for _, line := range []string{
		`{"type":"gemini","content":"Request cancelled. Shall I go on?","toolCalls":[]}`,
		`{"type":"user","content":"Request cancelled"}`,
		`{"type":"info","content":"Update available"}`,
	} {
		require.Equal(t, pending, gemini.fate("ask_user", gjson.Parse(`{}`))(gjson.Parse(line), nil), line)
	}
}

// Copilot says for what a permission is, and then how it ended. That of another call says
// nothing of this one.
func TestFateOfAPermission(t *testing.T) {
	const shell, file = `{"command":"echo three > three.txt"}`, `{"file_path":"/w/a.txt","diff":"+one\n"}`
	denied := strings.Replace(copilotDenies, "9625fe8e", "2b8ba324", 1)
	result := strings.NewReplacer("call_1", "call_3", "preToolUse", "PermissionRequest").Replace(copilotTakes)
	words, allows := &said{words: "our words"}, &said{allows: true}
	for _, c := range []struct {
		tool, input string
		said        *said
		lines       []string
		want        fate
	}{
		{"bash", shell, allows, []string{copilotWants, copilotAllows}, used},
		{"bash", shell, allows, []string{copilotEdits, copilotWants, copilotWrites}, pending},
		{"bash", shell, allows, []string{copilotAllows}, pending},
		{"bash", shell, allows, []string{copilotWants, denied}, pending},
		{"bash", `{"command":"echo"}`, allows, []string{copilotWants, copilotAllows}, pending},
		{"bash", shell, words, []string{copilotWants, denied}, used},
		{"bash", shell, words, []string{copilotEdits, copilotWants, copilotDenies}, pending},
		{"bash", shell, words, []string{copilotWants, copilotAllows}, pending},
		{"bash", shell, words, []string{copilotWants, result}, used},
		{"bash", shell, words, []string{result}, pending},
		{"edit", file, allows, []string{copilotEdits, copilotWrites}, used},
		{"edit", file, allows, []string{copilotEdits, copilotWants, copilotAllows}, pending},
		{"ask_user", `{"question":"?"}`, words, []string{copilotTakes}, used},
	} {
		read, last := copilotFate(c.tool, gjson.Parse(c.input)), pending
		for _, line := range c.lines {
			require.Equal(t, pending, last)
			last = read(gjson.Parse(line), c.said)
		}
		require.Equal(t, c.want, last, "%s: %s", c.input, c.lines)
	}
}

// A record is read from where it ended, line by line, and only where an agent keeps its
// own.
func TestRecord(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("COPILOT_HOME", "")
	name := filepath.Join(home, ".copilot", "session-state", "12345678-9", "events.jsonl")
	require.Empty(t, copilot.record.file("12345678-9"))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(copilotStops+"\n"), 0o600))
	require.Equal(t, name, copilot.record.file("12345678-9"))
	require.Empty(t, copilot.record.file("../session-state/12345678-9"))
	require.Empty(t, copilot.record.file("*"))

	for _, project := range []string{"one", "two"} {
		chat := filepath.Join(home, ".gemini", "tmp", project, "chats", "session-2026-12345678.jsonl")
		require.NoError(t, os.MkdirAll(filepath.Dir(chat), 0o700))
		require.NoError(t, os.WriteFile(chat, nil, 0o600))
		if project == "one" {
			require.Equal(t, chat, gemini.record.file("12345678-9"))
		}
	}
	require.Empty(t, gemini.record.file("12345678-9"), "of two it is not known which")

	r := begin(name, copilotFate("", gjson.Result{}))
	require.Equal(t, pending, r.look(nil))
	add(t, name, copilotStops[:20])
	require.Equal(t, pending, r.look(nil))
	add(t, name, copilotStops[20:]+"\n")
	require.Equal(t, stopped, r.look(nil))
}

func add(t *testing.T, name, text string) {
	t.Helper()
	f := acptest.Must(os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o600))
	acptest.Must(f.WriteString(text))
	require.NoError(t, f.Close())
}

// printed is what an agent does when the hook has printed something.
type printed func([]byte)

func (p printed) Write(b []byte) (int, error) { p(b); return len(b), nil }

// An answer is told as used when the agent has written down that it went on with it. One
// that it did not take is told as that, and nothing is said of others. A question of a turn
// that was stopped is taken back, if its agent says so in time.
func TestWhatBecameOfAnAnswer(t *testing.T) {
	s := watchtest.New(t, web.CanAsk)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("COPILOT_HOME", "")
	name := filepath.Join(home, ".copilot", "session-state", "14151a5a", "events.jsonl")
	write := func(text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	hold := func(t *testing.T, out printed) (done chan struct{}) {
		write("")
		a := acptest.Must(ReadHook("copilot", []byte(copilotRuns)))
		require.Equal(t, name, a.record.name)
		w := Start(s.Options())
		done = make(chan struct{})
		go func() {
			defer close(done)
			defer w.Close()
			a.Hold(t.Context(), w, func(context.Context) bool { return true }, out)
		}()
		return done
	}
	t.Run("used", func(t *testing.T) {
		done := hold(t, func([]byte) { add(t, name, copilotEdits+"\n"+copilotWrites+"\n"+copilotWants+"\n"+copilotAllows+"\n") })
		r := s.Next()
		s.Answer(r, watchtest.Picks("Allow once"))
		s.Receipt(r, "consumed")
		<-done
	})
	t.Run("stopped before", func(t *testing.T) {
		done := hold(t, func(b []byte) { t.Errorf("printed %s", b) })
		r := s.Next()
		add(t, name, copilotStops+"\n")
		require.Contains(t, s.Settled(r).End.Reason, "was stopped in its terminal")
		<-done
	})
	t.Run("stopped, told after", func(t *testing.T) {
		done := hold(t, func([]byte) { add(t, name, copilotStops+"\n") })
		r := s.Next()
		s.Answer(r, watchtest.Picks("Allow once"))
		require.Contains(t, s.Receipt(r, "undeliverable").End.Undelivered, "was stopped in its terminal")
		<-done
	})
	t.Run("not known yet", func(t *testing.T) {
		done := hold(t, func([]byte) {})
		r := s.Next()
		s.Answer(r, watchtest.Picks("Allow once"))
		require.Equal(t, string(unknown), s.Receipt(r, "unknown").End.Unsure)
		add(t, name, copilotEdits+"\n"+copilotWrites+"\n"+copilotWants+"\n"+copilotAllows+"\n")
		s.Receipt(r, "consumed")
		<-done
	})
}
