package agent_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/adapter/claude/agent"
	"github.com/acp-bridge/acp-bridge/adapter/claude/claudetest"
)

func TestMain(m *testing.M) {
	claudetest.Main()
	if os.Getenv(mcpVariable) != "" {
		playMCP()
	}
	goleak.VerifyTestMain(m)
}

// scripted joins an editor to a scripted stand-in for the CLI.
func scripted(t testing.TB, script claudetest.Script) (*editor, *claudetest.CLI) {
	t.Helper()
	cli := claudetest.New(t, script)
	return serve(t, agent.Options{Claude: cli.Path}), cli
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
