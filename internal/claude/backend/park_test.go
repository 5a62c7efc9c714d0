package backend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

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

// When a session is closed or the editor leaves, what the CLI is told about an
// open question, if it still hears it, does not let it work on.
func TestNoTurnRunsOnUnattended(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*editor, []string){
		"the editor leaves": func(e *editor, _ []string) { e.Leave() },
		"session/close": func(e *editor, sessions []string) {
			for _, s := range sessions {
				e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cli := ct.New(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
			e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
			e.Initialize(`{}`)
			var sessions []string
			for range 10 {
				s := e.Open(t.TempDir())
				sessions = append(sessions, s)
				e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
			}
			end(e, sessions)
			for _, line := range cli.Lines() {
				if reply := gjson.GetBytes(line.Raw, "response.response"); reply.Get("behavior").Exists() {
					require.True(t, reply.Get("interrupt").Bool(), reply.Raw)
				}
			}
		})
	}
}
