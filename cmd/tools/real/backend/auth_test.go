//go:build unix

package backend_test

import (
	"os"
	"os/exec"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// TestRealLogin asks the real CLI for what `acp-bridge login` runs.
func TestRealLogin(t *testing.T) {
	t.Parallel()
	help := exec.Command(realClaude(t), "auth", "login", "--help")
	help.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := help.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "Usage: claude auth login")
	require.Contains(t, string(out), "--console")
	e, _ := real(t)
	e.Initialize(`{"auth":{"terminal":true}}`)
	for _, id := range []string{"claude-ai-login", "console-login", "claude-login", "anthropic-api-key"} {
		e.Call(acp.AgentMethodAuthenticate, `{"methodId":"`+id+`"}`)
	}
	_, err = e.Try(acp.AgentMethodAuthenticate, `{"methodId":"pigeon"}`)
	require.ErrorContains(t, err, `expected one of claude-login, claude-ai-login, console-login, anthropic-api-key`)
}
