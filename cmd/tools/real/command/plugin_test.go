//go:build unix

package command_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

const pluginName, pluginID = "acp-bridge", "acp-bridge@acp-bridge"

// The real CLI installs the plugin, runs its hooks, and uninstalls it without a trace.
func TestRealPlugin(t *testing.T) {
	path := terminals.ClaudePath(t)
	s, program, api, home, dir := watchtest.New(t, web.CanHook), bridge(t), apitest.New(t), t.TempDir(), t.TempDir()
	token, settings := terminals.TokenFile(t, s), filepath.Join(home, ".claude", "settings.json")
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(name, args...)
		c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
		c.Env = append(apitest.Env(api, home), "XDG_STATE_HOME="+home)
		return c
	}
	run := func(code int, args ...string) string {
		t.Helper()
		c := command(program, append(args, "--claude", path)...)
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
		require.Contains(t, run(0, "hook", "install", "--hub", s.URL, "--hub-token-file", token), "as the plugin "+pluginID)
		require.True(t, installed())
	}
	said := run(0, "doctor")
	require.Regexp(t, `(?m)^ok +hooks +the plugin acp-bridge@acp-bridge is enabled`, said)
	require.Regexp(t, `(?m)^ok +hooks +the hub at \S+ takes them`, said)

	api.Script(apitest.Use(apitest.ToolUse("toolu_1", "Bash", map[string]any{"command": "touch allowed", "description": "touches"})), apitest.Say("Done."))
	c, out := command(path, "-p", "go", "--permission-mode", "default"), new(bytes.Buffer)
	c.Stdout, c.Stderr = out, out
	require.NoError(t, c.Start())
	r := s.Next()
	require.Contains(t, r.Detail, "touch allowed")
	s.Answer(r, convert.Answer{Selected: []string{"Allow"}})
	require.NoError(t, c.Wait(), "%s", out)
	require.FileExists(t, filepath.Join(dir, "allowed"))

	require.Contains(t, run(0, "hook", "remove"), "removed")
	require.False(t, installed())
	require.Contains(t, run(0, "doctor"), "not installed: a claude in a terminal")
	left, err := os.ReadFile(settings)
	require.NoError(t, err)
	require.NotContains(t, string(left), pluginName)
}
