package watch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// hanging is a hub that takes every connection, and says nothing: it is not waited for
// as long as a user waits. It returns its address and how often it was called.
func hanging(t *testing.T) (url string, calls *atomic.Int32) {
	t.Helper()
	long := HubTime
	t.Cleanup(func() { HubTime = long })
	HubTime = time.Second // a busy machine calls it within that
	l := acptest.Must(net.Listen("tcp", "127.0.0.1:0"))
	calls = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			defer c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String(), calls
}

// calledSo waits until a hub was called so often, and no more.
func calledSo(t *testing.T, calls *atomic.Int32, n int, why string) {
	t.Helper()
	require.Eventually(t, func() bool { return int(calls.Load()) >= n }, watchtest.Patience, time.Millisecond, why)
	require.EqualValues(t, n, calls.Load(), why)
}

// hooked runs acp-bridge hook for an event of an agent, at a hub.
func hooked(t *testing.T, agent, event string) string {
	var out strings.Builder
	if a, ok := FindAgent(agent); ok {
		RunAgent(t.Context(), a, strings.NewReader(event), &out, nil)
	} else {
		RunClaude(t.Context(), strings.NewReader(event), &out)
	}
	return out.String()
}

// hookHome is an empty home for hooks.
func hookHome(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(t.TempDir(), "claude"))
	t.Setenv(AsksVariable, "")
}

// listening is a hub that is told something: the request, and what it says.
func listening(t *testing.T) (url string, told chan [2]string) {
	told = make(chan [2]string, 9)
	server := httptest.NewServer(watchtest.Proves("x", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- [2]string{r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization"), string(body)}
	}))
	t.Cleanup(server.Close)
	return server.URL, told
}

// A hub that hangs costs a few moments, and then nothing: it is left alone for a while, also by
// agents whose hooks come before their dialog.
func TestHookAtAHubThatHangs(t *testing.T) {
	for of, c := range map[door]struct {
		silence      silence
		agent, event string
	}{
		claudeDoor: {hookSilence, "claude", `{"hook_event_name":"PostToolUse","session_id":"0b5c7a3e-5a0f","tool_name":"Bash","tool_use_id":"toolu_1"}`},
		agentsDoor: {watchSilence, "copilot", `{"hookName":"permissionRequest","sessionId":"14151a5a","cwd":"/w","toolName":"bash","toolInput":{"command":"make"}}`},
	} {
		hookHome(t)
		url, calls := hanging(t)
		require.NoError(t, State{Hub: url, Token: "x", door: of}.write())
		file := acptest.Must(hublink.StateFile(string(c.silence)))
		require.NoError(t, os.WriteFile(file, []byte(strings.Repeat(".", maxSilent-1)), 0o600)) // it did not answer before
		for range 3 {
			require.Empty(t, hooked(t, c.agent, c.event))
		}
		calledSo(t, calls, 1, "then it is left alone: "+c.agent)
	}
}

// Where the terminal shows nothing while a hook waits, it is asked there as soon as the hub
// has not said within a moment that it is there.
func TestHookThatBlocksAtAHubThatHangs(t *testing.T) {
	hookHome(t)
	url, calls := hanging(t)
	require.NoError(t, State{Hub: url, Token: "x", door: claudeDoor}.write())
	for n, blocks := range []string{
		`{"hook_event_name":"PermissionRequest","session_id":"0b5c7a3e-5a0f","agent_id":"a1","tool_name":"Bash","tool_input":{"command":"make"}}`,
		`{"hook_event_name":"PermissionDenied","session_id":"0b5c7a3e-5a0f","tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"toolu_1","prompt_id":"p1"}`,
		`{"hook_event_name":"Elicitation","session_id":"0b5c7a3e-5a0f","mcp_server_name":"s","mode":"form","message":"m","requested_schema":{}}`,
	} {
		require.Empty(t, hooked(t, "claude", blocks))
		calledSo(t, calls, 1+n, "it is asked whether it is there, and nothing else")
	}
}

