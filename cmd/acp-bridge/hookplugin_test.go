//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
)

// The real CLI installs the plugin, runs its hooks, and uninstalls it without a trace.
func TestRealPlugin(t *testing.T) {
	path := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if path == "" {
		t.Skip("SKIPPED: needs the real Claude Code CLI; set ACP_BRIDGE_REAL_CLAUDE to its path, as .ci/run does")
	}
	h, api, home, dir := startTestHub(t), apitest.New(t), t.TempDir(), t.TempDir()
	token, settings := filepath.Join(home, "token"), filepath.Join(home, ".claude", "settings.json")
	require.NoError(t, os.WriteFile(token, []byte(hubToken), 0o600))
	command := func(program string, args ...string) *exec.Cmd {
		c := exec.Command(program, args...)
		c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
		c.Env = append(apitest.Env(api, home), asBridge+"=1", "XDG_STATE_HOME="+home)
		return c
	}
	bridge := func(code int, args ...string) string {
		t.Helper()
		c := command(os.Args[0], append(args, "--claude", path)...)
		out, _ := c.CombinedOutput()
		require.Equal(t, code, c.ProcessState.ExitCode(), "%s", out)
		return string(out)
	}
	installed := func() bool {
		t.Helper()
		list, err := command(path, "plugin", "list").CombinedOutput()
		require.NoError(t, err, "%s", list)
		data, err := os.ReadFile(settings)
		require.NoError(t, err)
		enabled := gjson.GetBytes(data, "enabledPlugins."+gjson.Escape(pluginID)).Bool()
		require.Equal(t, enabled, strings.Contains(string(list), pluginID), "%s", list)
		return enabled
	}
	for range 2 { // the second time it is there
		require.Contains(t, bridge(0, "hook", "install", "--hub", h.url, "--hub-token-file", token), "as the plugin "+pluginID)
		require.True(t, installed())
	}
	said := bridge(0, "doctor")
	require.Regexp(t, `(?m)^ok +hooks +the plugin acp-bridge@acp-bridge is enabled`, said)
	require.Regexp(t, `(?m)^ok +hooks +the hub at \S+ takes them`, said)

	api.Script(apitest.Use(apitest.ToolUse("toolu_1", "Bash", map[string]any{"command": "touch allowed", "description": "touches"})), apitest.Say("Done."))
	c, out := command(path, "-p", "go", "--permission-mode", "default"), new(output)
	c.Stdout, c.Stderr = out, out
	require.NoError(t, c.Start())
	r := h.open()
	require.Contains(t, r.Detail, "touch allowed")
	h.answer(r, convert.Answer{Selected: []string{"Allow"}})
	require.NoError(t, c.Wait(), "%s", out)
	require.FileExists(t, filepath.Join(dir, "allowed"))

	require.Contains(t, bridge(0, "hook", "remove"), "removed")
	require.False(t, installed())
	require.NotContains(t, bridge(0, "doctor"), "hooks")
	left, err := os.ReadFile(settings)
	require.NoError(t, err)
	require.NotContains(t, string(left), pluginName)
}
