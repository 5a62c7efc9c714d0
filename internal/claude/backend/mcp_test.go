package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

func TestMCPServersAreNotOnTheCommandLine(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // what others leave there is not ours
	e, cli := scripted(t, ct.Script{})
	e.Initialize(`{}`)
	e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"additionalDirectories":["/extra"],"mcpServers":[
		{"name":"a","command":"run","args":["x"],"env":[{"name":"K","value":"secret-1"}]},
		{"type":"http","name":"b","url":"http://127.0.0.1:1/","headers":[{"name":"Authorization","value":"secret-2"}]},
		{"type":"sse","name":"c","url":"http://127.0.0.1:1/","headers":[]}]}`, t.TempDir()))
	line := strings.Join(cli.Starts()[0].Args, " ")
	require.NotContains(t, line, "secret")
	require.Contains(t, line, "--add-dir /extra")
	require.Contains(t, line, "--mcp-config")
	left := acptest.Must(filepath.Glob(filepath.Join(os.TempDir(), "acp-bridge-mcp-*")))
	require.Empty(t, left, "the file is gone when the session is open")
}
