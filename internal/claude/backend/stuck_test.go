package backend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// stuckCalls are many more than are held, stuckAt is where the CLI is no longer
// read: one call is one update.
const (
	stuckCalls = 2500
	stuckAt    = 1001
)

const stuckAgent = "part-1"

// stuck is a session whose question waits in the conversation while a turn of
// sub-agents goes on behind it, until the CLI is not read any more.
func stuck(t *testing.T) (e *editor, cli *ct.CLI, session string) {
	question := line(object{"type": "control_request", "request_id": "req-1-toolu_1", "request": object{
		"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", "input": object{"questions": []object{which}}}})
	use := func(id, name string, input object) string {
		return line(object{"type": "assistant", "message": object{"id": "msg_1", "content": []any{
			object{"type": "tool_use", "id": id, "name": name, "input": input}}}})
	}
	var calls []string
	for i := range stuckCalls {
		calls = append(calls, use(fmt.Sprintf("call-%d", i), "Bash", object{"command": fmt.Sprint("run ", i)}))
	}
	script := turns(steps{
		ct.Raw(use("toolu_a", "Agent", object{"description": "work", "prompt": "work"}), fmt.Sprintf(`{"type":"system","subtype":"task_started","task_type":"local_agent","task_id":%q,"tool_use_id":"toolu_a","description":"work"}`, stuckAgent)),
		ct.Raw(question), ct.Wait("parked"), ct.Raw(calls...), ct.Wait("answered"), ct.Text("Noted."),
	}, steps{ct.Text("Next.")})
	script.Turns = append(script.Turns, ct.Turn{Match: "elsewhere", Steps: steps{ct.Text("Here.")}}) // of other sessions
	cli = ct.New(t, script)
	var read atomic.Int64
	full := make(chan struct{})
	e = serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation, Trace: func(wire string, dir ndjson.Direction, text []byte) {
		if wire != "editor" && dir == ndjson.In && json.Valid(text) && read.Add(1) == stuckAt {
			close(full)
		}
	}})
	e.Initialize(`{"subagents":{}}`)
	session = e.Open(t.TempDir())
	turn := e.Prompt(session, "hi")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "toolu_1", turn.Resp.Get("_meta.acp-bridge.waitingFor").Str)
	read.Store(0)
	cli.Release("parked")
	<-full
	return e, cli, session
}

// within calls a method that must be answered although nothing flows out.
func (e *editor) within(method, params string) {
	e.T.Helper()
	ctx, cancel := context.WithTimeout(e.T.Context(), acptest.Patience)
	defer cancel()
	_, err := e.Conn.Call(ctx, method, json.RawMessage(params))
	require.NoError(e.T, ctx.Err(), "nothing of the editor is read any more: %v", err)
}

// An editor may cancel what is no session, or no longer one, while too much is
// held: the connection goes on, the answer counts, and all that was held comes.
func TestStrayCancelWhileMuchIsHeld(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"unknown": "nobody", "a sub-agent": stuckAgent, "closed": ""} {
		t.Run(name, func(t *testing.T) {
			e, cli, s := stuck(t)
			if id == "" {
				id = e.Open(t.TempDir())
				e.within(acp.AgentMethodSessionClose, `{"sessionId":"`+id+`"}`)
			}
			for range 20 { // the reader of the CLI may be on its way to where it waits
				e.Cancel(id)
				e.within(acp.AgentMethodSessionList, `{}`)
			}
			turn := e.Prompt(s, "2")
			require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
			cli.Release("answered")
			turn.Ends(acp.StopReasonEndTurn)
			drawn := 0
			for _, u := range e.Updates(s) {
				if u.Get("sessionUpdate").Str == "tool_call" && u.Get("toolCallId").Str == fmt.Sprintf("call-%d", drawn) {
					drawn++
				}
			}
			require.Equal(t, stuckCalls, drawn, "all of it, in order")
			e.Prompt(s, "go on").Ends(acp.StopReasonEndTurn)
			e.Leave()
		})
	}
	t.Run("the editor leaves", func(t *testing.T) {
		e, cli, _ := stuck(t)
		e.Cancel("nobody")
		e.Leave()
		requireGone(t, cli.Starts()[0].Pid)
	})
}

// move is something that an editor does of its own accord. Each is answered or
// taken whatever is held.
type move struct {
	name string
	do   func(h *held)
}

// held is an editor with one session of which nothing flows out.
type held struct {
	*editor
	stuck  string // the session
	other  string // one that is free; empty if there is none
	closed string // one that was closed
	dir    string
}

