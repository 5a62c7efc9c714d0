package backend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// inWords joins an editor that is asked in the conversation to a script, and
// sends the prompt that a question ends.
func inWords(t *testing.T, script ct.Script) (*editor, *ct.CLI, string) {
	cli := ct.New(t, script)
	e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "toolu_1", turn.Resp.Get("_meta.acp-bridge.waitingFor").Str)
	return e, cli, s
}

// flood is a turn that goes on behind its question, for longer than is held in
// memory and read ahead: the CLI waits.
const floodSize = 12_000

func flood() ct.Script {
	return turns(
		steps{ct.Message(ct.Question("toolu_1", which), ct.Block{Type: "text", Repeat: floodSize}), ct.Text("Noted.")},
		steps{ct.Text("Next.")})
}

// Nothing is dropped, all is in order, and nothing comes before the answer but
// what is of no turn.
func TestHeldUpdatesAreBoundedAndInOrder(t *testing.T) {
	t.Parallel()
	e, _, s := inWords(t, flood())
	before := e.Said(s)
	for _, mode := range slices.Repeat([]string{"plan", "default"}, 200) { // until the CLI waits
		e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"`+mode+`"}`)
	}
	require.Equal(t, before, e.Said(s))
	e.Prompt(s, "2").Ends(acp.StopReasonEndTurn)
	said := e.Said(s)
	from, to := strings.Index(said, "\n\n**Database**"), len(before) // the question stands where the flood was then
	var want strings.Builder
	for i := range floodSize {
		fmt.Fprintf(&want, "%d ", i)
	}
	require.True(t, want.String()+"Noted." == said[:from]+said[to:], "all of it, in order")
}
