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

// An empty prompt shows the question again, whatever it is empty of.
func TestEmptyPromptIsNoAnswer(t *testing.T) {
	e, cli, s := inWords(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
	for _, blocks := range []string{`[]`, `[{"type":"text","text":" \n"}]`} {
		shown := len(e.Said(s))
		again := e.PromptBlocks(s, blocks)
		again.Ends(acp.StopReasonEndTurn)
		require.Equal(t, "toolu_1", again.Resp.Get("_meta.acp-bridge.waitingFor").Str)
		require.Contains(t, e.Said(s)[shown:], "The reply was empty.")
		require.Contains(t, e.Said(s)[shown:], "2. SQLite")
	}
	e.Prompt(s, "2").Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	e.PromptBlocks(s, `[]`).Fails("the prompt is empty")
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

// A CLI that waits to be read can still be cancelled, closed and left.
func TestFloodIsInterrupted(t *testing.T) {
	t.Run("session/cancel", func(t *testing.T) {
		e, cli, s := inWords(t, flood())
		e.Cancel(s)
		e.Prompt(s, "an ordinary prompt").Ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"hi", "an ordinary prompt"}, cli.Prompts())
		require.True(t, strings.HasSuffix(e.Said(s), "Next."))
		require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
	})
	t.Run("session/close", func(t *testing.T) {
		e, cli, s := inWords(t, flood())
		e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
		requireGone(t, cli.Starts()[0].Pid)
	})
	t.Run("the editor leaves", func(t *testing.T) {
		e, cli, _ := inWords(t, flood())
		e.Leave()
		requireGone(t, cli.Starts()[0].Pid)
	})
}

// What belongs to no turn is told at once, whatever is held.
func TestModeUpdatesAreNotHeld(t *testing.T) {
	request := jsonOf(t, object{"type": "control_request", "request_id": "req-1-toolu_1", "request": object{
		"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", "input": object{"questions": qs(which)}}})
	e, cli, s := inWords(t, turns(steps{ct.Raw(string(request)), ct.Wait("parked"), ct.Text("held"), ct.SetMode("acceptEdits"), ct.Wait("answered")}))
	cli.Release("parked")
	e.Await(s, "the mode", func(u gjson.Result) bool { return u.Get("currentModeId").Str == "acceptEdits" })
	require.NotContains(t, e.Said(s), "held")
	turn := e.Prompt(s, "2")
	e.Await(s, "what was held", func(u gjson.Result) bool { return u.Get("content.text").Str == "held" })
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	cli.Release("answered")
	turn.Ends(acp.StopReasonEndTurn)
}

// The editor goes and comes back: the open question is gone with its agent,
// and a new session asks as if nothing had been.
func TestEditorRestartsWhileAQuestionWaits(t *testing.T) {
	e, cli, _ := inWords(t, turns(steps{ct.Message(ct.Question("toolu_1", which)), ct.Text("Noted.")}))
	e.Leave()
	if reply := cli.Reply("toolu_1"); reply != nil {
		require.Contains(t, string(reply), `"interrupt":true`, "no turn runs on unattended")
	}
	requireGone(t, cli.Starts()[0].Pid)

	e = serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	e.Prompt(s, "sqlite").Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	require.Contains(t, e.Said(s), "Noted.")
}

// A turn that the CLI began by itself asks in the conversation, too: the next
// prompt is the answer, and the turn goes on inside it.
func TestOwnTurnAsksInTheConversation(t *testing.T) {
	cli := ct.New(t, ct.Script{Turns: []ct.Turn{{
		Match: "hi", Steps: steps{ct.Text("First.")},
		After: steps{ct.Message(ct.Question("toolu_1", which)), ct.Text("Noted.")},
	}, {Match: "more", Steps: steps{ct.Text("Next.")}}}})
	e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	e.Await(s, "the question", func(u gjson.Result) bool { return strings.Contains(u.Get("content.text").Str, "2. SQLite") })
	e.Prompt(s, "2").Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	require.True(t, strings.HasSuffix(e.Said(s), "Noted."), e.Said(s))
	e.Prompt(s, "more").Ends(acp.StopReasonEndTurn)
}

// A prompt that was typed before the question was there is no answer to it: the
// question is dropped and the prompt runs.
func TestPromptTypedBeforeTheQuestion(t *testing.T) {
	for name, old := range map[string]bool{"handed over": false, "waits for an old CLI": true} {
		t.Run(name, func(t *testing.T) {
			script := turns(steps{ct.Text("Working."), ct.Wait("go"), ct.Message(ct.Question("toolu_1", which))}, steps{ct.Text("Next.")})
			script.Old = old
			cli := ct.New(t, script)
			e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
			s := e.Ready()
			first := e.Prompt(s, "hi")
			e.Await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Str == "Working." })
			second := e.Prompt(s, "2")
			reached(e, s, cli, old, "hi", "2")
			cli.Release("go")
			first.Ends(acp.StopReasonCancelled)
			second.Ends(acp.StopReasonEndTurn)
			require.NotContains(t, string(cli.Reply("toolu_1")), `"allow"`)
			require.Equal(t, "Working.Next.", e.Said(s), "nor is it shown")
		})
	}
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

// A turn may end by its result and by the end of its process at once.
func TestSessionEndsWhileItsTurnDoes(t *testing.T) {
	t.Parallel()
	cli := ct.New(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
	e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
	e.Initialize(`{}`)
	dir := t.TempDir()
	for range 60 {
		s := e.Open(dir)
		e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
		e.Cancel(s)
		e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
	}
}