// A hub that answers again is told everything again.
func TestHookAtAHubThatIsBack(t *testing.T) {
	hookHome(t)
	url, _ := listening(t)
	require.NoError(t, State{Hub: url, Token: "x", door: claudeDoor}.write())
	file := acptest.Must(hublink.StateFile(string(hookSilence)))
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat(".", maxSilent-1)), 0o600))
	require.Empty(t, hooked(t, "claude", `{"hook_event_name":"Stop","session_id":"0b5c7a3e-5a0f"}`))
	require.NoFileExists(t, file)
}

// A dialog is gone when Claude Code has said twice that none waits, after one did: one may make
// way for the next.
func TestDialogWatch(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sessions"), 0o700))
	d := dialogWatch{pid: "77"}
	for i, c := range []struct {
		file string
		gone bool
	}{
		{`{"status":"busy"}`, false}, {`{"status":"busy"}`, false},
		{`{"status":"waiting"}`, false}, {`{"status":"busy"}`, false},
		{`{"status":"waiting"}`, false}, {`{"status":"busy"}`, false}, {`{"sta`, false}, {`{}`, false},
		{`{"status":"idle"}`, true},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sessions", "77.json"), []byte(c.file), 0o600))
		require.Equal(t, c.gone, d.gone(), "%d: %s", i, c.file)
	}
	for _, pid := range []string{"", "../sessions/77", "78"} {
		require.False(t, (&dialogWatch{pid: pid, seen: true, not: 1}).gone(), pid)
	}
}

// What is no reply of a hub is none, whatever it says, and nobody else is given the token.
func TestHookAtAHubThatLies(t *testing.T) {
	const allow = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Error("called with " + r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, allow)
	}))
	defer elsewhere.Close()
	for name, test := range map[string]struct {
		status  int
		body    string
		asks    string // the environment of one that acp-bridge runs
		printed string
	}{
		"a reply":              {200, allow, "", allow},
		"to another event":     {200, strings.Replace(allow, "Perm", "X", 1), "", ""},
		"nothing":              {200, `{}`, "", ""},
		"of an agent of ours":  {200, allow, "1", ""},
		"something else":       {200, `no ` + allow, "", ""},
		"something behind it":  {200, allow + "}", "", ""},
		"half of it":           {200, allow[:len(allow)-1], "", ""},
		"no success":           {500, allow, "", ""},
		"not allowed":          {403, allow, "", ""},
		"another success":      {201, allow, "", ""},
		"somewhere else":       {307, allow, "", ""},
		"somewhere else, look": {302, allow, "", ""},
	} {
		play := func(t *testing.T, event string) {
			of := func(text string) string { return strings.Replace(text, "PermissionRequest", event, 1) }
			hookHome(t)
			t.Setenv(AsksVariable, test.asks)
			server := httptest.NewServer(watchtest.Proves("x", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", elsewhere.URL+r.URL.Path)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, of(test.body))
			}))
			defer server.Close()
			require.NoError(t, State{Hub: server.URL, Token: "x", door: claudeDoor}.write())
			require.Equal(t, of(test.printed), hooked(t, "claude", of(`{"hook_event_name":"PermissionRequest","session_id":"0b5c7a3e-5a0f","tool_name":"Bash","tool_input":{"command":"make"}}`)))
		}
		for _, event := range []string{"PermissionRequest", "PermissionDenied", "PreToolUse", "PostToolBatch"} {
			t.Run(name+", "+event, func(t *testing.T) { play(t, event) })
		}
	}
}

// Grok reads the settings of Claude Code, and starts the hooks that it finds there. What happens
// in Grok is not told as Claude Code's.
func TestHookOfGrok(t *testing.T) {
	hookHome(t)
	url, told := listening(t)
	require.NoError(t, State{Hub: url, Token: "x", door: claudeDoor}.write())
	const grok = `{"hookEventName":"stop","sessionId":"01a1e96b-8ede","cwd":"/w","reason":"end_turn","hook_event_name":"Stop","session_id":"01a1e96b-8ede","permission_mode":"default"}`
	require.Empty(t, hooked(t, "claude", grok))
	require.Empty(t, told)
	require.Empty(t, hooked(t, "claude", `{"hook_event_name":"Stop","session_id":"01a1e96b-8ede"}`))
	require.Contains(t, (<-told)[1], `"Stop"`)
}

