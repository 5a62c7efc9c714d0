//go:build unix

package watchtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/internal/realtest"
)

// Terminal is a real agent in a terminal of its own, with a model played on loopback.
type Terminal struct {
	t      *testing.T
	Model  *modeltest.Server
	Start  realtest.Start
	Bridge string // path of acp-bridge
	socket string
}

// program is acp-bridge, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "acp-bridge-watch-")
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

var built string

// Clean removes what was built. Call it when all tests of a package are over.
func Clean() {
	if built != "" {
		_ = os.RemoveAll(built)
	}
}

// NewTerminal prepares a real agent. Without it, without tmux, or without the longer
// run the test is skipped: these start slowly.
func NewTerminal(t *testing.T, agent string) *Terminal {
	t.Helper()
	if os.Getenv(realtest.Longer) == "" {
		t.Skip("SKIPPED: a part of the longer run: set " + realtest.Longer)
	}
	a, err := realtest.Find(agent)
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: needs tmux, in which the real agent runs")
	}
	c := &Terminal{t: t, Model: modeltest.New(t)}
	c.Start, err = a.Prepare(t.TempDir(), c.Model.URL)
	require.NoError(t, err)
	c.Bridge, err = program()
	require.NoError(t, err)
	c.Start.Env = append(c.Start.Env, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash", "XDG_STATE_HOME="+filepath.Join(c.Start.Home, "state"))
	dir, err := os.MkdirTemp("", "tmux") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c.socket = filepath.Join(dir, "s")
	return c
}

// Run runs acp-bridge beside the agent, with its home.
func (c *Terminal) Run(args ...string) string {
	c.t.Helper()
	cmd := exec.Command(c.Bridge, args...)
	cmd.Env, cmd.Dir = c.Start.Env, c.Start.Dir
	out, err := cmd.CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	return string(out)
}

// Open starts the agent with arguments in a terminal.
func (c *Terminal) Open(args ...string) {
	c.t.Helper()
	command := append([]string{"-S", c.socket, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50", "-c", c.Start.Dir, "env", "-i"}, c.Start.Env...)
	out, err := exec.Command("tmux", append(append(command, c.Start.Args[0]), args...)...).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	c.t.Cleanup(c.Close)
}

// PID is that of the agent, 0 if it has ended.
func (c *Terminal) PID() int {
	out, err := exec.Command("tmux", "-S", c.socket, "list-panes", "-F", "#{pane_pid}").Output()
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return pid
}

// Close ends the agent, and waits for that: it writes until then.
func (c *Terminal) Close() {
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
func (c *Terminal) Press(keys ...string) {
	c.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", c.socket, "send-keys"}, keys...)...).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
}

// Choose presses keys until a dialog is gone: it may take none in its first moment.
func (c *Terminal) Choose(dialog string, keys ...string) {
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

// Prompt types a prompt, and sends it.
func (c *Terminal) Prompt(text string) {
	c.t.Helper()
	c.Press("-l", text)
	c.See(text)
	time.Sleep(300 * time.Millisecond) // else it is pasted, Enter included
	c.Press("Enter")
}

// Screen is what the terminal shows.
func (c *Terminal) Screen() string {
	out, _ := exec.Command("tmux", "-S", c.socket, "capture-pane", "-p").CombinedOutput()
	return string(out)
}

// See waits for a text on the screen.
func (c *Terminal) See(text string) string {
	c.t.Helper()
	return c.Until("the screen shows "+text, func(screen string) bool { return strings.Contains(screen, text) })
}

// Until waits until the screen is so.
func (c *Terminal) Until(what string, ok func(string) bool) string {
	c.t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(50 * time.Millisecond) {
		screen := c.Screen()
		if ok(screen) {
			return screen
		}
		if time.Now().After(end) {
			require.Fail(c.t, "expected that "+what, "%s\nthe model was called %d times; beside that: %v", screen, len(c.Model.Requests()), c.Model.Other())
		}
	}
}

// Told waits for what the model is told of a tool call.
func (c *Terminal) Told(id string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Patience)
	defer cancel()
	for n := 1; ; n++ {
		requests, err := c.Model.Await(ctx, n)
		for _, r := range requests {
			for _, result := range r.Results {
				if result.ID == id {
					return result.Text
				}
			}
		}
		require.NoError(c.t, err, "%s", c.Screen())
		n = max(n, len(requests))
	}
}
