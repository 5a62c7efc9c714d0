//go:build unix

package terminal_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

// console is a child process that asks on a terminal.
type console struct {
	*ttytest.Console
	t      *testing.T
	report chan report
}

func start(t *testing.T, j job, w, h int, env ...string) *console {
	t.Helper()
	text := acptest.Must(json.Marshal(j))
	pr, pw := acptest.Must2(os.Pipe())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(append(os.Environ(), ttytest.Env...), "TERMINAL_TEST_JOB="+string(text)), env...)
	cmd.ExtraFiles = []*os.File{pw}
	c := &console{ttytest.Start(t, cmd, w, h), t, make(chan report, 1)}
	pw.Close()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		defer pr.Close()
		var r report
		if json.NewDecoder(pr).Decode(&r) == nil {
			c.report <- r
		}
		close(c.report)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-reported
	})
	return c
}

// wait waits until the screen, cursor included, is as wanted.
func (c *console) wait(what string, ok func(screen string) bool) string {
	c.t.Helper()
	return c.Wait(what, func(s ttytest.Screen) bool { return ok(s.Marked) }).Marked
}

// waitFor waits until the screen is want, the cursor included.
func (c *console) waitFor(want string) {
	c.t.Helper()
	c.wait("this screen:\n"+want, func(s string) bool { return s == want })
}

// end waits for the child's report and checks that the terminal is as before.
func (c *console) end() report {
	c.t.Helper()
	r := c.hungUp()
	require.True(c.t, r.Restored, "the terminal's settings")
	c.Wait("a visible cursor, autowrap, and no bracketed paste", func(s ttytest.Screen) bool { return s.Cursor && s.AutoWrap && !s.Paste })
	return r
}

// hungUp waits for the report of a child whose terminal may be gone.
func (c *console) hungUp() report {
	c.t.Helper()
	r := acptest.Next(c.t, c.report)
	require.NotZero(c.t, r, "the child ended without a report")
	require.Empty(c.t, r.Leak, "goroutines left")
	return r
}
