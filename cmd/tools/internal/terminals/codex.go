//go:build unix

package terminals

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// Codex is the real Codex in a terminal.
type Codex struct {
	*Terminal
	Config string // more of config.toml
}

// NewCodex prepares a Codex that asks in its default mode, and before it writes. Its
// models may ask for more permissions.
func NewCodex(t *testing.T) Codex {
	t.Helper()
	c := Codex{Terminal: NewTerminal(t, "codex")}
	t.Cleanup(c.EndDaemons)
	c.Start.Args[0] = strings.TrimSuffix(c.Start.Args[0], "-acp")
	return c
}

// Open starts Codex in its folder, which it trusts.
func (c Codex) Open() {
	c.t.Helper()
	config := fmt.Sprintf(`model = %q
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
[features]
default_mode_request_user_input = true
request_permissions_tool = true
[model_providers.fake]
name = "fake"
base_url = %q
wire_api = "responses"
env_key = "FAKE_KEY"
[projects.%q]
trust_level = "trusted"
%s`, modeltest.Model, c.Model.URL+"/v1", c.Start.Dir, c.Config)
	require.NoError(c.t, os.WriteFile(filepath.Join(c.Start.Home, ".codex", "config.toml"), []byte(config), 0o600))
	c.Terminal.Open()
}

// Watch starts acp-bridge watch codex.
func (c Codex) Watch(s *watchtest.Site) {
	c.t.Helper()
	watching := exec.Command(c.Bridge, "watch", "codex", "--hub", s.URL, "--hub-token-file", TokenFile(c.t, s))
	watching.Env, watching.Stderr = c.Start.Env, os.Stderr
	require.NoError(c.t, watching.Start())
	c.t.Cleanup(func() {
		_ = watching.Process.Signal(syscall.SIGTERM)
		require.NoError(c.t, watching.Wait())
	})
}

// EndDaemons ends what Codex leaves running.
func (c Codex) EndDaemons() {
	for _, name := range []string{"daemon-updater.pid", "daemon.pid"} {
		data, err := os.ReadFile(filepath.Join(c.Start.Home, ".codex", "app-server-daemon", name))
		pid := int(gjson.GetBytes(data, "pid").Int())
		if err != nil || pid <= 1 {
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		require.Eventually(c.t, func() bool { return syscall.Kill(pid, 0) != nil }, watchtest.Patience, 50*time.Millisecond)
	}
}
