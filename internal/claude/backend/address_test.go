package backend_test

import (
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// An editor that sends its user to an address is told when a server knows that they were
// there. Others are told nothing that they cannot know.
func TestAddressThatWasVisited(t *testing.T) {
	for caps, want := range map[string]bool{`{"elicitation":{"form":{},"url":{}}}`: true, `{"elicitation":{"form":{}}}`: false} {
		e, _ := scripted(t, turns(steps{
			ct.Raw(`{"type":"system","subtype":"elicitation_complete","elicitation_id":""}`, `{"type":"system","subtype":"elicitation_complete","elicitation_id":"x"}`),
			ct.Text("done"),
		}))
		e.initialize(caps)
		e.prompt(e.open(t.TempDir()), "go").ends(acp.StopReasonEndTurn)
		if want {
			require.Equal(t, "x", (<-e.completed).Get("elicitationId").Str)
		}
		require.Empty(t, e.completed)
	}
}
