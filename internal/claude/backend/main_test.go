package backend_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	_ "github.com/acp-bridge/acp-bridge/internal/conn/wiretest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/paralleltest"
)

var soakSeed = flag.Uint64("soak.seed", 0, "what TestSoak's first life does, and the steers at random; 0 chooses")

func TestMain(m *testing.M) {
	claudetest.Main()
	if os.Getenv(mcpVariable) != "" {
		playMCP()
	}
	removeStandIn := claudetest.Build()
	if os.Getenv("ACP_BRIDGE_REAL_CLAUDE") == "" {
		paralleltest.Main(12)
	} else {
		paralleltest.Main(4) // it needs more than a stand-in
	}
	state, err := os.MkdirTemp("", "acp-bridge-state-")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state) // notes of the tests are not the user's
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(leaktest.Patient(m), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(state)
		removeStandIn()
		os.Exit(code)
	}))
}

// scripted joins an editor to a scripted stand-in for the CLI.
func scripted(t testing.TB, script claudetest.Script) (*editor, *claudetest.CLI) {
	t.Helper()
	cli := claudetest.New(t, script)
	return serve(t, backend.Options{Claude: cli.Path}), cli
}

// turns is a script with a turn for each list of steps.
func turns(list ...[]claudetest.Step) claudetest.Script {
	var s claudetest.Script
	for _, steps := range list {
		s.Turns = append(s.Turns, claudetest.Turn{Steps: steps})
	}
	return s
}

type steps = []claudetest.Step
