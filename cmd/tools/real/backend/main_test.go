//go:build unix

package backend_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	_ "github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	claudetest.Main()
	if os.Getenv(mcpVariable) != "" {
		playMCP()
	}
	leaktest.Parallel(4) // the CLI needs more than a stand-in
	state, err := os.MkdirTemp("", "acp-bridge-state-")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state) // notes of the tests are not the user's
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(leaktest.Patient(m), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(state)
		os.Exit(code)
	}))
}
