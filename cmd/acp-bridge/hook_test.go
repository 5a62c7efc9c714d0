package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hanging is a hub that takes every connection, and says nothing. It returns its address
// and how often it was called.
func hanging(t *testing.T) (url string, calls *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
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

// called waits until a hub was called so often, and no more.
func called(t *testing.T, calls *atomic.Int32, n int, why string) {
	t.Helper()
	require.Eventually(t, func() bool { return int(calls.Load()) >= n }, patience, time.Millisecond, why)
	require.EqualValues(t, n, calls.Load(), why)
}

// hooked runs acp-bridge hook for an event, at a hub.
func hooked(t *testing.T, event string) string {
	t.Helper()
	var out, errs strings.Builder
	require.NoError(t, runHook(t.Context(), streams{in: strings.NewReader(event), out: &out, err: &errs}))
	require.Empty(t, errs.String())
	return out.String()
}

// A hub that hangs costs a few moments, and then nothing: it is left alone for a while.
// Where the terminal shows nothing while a hook waits, it is asked there as soon as the hub
// has not said within that moment that it is there.
func TestHookAtAHubThatHangs(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(t.TempDir(), "claude"))
	t.Setenv(hookedEnv, "")
	url, calls := hanging(t)
	require.NoError(t, hookState{Hub: url, Token: "x"}.write())
	const note = `{"hook_event_name":"PostToolUse","session_id":"0b5c7a3e-5a0f","tool_name":"Bash","tool_use_id":"toolu_1"}`
	file, err := stateFile(silentName)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat(".", maxSilent-1)), 0o600)) // it did not answer before
	for range 3 {
		require.Empty(t, hooked(t, note))
	}
	called(t, calls, 1, "then it is left alone")
	for n, blocks := range []string{
		`{"hook_event_name":"PermissionRequest","session_id":"0b5c7a3e-5a0f","agent_id":"a1","tool_name":"Bash","tool_input":{"command":"make"}}`,
		`{"hook_event_name":"Elicitation","session_id":"0b5c7a3e-5a0f","mcp_server_name":"s","mode":"form","message":"m","requested_schema":{}}`,
	} {
		require.Empty(t, hooked(t, blocks))
		called(t, calls, 2+n, "it is asked whether it is there, and nothing else")
	}
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

// Kimi's hooks tell the hub that it waits for a person, and what for; nothing else of them
// is told, and they never say anything to Kimi.
func TestKimiTellsThatItWaits(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(hookedEnv, "")
	told := make(chan string, 9)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(body)
	}))
	defer server.Close()
	require.NoError(t, watchState{hookState: hookState{Hub: server.URL, Token: "x"}}.write())
	kimi, _ := findHookAgent("kimi")
	const in = `"session_id":"session_1","cwd":"/w"`
	for event, want := range map[string]string{
		`{"hook_event_name":"PermissionRequest",` + in + `,"tool_name":"Bash","action":"Running: make"}`:                                        "Running: make",
		`{"hook_event_name":"PermissionRequest",` + in + `,"tool_name":"Bash"}`:                                                                 "Bash",
		`{"hook_event_name":"PreToolUse",` + in + `,"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which database?"}]}}`: "Which database?",
		`{"hook_event_name":"PreToolUse",` + in + `,"tool_name":"Bash","tool_input":{"command":"make"}}`:                                        "",
		`{"hook_event_name":"PermissionResult",` + in + `,"tool_name":"Bash"}`:                                                                  "",
		`{"hook_event_name":"PermissionRequest","tool_name":"Bash"}`:                                                                            "",
		`{`: "",
	} {
		var out strings.Builder
		require.NoError(t, runAgentHook(t.Context(), kimi, streams{in: strings.NewReader(event), out: &out, err: &out}))
		require.Empty(t, out.String())
		if want == "" {
			require.Empty(t, told, event)
			continue
		}
		require.Equal(t, `POST /conversations/session_1/turn Bearer x {"event":"waits","agent":"Kimi Code","dir":"/w","text":"`+want+`"}`, <-told)
	}
}
