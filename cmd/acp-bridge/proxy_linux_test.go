package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// However the proxy ends, the agent ends with it: killed, or left by its editor.
func TestProxyLeavesNoAgent(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd, interface{ Close() error }) error{
		"killed":        func(c *exec.Cmd, _ interface{ Close() error }) error { return c.Process.Kill() },
		"the editor is": func(_ *exec.Cmd, in interface{ Close() error }) error { return in.Close() },
		"asked to end":  func(c *exec.Cmd, _ interface{ Close() error }) error { return c.Process.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			cmd := exec.Command(os.Args[0], "proxy", "--", "sh", "-c", `echo $$ >"$0"; exec sleep 1000`, file)
			cmd.Env = append(os.Environ(), asBridge+"=1")
			in := acptest.Must(cmd.StdinPipe())
			defer in.Close()
			require.NoError(t, cmd.Start())
			var pid string
			require.Eventually(t, func() bool {
				text, _ := os.ReadFile(file)
				pid = strings.TrimSpace(string(text))
				return pid != ""
			}, patience, time.Millisecond)
			require.NoError(t, end(cmd, in))
			_ = cmd.Wait()
			require.Eventually(t, func() bool { return !runs(pid) }, patience, time.Millisecond)
		})
	}
}

// runs reports whether there is such a process, and not only its exit status.
func runs(pid string) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%s/status", pid))
	return err == nil && !strings.Contains(string(status), "\nState:\tZ")
}