var moves = []move{
	{"cancel of nothing", func(h *held) { h.Cancel("nobody") }},
	{"cancel of a sub-agent", func(h *held) { h.Cancel(stuckAgent) }},
	{"cancel of a closed session", func(h *held) { h.Cancel(h.closed) }},
	{"cancel of a free session", func(h *held) { h.Cancel(h.other) }},
	{"a prompt elsewhere", func(h *held) { h.within(acp.AgentMethodSessionPrompt, promptOf(h.other)) }},
	{"a prompt to nobody", func(h *held) { h.within(acp.AgentMethodSessionPrompt, promptOf("nobody")) }},
	{"a prompt to a sub-agent", func(h *held) { h.within(acp.AgentMethodSessionPrompt, promptOf(stuckAgent)) }},
	{"a prompt without words", func(h *held) { h.within(acp.AgentMethodSessionPrompt, `{}`) }},
	{"a mode", func(h *held) { h.within(acp.AgentMethodSessionSetMode, `{"sessionId":"`+h.stuck+`","modeId":"plan"}`) }},
	{"a mode of a sub-agent", func(h *held) {
		h.within(acp.AgentMethodSessionSetMode, `{"sessionId":"`+stuckAgent+`","modeId":"plan"}`)
	}},
	{"a model", func(h *held) {
		h.within(acp.AgentMethodSessionSetConfigOption, `{"sessionId":"`+h.stuck+`","configId":"model","value":"opus"}`)
	}},
	{"a list", func(h *held) { h.within(acp.AgentMethodSessionList, `{}`) }},
	{"a load of nothing", func(h *held) {
		h.within(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, h.dir))
	}},
	{"a resume of nothing", func(h *held) {
		h.within(acp.AgentMethodSessionResume, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, h.dir))
	}},
	{"a deletion of nothing", func(h *held) { h.within(acp.AgentMethodSessionDelete, `{"sessionId":"`+reopened+`"}`) }},
	{"initialize", func(h *held) {
		h.within(acp.AgentMethodInitialize, `{"protocolVersion":1,"clientCapabilities":{"subagents":{}}}`)
	}},
	{"an unknown method", func(h *held) { h.within("_nobody/knows", `{"sessionId":"`+h.stuck+`"}`) }},
	{"an unknown notification", func(h *held) { _ = h.Conn.Notify(h.T.Context(), "_nobody/knows", object{}) }},
	{"a withdrawal of nothing", func(h *held) { _ = h.Conn.Notify(h.T.Context(), "$/cancel_request", object{"requestId": 77}) }},
	{"another session", func(h *held) {
		h.within(acp.AgentMethodSessionClose, `{"sessionId":"`+h.other+`"}`)
		h.closed, h.other = h.other, h.Open(h.dir)
	}},
}

func promptOf(session string) string {
	return `{"sessionId":"` + session + `","prompt":[{"type":"text","text":"elsewhere"}]}`
}

// ways are how a session goes on, or ends, of which nothing flows out.
var ways = map[string]func(h *held, cli *ct.CLI){
	"an answer": func(h *held, cli *ct.CLI) {
		turn := h.Prompt(h.stuck, "2")
		require.JSONEq(h.T, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
		cli.Release("answered")
		turn.Ends(acp.StopReasonEndTurn)
	},
	"a cancel": func(h *held, cli *ct.CLI) {
		h.Cancel(h.stuck)
		h.Prompt(h.stuck, "go on").Ends(acp.StopReasonEndTurn)
	},
	"a close": func(h *held, _ *ct.CLI) { h.within(acp.AgentMethodSessionClose, `{"sessionId":"`+h.stuck+`"}`) },
	"a load": func(h *held, _ *ct.CLI) {
		h.within(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, h.stuck, h.dir))
	},
	"a deletion":     func(h *held, _ *ct.CLI) { h.within(acp.AgentMethodSessionDelete, `{"sessionId":"`+h.stuck+`"}`) },
	"it just leaves": func(*held, *ct.CLI) {},
}

// Whatever is held, conn's reader returns: every move of the editor is answered or
// taken although nothing of a session flows out, in any order, and what brings it
// to flow again is taken, too.
func TestWhateverIsHeldTheEditorIsRead(t *testing.T) {
	t.Parallel()
	for way, goOn := range ways {
		t.Run(way, func(t *testing.T) {
			e, cli, s := stuck(t)
			h := &held{editor: e, stuck: s, closed: "nobody", dir: t.TempDir()}
			h.other = h.Open(h.dir)
			seed := time.Now().UnixNano()
			random, done := rand.New(rand.NewSource(seed)), []string(nil)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("seed %d: %q", seed, done)
				}
			})
			for _, i := range random.Perm(len(moves)) {
				done = append(done, moves[i].name)
				moves[i].do(h)
			}
			goOn(h, cli)
			h.within(acp.AgentMethodSessionList, `{}`)
			e.Leave()
		})
	}
}

// The same for an editor that writes and does not read: what it writes is taken.
func TestAnEditorThatDoesNotReadIsRead(t *testing.T) {
	t.Parallel()
	e, _, s := stuck(t)
	h := &held{editor: e, stuck: s, dir: t.TempDir()}
	h.other = h.Open(h.dir)
	e.Gate.Close()
	written := make(chan struct{})
	var taken atomic.Int64
	go func() {
		defer close(written)
		for i := range 2000 {
			for _, line := range []string{
				`"method":"session/cancel","params":{"sessionId":"nobody"}`,
				`"method":"session/cancel","params":{"sessionId":"` + stuckAgent + `"}`,
				fmt.Sprintf(`"id":"a%d","method":"session/list","params":{}`, i),
				fmt.Sprintf(`"id":"b%d","method":"session/prompt","params":%s`, i, promptOf("nobody")),
				fmt.Sprintf(`"id":"c%d","method":"session/set_mode","params":{"sessionId":"%s","modeId":"plan"}`, i, s),
			} {
				if _, err := e.Wire.Write([]byte(`{"jsonrpc":"2.0",` + line + "}\n")); err != nil {
					return
				}
				taken.Add(1)
			}
		}
	}()
	for before := int64(-1); ; { // however long all of it takes
		select {
		case <-written:
			e.Leave()
			return
		case <-time.After(acptest.Patience):
		}
		now := taken.Load()
		require.NotEqual(t, before, now, "nothing of the editor is read any more")
		before = now
	}
}
