//go:build unix

package terminals

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// Tmux is a terminal of its own.
type Tmux struct {
	t      *testing.T
	socket string
	// Beside says what else there is to know when the screen does not become what it
	// must; it may be nil.
	Beside func() string
}

// NewTmux prepares a terminal. Without tmux the test is skipped.
func NewTmux(t *testing.T) *Tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: needs tmux, in which the real agent runs")
	}
	dir, err := os.MkdirTemp("", "tmux") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &Tmux{t: t, socket: filepath.Join(dir, "s")}
}

// Open starts a command in the terminal.
func (c *Tmux) Open(dir string, env []string, command ...string) {
	c.t.Helper()
	all := append([]string{"-S", c.socket, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50", "-c", dir, "env", "-i"}, env...)
	out, err := exec.Command("tmux", append(all, command...)...).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	c.t.Cleanup(c.Close)
}

// PID is that of the agent, 0 if it has ended.
func (c *Tmux) PID() int {
	out, err := exec.Command("tmux", "-S", c.socket, "list-panes", "-F", "#{pane_pid}").Output()
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return pid
}

// Close ends the agent, and waits for that: it writes until then.
func (c *Tmux) Close() {
	pid := c.PID()
	_ = exec.Command("tmux", "-S", c.socket, "kill-server").Run()
	for range 200 {
		if pid == 0 || syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// Press sends keys, as tmux names them.
func (c *Tmux) Press(keys ...string) {
	c.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", c.socket, "send-keys"}, keys...)...).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
}

// Choose presses keys until a dialog is gone: it may take none in its first moment.
func (c *Tmux) Choose(dialog string, keys ...string) {
	c.t.Helper()
	c.See(dialog)
	next := time.Now().Add(time.Second)
	c.Until("the dialog is gone: "+dialog, func(screen string) bool {
		if strings.Contains(screen, dialog) && time.Now().After(next) {
			c.Press(keys...)
			next = time.Now().Add(5 * time.Second)
		}
		return !strings.Contains(screen, dialog)
	})
}

// Screen is what the terminal shows.
func (c *Tmux) Screen() string {
	out, _ := exec.Command("tmux", "-S", c.socket, "capture-pane", "-p").CombinedOutput()
	return string(out)
}

// See waits for a text on the screen.
func (c *Tmux) See(text string) string {
	c.t.Helper()
	return c.Until("the screen shows "+text, func(screen string) bool { return strings.Contains(screen, text) })
}

// Until waits until the screen is so.
func (c *Tmux) Until(what string, ok func(string) bool) string {
	c.t.Helper()
	for end := time.Now().Add(watchtest.Patience); ; time.Sleep(50 * time.Millisecond) {
		screen := c.Screen()
		if ok(screen) {
			return screen
		}
		if time.Now().After(end) {
			if c.Beside != nil {
				screen += "\n" + c.Beside()
			}
			require.Fail(c.t, "expected that "+what, "%s", screen)
		}
	}
}