// Settings that switch the hooks off, and who can change them.
func TestHooksSwitchedOff(t *testing.T) {
	const off, managedOnly = `{"disableAllHooks":true}`, `{"allowManagedHooksOnly":true}`
	for name, test := range map[string]struct {
		file, settings string
		wrong, do      string
	}{
		"nothing":               {"managed/managed-settings.json", `{"model":"opus"}`, "", ""},
		"managed":               {"managed/managed-settings.json", off, "disableAllHooks", "administers"},
		"managed, a part":       {"managed/managed-settings.d/10-hooks.json", off, "disableAllHooks", "administers"},
		"managed hooks alone":   {"managed/managed-settings.json", managedOnly, "allowManagedHooksOnly", "administers"},
		"that of a user":        {"user/settings.json", managedOnly, "", ""},
		"the user":              {"user/settings.json", off, "disableAllHooks", "remove"},
		"the project":           {"project/.claude/settings.json", off, "disableAllHooks", "remove"},
		"the project, for you":  {"project/.claude/settings.local.json", off, "disableAllHooks", "remove"},
		"that is not for hooks": {"managed/managed-settings.d/notes.txt", off, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, filepath.FromSlash(test.file))
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "project"), 0o700))
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(test.settings), 0o600))
			t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(dir, "user"))
			t.Chdir(filepath.Join(dir, "project"))
			f := switchedOn(filepath.Join(dir, "managed"))
			require.Equal(t, test.wrong == "", f.OK, f.Found)
			require.Contains(t, f.Found, test.wrong)
			require.Contains(t, f.Do, test.do)
			if !f.OK {
				require.Contains(t, f.Found, filepath.Base(file))
			}
		})
	}
}

// The hooks of Kimi and Grok tell the hub that their agent waits for a person, and what for;
// nothing else of them is told, and they never say anything to the agent.
func TestAgentsTellThatTheyWait(t *testing.T) {
	hookHome(t)
	url, told := listening(t)
	require.NoError(t, State{Hub: url, Token: "x", door: agentsDoor}.write())
	const in = `"session_id":"session_1","cwd":"/w"`
	const runs = `{"hook_event_name":"PermissionRequest",` + in + `,"tool_name":"Bash","action":"`
	const notice, uses = `{"hookEventName":"notification","hook_event_name":"Notification",` + in, `{"hookEventName":"pre_tool_use","hook_event_name":"PreToolUse",` + in
	for name, events := range map[string]map[string]string{"kimi": {
		`{"hook_event_name":"PermissionRequest",` + in + `,"tool_name":"Bash","action":"Running: make"}`:                                        "Running: make",
		runs + strings.Repeat("x", 2<<20) + `"}`:                                                                                                strings.Repeat("x", maxNotice-1) + "…",
		runs + `curl -H Bearer abcdefghijklmnopqrstuvwxyz0123"}`:                                                                                "curl -H Bearer •••",
		`{"hook_event_name":"PermissionRequest",` + in + `,"tool_name":"Bash"}`:                                                                 "Bash",
		`{"hook_event_name":"PreToolUse",` + in + `,"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which database?"}]}}`: "Which database?",
		`{"hook_event_name":"PreToolUse",` + in + `,"tool_name":"Bash","tool_input":{"command":"make"}}`:                                        "",
		`{"hook_event_name":"PermissionResult",` + in + `,"tool_name":"Bash"}`:                                                                  "",
		`{"hook_event_name":"PermissionRequest","tool_name":"Bash"}`:                                                                            "",
		`{`: "",
	}, "grok": {
		notice + `,"notificationType":"permission_prompt","message":"Tool permission requested"}`:              "Tool permission requested",
		notice + `,"notificationType":"permission_prompt"}`:                                                    "A permission",
		notice + `,"notificationType":"idle_prompt","message":"m"}`:                                            "",
		uses + `,"tool_name":"ask_user_question","tool_input":{"questions":[{"question":"Which database?"}]}}`: "Which database?",
		uses + `,"tool_name":"run_terminal_command","tool_input":{"command":"make"}}`:                          "",
	}} {
		a, _ := FindAgent(name)
		run := func(event string) { require.Empty(t, hooked(t, name, event)) }
		for event, want := range events {
			if run(event); want == "" {
				require.Empty(t, told, event)
				continue
			}
			require.Equal(t, [2]string{"POST /conversations/session_1/turn Bearer x", `{"event":"waits","agent":"` + a.Title + `","dir":"/w","text":"` + want + `"}`}, <-told)
		}
		t.Setenv(AsksVariable, "1") // an acp-bridge that runs it asks already
		run(runs + `make"}`)
		require.Empty(t, told)
		t.Setenv(AsksVariable, "")
	}
}

