//go:build unix

package backend_test

import (
	"fmt"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// The real CLI says that it plans before it answers initialize.
func TestRealSessionLeftInPlanMode(t *testing.T) {
	t.Parallel()
	path := realClaude(t)
	for _, method := range []string{acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume} {
		api := apitest.New(t)
		api.Script(apitest.Say("One."), apitest.Say("Two."))
		o := backend.Options{Claude: path, Env: apitest.Env(api, t.TempDir())}
		dir := t.TempDir()
		e := serve(t, o)
		e.Initialize(`{}`)
		s := e.Open(dir)
		e.Call(acp.AgentMethodSessionSetMode, fmt.Sprintf(`{"sessionId":%q,"modeId":"plan"}`, s))
		e.Prompt(s, "hello").Ends(acp.StopReasonEndTurn)
		e.Leave()
		e = serve(t, o)
		e.Initialize(`{}`)
		r := e.Call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
		e.awaitMode(s, r, "plan")
		e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
		require.Contains(t, e.Said(s), "Two.")
		require.Equal(t, "plan", e.modeNow(s, r))
		e.Leave()
	}
}
