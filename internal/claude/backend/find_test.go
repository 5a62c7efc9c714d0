package backend_test

import (
	"os"
	"testing"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// The CLI is looked for in the environment that it gets.
func TestEnvNamesTheCLI(t *testing.T) {
	cli := ct.New(t, turns(steps{ct.Text("hello")}))
	t.Setenv("ACP_BRIDGE_CLAUDE", "/nowhere/claude")
	e := serve(t, backend.Options{Env: append(os.Environ(), "ACP_BRIDGE_CLAUDE="+cli.Path)})
	e.initialize(`{}`)
	e.prompt(e.open(t.TempDir()), "hi").ends(acp.StopReasonEndTurn)
}
