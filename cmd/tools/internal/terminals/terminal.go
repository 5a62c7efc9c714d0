//go:build unix

package terminals

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/realtest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// Terminal is a real agent in a terminal of its own, with a model played on loopback.
type Terminal struct {
	t      *testing.T
	Model  *modeltest.Server
	Start  realtest.Start
	Bridge string // path of acp-bridge
	*Tmux
}

// NeedsLonger skips a test that is slow, but in the longer run.
func NeedsLonger(t *testing.T) {
	t.Helper()
	if os.Getenv(realtest.Longer) == "" {
		t.Skip("SKIPPED: a part of the longer run: set " + realtest.Longer)
	}
}

// NewTerminal prepares a real agent. Without it, or without tmux, the test is skipped.
func NewTerminal(t *testing.T, agent string) *Terminal {
	t.Helper()
	a, err := realtest.Find(agent)
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	c := &Terminal{t: t, Model: modeltest.New(t), Tmux: NewTmux(t)}
	c.Beside = func() string {
		return fmt.Sprintf("the model was called %d times; beside that: %v", len(c.Model.Requests()), c.Model.Other())
	}
	c.Start, err = a.Prepare(t.TempDir(), c.Model.URL)
	require.NoError(t, err)
	c.Bridge, err = Program()
	require.NoError(t, err)
	c.Start.Env = append(c.Start.Env, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash", "XDG_STATE_HOME="+filepath.Join(c.Start.Home, "state"))
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
	c.Tmux.Open(c.Start.Dir, c.Start.Env, append(c.Start.Args[:1:1], args...)...)
}

// Prompt types a prompt, and sends it.
func (c *Terminal) Prompt(text string) {
	c.t.Helper()
	c.Press("-l", text)
	c.See(text)
	time.Sleep(300 * time.Millisecond) // else it is pasted, Enter included
	c.Press("Enter")
}

// Told waits for what the model is told of a tool call.
func (c *Terminal) Told(id string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), watchtest.Patience)
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
