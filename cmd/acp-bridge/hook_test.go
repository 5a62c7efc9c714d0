package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

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

// hooked runs acp-bridge hook for an event, at a hub.
func hooked(t *testing.T, event string) string {
	t.Helper()
	var out, errs strings.Builder
	require.NoError(t, runHook(t.Context(), streams{in: strings.NewReader(event), out: &out, err: &errs}))
	require.Empty(t, errs.String())
	return out.String()
}

// A hub that hangs costs a few moments, and then nothing: it is left alone for a while.
// What asks is asked all the same, and where the terminal shows nothing meanwhile, it is
// asked there soon.
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
	require.EqualValues(t, 1, calls.Load(), "then it is left alone")
	require.Empty(t, hooked(t, `{"hook_event_name":"PermissionRequest","session_id":"0b5c7a3e-5a0f","agent_id":"a1","tool_name":"Bash","tool_input":{"command":"make"}}`))
	require.Greater(t, calls.Load(), int32(1), "what asks is asked")
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
