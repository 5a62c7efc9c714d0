package backend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// stuckCalls are many more than are held, stuckAt is where the CLI is no longer
// read: one call is one update.
const (
	stuckCalls = 4000
	stuckAt    = 1001
)

const stuckAgent = "part-1"

// stuck is a session whose question waits in the conversation while a turn of
// sub-agents goes on behind it, until the CLI is not read any more.
func stuck(t *testing.T) (e *editor, cli *ct.CLI, session string) {
	question := jsonOf(t, object{"type": "control_request", "request_id": "req-1-toolu_1", "request": object{
		"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", "input": object{"questions": qs(which)}}})
	use := func(id, name string, input object) string {
		return string(jsonOf(t, object{"type": "assistant", "message": object{"id": "msg_1", "content": []any{
			object{"type": "tool_use", "id": id, "name": name, "input": input}}}}))
	}
	var calls []string
	for i := range stuckCalls {
		calls = append(calls, use(fmt.Sprintf("call-%d", i), "Bash", object{"command": fmt.Sprint("run ", i)}))
	}
	cli = ct.New(t, turns(steps{
		ct.Raw(use("toolu_a", "Agent", object{"description": "work", "prompt": "work"}), fmt.Sprintf(`{"type":"system","subtype":"task_started","task_type":"local_agent","task_id":%q,"tool_use_id":"toolu_a","description":"work"}`, stuckAgent)),
		ct.Raw(string(question)), ct.Wait("parked"), ct.Raw(calls...), ct.Wait("answered"), ct.Text("Noted."),
	}, steps{ct.Text("Next.")}))
	var read atomic.Int64
	full := make(chan struct{})
	e = serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation, Trace: func(wire string, dir ndjson.Direction, text []byte) {
		if wire != "editor" && dir == ndjson.In && json.Valid(text) && read.Add(1) == stuckAt {
			close(full)
		}
	}})
	e.initialize(`{"subagents":{}}`)
	session = e.open(t.TempDir())
	turn := e.prompt(session, "hi")
	turn.ends(acp.StopReasonEndTurn)
	require.Equal(t, "toolu_1", turn.resp.Get("_meta.acp-bridge.waitingFor").Str)
	read.Store(0)
	cli.Release("parked")
	select {
	case <-full:
	case <-time.After(patience):
		require.Fail(t, "the calls were not read")
	}
	return e, cli, session
}

// within calls a method that must be answered although nothing flows out.
func (e *editor) within(method, params string) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 20*time.Second)
	defer cancel()
	_, err := e.conn.Call(ctx, method, json.RawMessage(params))
	require.NoError(e.t, ctx.Err(), "nothing of the editor is read any more: %v", err)
}

// An editor may cancel what is no session, or no longer one, while too much is
// held: the connection goes on, the answer counts, and all that was held comes.
func TestStrayCancelWhileMuchIsHeld(t *testing.T) {
	for name, id := range map[string]string{"unknown": "nobody", "a sub-agent": stuckAgent, "closed": ""} {
		t.Run(name, func(t *testing.T) {
			e, cli, s := stuck(t)
			if id == "" {
				id = e.open(t.TempDir())
				e.within(acp.AgentMethodSessionClose, `{"sessionId":"`+id+`"}`)
			}
			for range 20 { // the reader of the CLI may be on its way to where it waits
				e.cancel(id)
				e.within(acp.AgentMethodSessionList, `{}`)
			}
			turn := e.prompt(s, "2")
			require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
			cli.Release("answered")
			turn.ends(acp.StopReasonEndTurn)
			drawn := 0
			for _, u := range e.updates(s) {
				if u.Get("sessionUpdate").Str == "tool_call" && u.Get("toolCallId").Str == fmt.Sprintf("call-%d", drawn) {
					drawn++
				}
			}
			require.Equal(t, stuckCalls, drawn, "all of it, in order")
			e.prompt(s, "go on").ends(acp.StopReasonEndTurn)
			e.leave()
		})
	}
	t.Run("the editor leaves", func(t *testing.T) {
		e, cli, _ := stuck(t)
		e.cancel("nobody")
		e.leave()
		requireGone(t, cli.Starts()[0].Pid)
	})
}
