//go:build unix

package backend_test

import (
	"os"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// The real CLI says what it has left at work, and comes back when that ends.
func TestRealTurnThatLeavesWorkBehind(t *testing.T) {
	t.Parallel()
	path, api, dir := realClaude(t), apitest.New(t), t.TempDir()
	api.Script(
		apitest.Use(apitest.ToolUse("toolu_1", "Bash", object{"command": "while [ ! -e go ]; do sleep 0.1; done", "run_in_background": true})),
		apitest.Say("It works on."), apitest.Say("It is done."))
	d := new(desk.Desk)
	ends := make(chan desk.Turn, 10)
	t.Cleanup(d.WatchTurns(func(turn desk.Turn) { ends <- turn }))
	e := serve(t, backend.Options{Claude: path, Args: []string{"--allowedTools", "Bash"}, Env: apitest.Env(api, t.TempDir()), Desk: d})
	e.Initialize(`{}`)
	e.Prompt(e.Open(dir), "go").Ends(acp.StopReasonEndTurn)
	require.True(t, (<-ends).Working)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	end := <-ends
	require.False(t, end.Working)
	require.Contains(t, end.About.Told().Said, "It is done.")
}
