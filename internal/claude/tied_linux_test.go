package claude_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

func TestTheCLIDoesNotOutliveTheBridge(t *testing.T) {
	cli := claudetest.New(t, claudetest.Script{IgnoreEOF: true})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bridgeVariable+"="+cli.Path)
	out := acptest.Must(cmd.StdoutPipe())
	require.NoError(t, cmd.Start())
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
			pid = acptest.Must(strconv.Atoi(text))
		}
	}
	require.NotZero(t, pid)
	require.NoError(t, syscall.Kill(pid, 0), "it runs")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(t, pid)
}

// A private file is there for the CLI, and empty as soon as that has read it: what
// the CLI starts may inherit it.
func TestPrivateFileIsEmptied(t *testing.T) {
	s := run(t, claudetest.Script{}, func(o *claude.Options) {
		o.Private = []claude.PrivateFlag{{Flag: "--mcp-config", Content: []byte(`{"secret":1}`)}}
	})
	file := "/proc/" + strconv.Itoa(s.Pid()) + "/fd/3"
	text := acptest.Must(os.ReadFile(file))
	require.Equal(t, `{"secret":1}`, string(text))
	acptest.Must(s.Initialize(s.ctx))
	text = acptest.Must(os.ReadFile(file))
	require.Empty(t, text)
}
