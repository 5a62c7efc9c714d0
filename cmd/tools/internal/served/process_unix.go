//go:build unix

package served

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// Freeze stops a CLI and waits until it stands: all its threads take a moment.
func Freeze(t testing.TB, pid int) {
	stat := fmt.Sprintf("/proc/%d/stat", pid)
	require.Eventually(t, func() bool {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // again, should an earlier freeze end now
		text, err := os.ReadFile(stat)
		return err != nil || strings.Contains(string(text), ") T ") // there is no /proc, or it says so
	}, acptest.Patience, time.Millisecond)
}

// ClosePipe has a CLI close its output or its input and waits until it has.
func ClosePipe(t testing.TB, cli *claudetest.CLI, pid int, which syscall.Signal) {
	_ = syscall.Kill(pid, which)
	require.Eventually(t, func() bool {
		for _, l := range cli.Lines() {
			if l.Pid == pid && (l.EOF && which == claudetest.CloseStdinNow || l.Mute && which == claudetest.CloseStdoutNow) {
				return true
			}
		}
		return syscall.Kill(pid, 0) != nil
	}, acptest.Patience, time.Millisecond)
}

// Process says what is known of a process.
func Process(pid int) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return fmt.Sprintf("%d %q\n%s", pid, args, status)
}

// Half is the beginning of a reply.
func Half(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"never given"}`
}