// Nobody counts as away unless the hub says so: not at one that fails, whatever it says,
// and not at one that is not there.
func TestAwayIsWhatTheHubSays(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		away   bool
	}{
		{http.StatusOK, `{"away":true}`, true},
		{http.StatusOK, `{"away":false}`, false},
		{http.StatusOK, `{}`, false},
		{http.StatusInternalServerError, `{"away":true}`, false},
		{http.StatusUnauthorized, `{"away":true}`, false},
	} {
		hub := httptest.NewServer(watchtest.Proves("t", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		st := State{Hub: hub.URL, Token: "t"}
		away := func() bool { is, _ := st.away(t.Context()); return is }
		require.Equal(t, c.away, away(), "%d %s", c.status, c.body)
		hub.Close()
		require.False(t, away(), "it is not there")
	}
}

// At the end of a turn the hub is told with what its user began it, without what looks like a
// secret.
func TestHookTellsThePromptOfATurn(t *testing.T) {
	hookHome(t)
	dir, work := t.TempDir(), t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	const session = "0b5c7a3e-5a0f-4000-8000-00000000abcd"
	path := filepath.Join(transcript.Dir(dir, work), session+".jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(`{"type":"user","message":{"role":"user","content":"deploy, the password is hunter22"}}
{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"text","text":"It is up."}]}}
`), 0o600))
	told := make(chan string, 1)
	server := httptest.NewServer(watchtest.Proves("x", func(_ http.ResponseWriter, r *http.Request) {
		told <- about.Decode(r.Header.Get(about.Header)).Prompt
	}))
	defer server.Close()
	require.NoError(t, State{Hub: server.URL, Token: "x", door: claudeDoor}.write())
	require.Empty(t, hooked(t, "claude", fmt.Sprintf(`{"hook_event_name":"Stop","session_id":%q,"cwd":%q,"transcript_path":%q}`, session, work, path)))
	require.Equal(t, "deploy, the password is •••", <-told)
}

// Claude Code asks before it has written down what it was told: of a new session's first
// question, too, a person is told the prompt and the model. What is never written holds
// nothing up for long.
func TestHookWaitsForWhatWasSaid(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	const session = "0b5c7a3e-5a0f-4000-8000-00000000abcd"
	path := filepath.Join(transcript.Dir(dir, work), session+".jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	event := hook.Event{Session: session, Dir: work, Transcript: path}
	const begun = `{"type":"mode","mode":"normal","sessionId":"` + session + `"}` + "\n"
	synctest.Test(t, func(t *testing.T) {
		write(begun)
		time.AfterFunc(writeTime/2, func() {
			write(begun + `{"type":"user","message":{"role":"user","content":"run the tests"}}
{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"text","text":"I run them now."}]}}
`)
		})
		a := about.Decode(aboutSession(event))
		require.Equal(t, []string{"claude-opus-5", "run the tests", "I run them now."}, []string{a.Model, a.Prompt, a.Said})
	})
	synctest.Test(t, func(t *testing.T) {
		write(begun)
		start := time.Now()
		require.Empty(t, about.Decode(aboutSession(event)).Prompt)
		require.Less(t, time.Since(start), 2*writeTime)
		start = time.Now()
		event.Name = hook.Stop
		require.Empty(t, about.Decode(aboutSession(event)).Prompt)
		require.Zero(t, time.Since(start))
	})
}

func TestPluginIsItsOwn(t *testing.T) {
	t.Parallel()
	text := pluginText(`/a "b"/acp-bridge`, "hook", "kilo")
	require.Contains(t, text, pluginMark)
	require.Contains(t, text, `const program = "/a \"b\"/acp-bridge"`)
	require.Contains(t, text, `const args = ["hook","kilo"]`)
}
