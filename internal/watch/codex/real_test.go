//go:build unix

package codex_test

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

	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

type object = map[string]any

func asks(id string) modeltest.Reply {
	return modeltest.Use(id, "request_user_input", object{"questions": []object{{"id": "db", "question": "Which database?", "header": "Database",
		"options": []object{{"label": "PostgreSQL", "description": "big"}, {"label": "SQLite", "description": "small"}}}}})
}

func runs(id, command string) modeltest.Reply {
	return modeltest.Use(id, "exec_command", object{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"})
}

// daemons ends what Codex leaves running.
func daemons(t *testing.T, home string) {
	for _, name := range []string{"daemon-updater.pid", "daemon.pid"} {
		data, err := os.ReadFile(filepath.Join(home, ".codex", "app-server-daemon", name))
		pid := int(gjson.GetBytes(data, "pid").Int())
		if err != nil || pid <= 1 {
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, watchtest.Patience, 50*time.Millisecond)
	}
}

// The real Codex in a real terminal: answered at the hub first, in the terminal first,
// dismissed there, and ended.
func TestRealCodex(t *testing.T) {
	c := watchtest.NewTerminal(t, "codex")
	t.Cleanup(func() { daemons(t, c.Start.Home) })
	c.Start.Args[0] = strings.TrimSuffix(c.Start.Args[0], "-acp")
	config := fmt.Sprintf(`model = %q
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
[features]
default_mode_request_user_input = true
[model_providers.fake]
name = "fake"
base_url = %q
wire_api = "responses"
env_key = "FAKE_KEY"
[projects.%q]
trust_level = "trusted"
`, modeltest.Model, c.Model.URL+"/v1", c.Start.Dir)
	require.NoError(t, os.WriteFile(filepath.Join(c.Start.Home, ".codex", "config.toml"), []byte(config), 0o600))
	s := watchtest.New(t, web.CanAsk)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(s.Token), 0o600))
	watching := exec.Command(c.Bridge, "watch", "codex", "--hub", s.URL, "--hub-token-file", token)
	watching.Env, watching.Stderr = c.Start.Env, os.Stderr
	require.NoError(t, watching.Start())
	t.Cleanup(func() {
		_ = watching.Process.Signal(syscall.SIGTERM)
		require.NoError(t, watching.Wait())
	})
	c.Open()
	c.See("Ask Codex to do anything")

	c.Model.Script(asks("call_one"), modeltest.Say("Noted one."))
	c.Prompt("first")
	r := s.Next()
	require.Equal(t, c.Start.Dir, r.Dir)
	c.See("Which database?")
	s.Answer(r, watchtest.Noted("SQLite", "it is small"))
	require.Contains(t, c.Told("call_one"), `["SQLite","user_note: it is small"]`)
	c.See("Noted one.")
	s.Receipt(r, "delivered")

	c.Model.Script(asks("call_two"), modeltest.Say("Noted two."))
	c.Prompt("second")
	r = s.Next()
	c.Choose("None of the above", "Enter")
	require.Contains(t, c.Told("call_two"), `["PostgreSQL"]`)
	require.Contains(t, s.Settled(r).End.Reason, "answered in the terminal")
	c.See("Noted two.")

	c.Model.Script(runs("call_three", "echo three > three.txt"), modeltest.Say("Ran three."))
	c.Prompt("third")
	r = s.Next()
	require.Contains(t, r.Detail, "echo three")
	c.See("Yes, proceed")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Ran three.")
	require.FileExists(t, filepath.Join(c.Start.Dir, "three.txt"))

	c.Model.Script(runs("call_four", "echo four > four.txt"), modeltest.Say("Ran four."))
	c.Prompt("fourth")
	r = s.Next()
	c.Choose("Yes, proceed", "y")
	require.Contains(t, s.Settled(r).End.Reason, "answered in the terminal")
	c.See("Ran four.")

	c.Model.Script(runs("call_five", "echo five > five.txt"))
	c.Prompt("fifth")
	r = s.Next()
	c.See("Yes, proceed")
	s.Answer(r, watchtest.Picks("Reject, and stop"))
	s.Receipt(r, "consumed")
	c.Until("the dialog is gone", func(screen string) bool { return !strings.Contains(screen, "Yes, proceed") })
	require.NoFileExists(t, filepath.Join(c.Start.Dir, "five.txt"))

	c.Model.Script(asks("call_six"))
	c.Prompt("sixth")
	r = s.Next()
	c.Choose("None of the above", "Escape")
	require.Equal(t, "failed", s.Settled(r).End.Outcome)

	c.Model.Script(asks("call_seven"))
	c.Prompt("seventh")
	r = s.Next()
	daemons(t, c.Start.Home)
	require.Contains(t, s.Settled(r).End.Reason, "Codex has ended")
}
