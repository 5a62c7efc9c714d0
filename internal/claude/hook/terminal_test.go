//go:build unix

package hook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
)

type object = map[string]any

// patience is how long a test waits for something that must happen.
const patience = 2 * time.Minute

// realClaude is the path of the real CLI; without it, or without tmux, the test is
// skipped.
func realClaude(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if path == "" {
		t.Skip("SKIPPED: needs the real Claude Code CLI; set ACP_BRIDGE_REAL_CLAUDE to its path, as .ci/run does")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: needs tmux, in which the real CLI runs")
	}
	return path
}

// terminal is the real CLI in a terminal of its own, with a model played on loopback.
type terminal struct {
	t         *testing.T
	socket    string
	home, dir string
	api       *apitest.Server
	claude    string
	env       []string
}

// built is the folder of what was built, or empty.
var built string

// program is acp-bridge, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "acp-bridge-hook-")
	if err != nil {
		return "", err
	}
	built = dir
	name := filepath.Join(dir, "acp-bridge")
	out, err := exec.Command("go", "build", "-o", name, "github.com/acp-bridge/acp-bridge/cmd/acp-bridge").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return name, err
})

// newTerminal is a terminal whose hooks are at a hub; site may be one that is there.
func newTerminal(t *testing.T, s *site, replies ...apitest.Reply) (*terminal, *site) {
	t.Helper()
	c := &terminal{t: t, claude: realClaude(t), home: t.TempDir(), dir: t.TempDir(), api: apitest.New(t)}
	if s == nil {
		s = newSite(t)
	}
	path, err := program()
	require.NoError(t, err)
	c.api.Script(replies...)
	c.socket = filepath.Join(c.home, "tmux")
	c.write(filepath.Join(c.home, ".claude", "settings.json"), object{"hooks": hook.Hooks(path, "hook")})
	c.write(filepath.Join(c.home, ".local", "state", "acp-bridge", "hook.json"), object{"hub": s.url, "token": s.token})
	c.write(filepath.Join(c.home, ".claude.json"), object{
		"hasCompletedOnboarding": true, "customApiKeyResponses": object{"approved": []string{"test"}},
		"projects": object{c.dir: object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	c.env = append(apitest.Env(c.api, c.home), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash", "IS_SANDBOX=1")
	return c, s
}

func (c *terminal) write(name string, v any) {
	data, err := json.Marshal(v)
	require.NoError(c.t, err)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(c.t, os.WriteFile(name, data, 0o600))
}

// start runs claude, and waits for its prompt.
func (c *terminal) start(args ...string) {
	c.t.Helper()
	command := append([]string{"-S", c.socket, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50", "-c", c.dir, "env", "-i"}, c.env...)
	command = append(command, c.claude)
	if !slices.Contains(args, "--permission-mode") {
		args = append(args, "--permission-mode", "default")
	}
	out, err := exec.Command("tmux", append(command, args...)...).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	c.t.Cleanup(c.end)
	c.ready()
}

// pid is that of claude.
func (c *terminal) pid() int {
	out, err := exec.Command("tmux", "-S", c.socket, "list-panes", "-F", "#{pane_pid}").Output()
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return pid
}

// end ends claude, and waits for that: it writes until then.
func (c *terminal) end() {
	pid := c.pid()
	_ = exec.Command("tmux", "-S", c.socket, "kill-server").Run()
	for range 200 {
		if pid == 0 || syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// ready waits until a prompt can be typed.
func (c *terminal) ready() {
	c.t.Helper()
	c.until(func(screen string) bool {
		return strings.Contains(screen, "? for shortcuts") || strings.Contains(screen, "shift+tab to cycle")
	}, "there is a prompt")
}

// press sends keys, as tmux names them.
func (c *terminal) press(keys ...string) {
	c.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", c.socket, "send-keys"}, keys...)...).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
}

// choose presses a key until a dialog is gone: it takes none in its first moment.
func (c *terminal) choose(key, dialog string) {
	c.t.Helper()
	c.see(dialog)
	next := time.Now()
	c.until(func(screen string) bool {
		if strings.Contains(screen, dialog) && time.Now().After(next) {
			c.press(key)
			next = time.Now().Add(3 * time.Second)
		}
		return !strings.Contains(screen, dialog)
	}, "the dialog is gone: "+dialog)
}

// prompt types a prompt, and sends it.
func (c *terminal) prompt(text string) {
	c.t.Helper()
	c.press("-l", text)
	c.see(text)
	c.press("Enter")
}

func (c *terminal) screen() string {
	out, _ := exec.Command("tmux", "-S", c.socket, "capture-pane", "-p").CombinedOutput()
	return string(out)
}

// see waits for a text on the screen.
func (c *terminal) see(text string) string {
	c.t.Helper()
	return c.until(func(screen string) bool { return strings.Contains(screen, text) }, "the screen shows "+text)
}

func (c *terminal) until(ok func(string) bool, what string) string {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		screen := c.screen()
		if ok(screen) {
			return screen
		}
		if time.Now().After(end) {
			require.Fail(c.t, fmt.Sprintf("expected that %s", what), "%s", screen)
		}
	}
}

// told is what the model got for a tool call.
func (c *terminal) told(id string) apitest.ToolResult {
	c.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, r := range c.api.Main() {
			if result, ok := r.ToolResult(id); ok {
				return result
			}
		}
	}
	require.Fail(c.t, "the model never got a result", "%s\n%s", id, c.screen())
	return apitest.ToolResult{}
}
