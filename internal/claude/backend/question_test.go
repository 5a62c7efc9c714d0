package backend_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

var (
	which = ct.Q("Which database?", "Database", false, "PostgreSQL", "SQLite")
	many  = ct.Q("Which features?", "Features", true, "Auth", "Cache", "Logs")
)

// answers is what the agent got for a question call.
func answers(cli *ct.CLI, id string) string {
	return gjson.GetBytes(cli.AwaitReply(id), "updatedInput.answers").Raw
}

func TestQuestion(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.TextBlock("Let me ask. "), ct.Question("toolu_1", which, many)), ct.Text("Noted.")}))
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	e.Asked("Which database?").Selects("SQLite")
	e.Asked("Which features?").Selects("Cache")
	e.Asked("Done: Cache").Types("Metrics")
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite","Which features?":"Cache, Metrics"}`, answers(cli, "toolu_1"))
	require.Equal(t, "Let me ask. Noted.", e.Said(s))
	for id, want := range map[string]string{"toolu_1": "Which database? → SQLite", "toolu_1:2": "Which features? → Cache, Metrics"} {
		tool := e.Tool(s, id)
		require.Equal(t, "x", tool["drawn"], "drawn once")
		require.Equal(t, "other", tool["kind"])
		require.Equal(t, "completed", tool["status"])
		require.Contains(t, tool["content"], want)
	}
}

func TestTwoQuestionCallsInOneMessage(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which), ct.Question("toolu_2", many))}))
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	first := e.Asked("Which database?")
	require.Empty(t, e.Requests, "one request at a time")
	first.Selects("SQLite")
	e.Asked("Which features?").Types("none")
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	require.JSONEq(t, `{"Which features?":"none"}`, answers(cli, "toolu_2"))
}

// Whoever watches is told of each call that Claude Code has its answer, and of no other.
func TestUsedIsToldOfOneCall(t *testing.T) {
	d := new(desk.Desk)
	used := make(chan desk.Ref, 10)
	d.WatchReceipts(func(r desk.Ref, err error) { r.Revision = 0; used <- r })
	script := turns(steps{ct.Message(ct.Question("toolu_1", which), ct.Question("toolu_2", many)), ct.Message(ct.AskTool("toolu_3", "Bash", map[string]any{"command": "ls"}, "a.go", nil))})
	e := serve(t, backend.Options{Claude: ct.New(t, script).Path, Desk: d})
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	e.Asked("Which database?")
	require.NoError(t, d.Answer(desk.Ref{Session: s, ID: "toolu_1"}, []convert.Answer{{Selected: []string{"SQLite"}}}, "phone"))
	require.Equal(t, desk.Ref{Session: s, ID: "toolu_1"}, <-used)
	second := e.Asked("Which features?")
	require.Empty(t, used, "the second is open")
	second.Types("none")
	require.Equal(t, desk.Ref{Session: s, ID: "toolu_2"}, <-used)
	e.Next().Selects("allow")
	require.Equal(t, desk.Ref{Session: s, ID: "toolu_3"}, <-used)
	turn.Ends(acp.StopReasonEndTurn)
	require.Empty(t, used)
}

func TestDismissedQuestionWithdrawsItsSiblings(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which), ct.Question("toolu_2", many))}, steps{ct.Text("next")}))
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	e.Next().Cancels()
	turn.Ends(acp.StopReasonCancelled)
	require.Empty(t, e.Requests, "nothing more is asked")
	e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
	require.Len(t, cli.Starts(), 1, "the session goes on in the same process")
	require.Equal(t, "next", e.Said(s))
}

// A question ends with its turn, whoever ends that: it is withdrawn, shown as failed, and the
// session goes on. What the CLI withdraws has no reply, and whoever keeps an answer is told.
func TestTurnEndsWhileAsking(t *testing.T) {
	for name, how := range map[string]func(e *editor, s string, cli int){
		"session/cancel":       func(e *editor, s string, _ int) { e.Cancel(s) },
		"the CLI withdraws it": func(_ *editor, _ string, cli int) { interrupt(t, cli) },
		"the CLI dies":         func(_ *editor, _ string, cli int) { kill(t, cli) },
		"the next prompt":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			cli := ct.New(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}, steps{ct.Text("next")}))
			d, told := new(desk.Desk), make(chan error, 10)
			defer d.WatchReceipts(func(_ desk.Ref, err error) { told <- err })()
			e := serve(t, backend.Options{Claude: cli.Path, Desk: d})
			s := e.Ready()
			turn := e.Prompt(s, "hi")
			r := e.Asked("Which database?")
			next := func() *acptest.Turn { return e.Prompt(s, "again") }
			if how != nil {
				how(e, s, cli.Starts()[0].Pid)
			} else {
				running := next()
				next = func() *acptest.Turn { return running }
			}
			if name == "the CLI dies" {
				turn.Fails("Claude Code was ended by a signal")
			} else {
				turn.Ends(acp.StopReasonCancelled)
			}
			<-r.Withdrawn
			if name == "the CLI withdraws it" {
				require.ErrorContains(t, <-told, "the agent withdrew the request")
				require.Empty(t, cli.Reply("toolu_1"))
			}
			require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
			next().Ends(acp.StopReasonEndTurn)
			require.Equal(t, []string{"hi", "again"}, cli.Prompts())
			require.Equal(t, "next", e.Said(s))
		})
	}
}

// What the user took back is not answered by what comes behind, in the same
// breath perhaps: an editor that closes its dialogs with a choice does that.
func TestAnswerBehindWhatTookTheQuestionBack(t *testing.T) {
	t.Parallel()
	const chosen = `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"SQLite"}}}` + "\n"
	const filled = `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"question_0":"SQLite"}}}` + "\n"
	for rung, reply := range map[string]string{"permission": chosen, "form": filled} {
		for name, first := range map[string]string{
			"cancel": `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`,
			"prompt": `{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"never mind"}]}}`,
			"close":  `{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":%q}}`,
		} {
			t.Run(rung+"/"+name, func(t *testing.T) {
				for range 5 {
					e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}, steps{ct.Text("next")}))
					if rung == "form" {
						e.Initialize(`{"elicitation":{"form":{}}}`)
					}
					s := e.Ready()
					turn := e.Prompt(s, "hi")
					e.Next()
					_, err := e.Wire.Write([]byte(fmt.Sprintf(first, s) + "\n" + reply))
					require.NoError(t, err)
					turn.Ends(acp.StopReasonCancelled)
					e.Leave()
					for _, l := range cli.Lines() {
						require.NotContains(t, string(l.Raw), "SQLite", "the answer came too late")
					}
				}
			})
		}
	}
}

// agent-shell sends cancelled first and session/cancel a moment later.
func TestCancelledThenSessionCancel(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}, steps{ct.Text("next")}))
	s := e.Ready()
	for range 2 {
		turn := e.Prompt(s, "hi")
		select {
		case r := <-e.Requests:
			r.Cancels()
			e.Cancel(s)
			turn.Ends(acp.StopReasonCancelled)
		case <-turn.Done:
			turn.Ends(acp.StopReasonEndTurn)
		}
	}
	require.Equal(t, "next", e.Said(s))
}

// Two prompts in a row supersede a question once: the second does not take the
// first along.
func TestTwoPromptsSupersedeAnOpenQuestion(t *testing.T) {
	e, cli := scripted(t, ct.Script{Turns: []ct.Turn{
		{Match: "ask", Steps: steps{ct.Message(ct.Question("toolu_1", which))}},
		{Match: "work", Steps: steps{ct.Text("a")}},
	}})
	s := e.Ready()
	for range 20 {
		first := e.Prompt(s, "ask")
		e.Asked("Which database?")
		second, third := e.Prompt(s, "work"), e.Prompt(s, "work, too")
		first.Ends(acp.StopReasonCancelled)
		second.Ends(acp.StopReasonEndTurn)
		third.Ends(acp.StopReasonEndTurn)
	}
	require.Len(t, cli.Prompts(), 60)
}

// The interrupt of a superseded turn never hits the prompt behind it.
func TestInterruptDoesNotComeLate(t *testing.T) {
	t.Parallel()
	e, cli := scripted(t, ct.Script{Turns: []ct.Turn{
		{Match: "ask", Steps: steps{ct.Message(ct.Question("toolu_1", which))}},
		{Match: "work", Steps: steps{ct.Text("a"), ct.Sleep(3 * time.Millisecond), ct.Text("b")}},
	}})
	s := e.Ready()
	for range 60 {
		first := e.Prompt(s, "ask")
		e.Asked("Which database?")
		second := e.Prompt(s, "work")
		first.Ends(acp.StopReasonCancelled)
		second.Ends(acp.StopReasonEndTurn)
	}
	require.Len(t, cli.Prompts(), 120)
}

func TestQuestionThatCannotBeAsked(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", ct.Q("", "H", false, "a", "b")))}))
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	require.Contains(t, string(cli.Reply("toolu_1")), "question 1: question text is required")
	require.NotContains(t, string(cli.Reply("toolu_1")), `"interrupt":true`)
	require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"], "the user sees that something was asked and failed")
}

// A question that the CLI turns down by itself is drawn as failed.
func TestQuestionRefusedByTheCLI(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
	s := e.Ready()
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"dontAsk"}`)
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	tool := e.Tool(s, "toolu_1")
	require.Equal(t, "failed", tool["status"])
	require.Equal(t, "other", tool["kind"])
	require.Equal(t, "x", tool["drawn"])
}

func TestQuestionAsAForm(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which, many)), ct.Text("ok")}))
	e.Initialize(`{"elicitation":{"form":{}}}`)
	s := e.Open(t.TempDir())
	turn := e.Prompt(s, "hi")
	r := e.Asked("requestedSchema")
	require.Equal(t, "elicitation/create", r.Method)
	require.Equal(t, s, r.Get("sessionId").Str)
	require.Equal(t, "toolu_1", r.Get("toolCallId").Str)
	r.Answer <- object{"action": "accept", "content": object{"question_0": "SQLite", "question_1": []string{"Logs", "Auth"}}}
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite","Which features?":"Auth, Logs"}`, answers(cli, "toolu_1"))
}

func TestFormsNeedMoreThanTheCapability(t *testing.T) {
	for _, caps := range []string{`{"elicitation":{}}`, `{"elicitation":{"form":null}}`, `{"elicitation":{"url":{}}}`} {
		e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
		e.Initialize(caps)
		s := e.Open(t.TempDir())
		turn := e.Prompt(s, "hi")
		r := e.Next()
		require.Equal(t, "session/request_permission", r.Method, caps)
		r.Selects("SQLite")
		turn.Ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	}
}

// In the conversation: the prompt ends, the next one is the answer, and the
// turn goes on in it.
func TestQuestionInTheConversation(t *testing.T) {
	cli := ct.New(t, turns(steps{ct.Message(ct.TextBlock("Hm. "), ct.Question("toolu_1", which)), ct.Text("Noted.")}, steps{ct.Text(" Next.")}))
	e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "toolu_1", turn.Resp.Get("_meta.acp-bridge.waitingFor").Str)
	require.Contains(t, e.Said(s), "1. PostgreSQL - about PostgreSQL\n2. SQLite - about SQLite")

	again := e.Prompt(s, "1,2") // not clear: asked again
	again.Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "This question takes one answer.")

	answer := e.PromptBlocks(s, `[{"type":"text","text":"sqlite"}]`)
	answer.Ends(acp.StopReasonEndTurn)
	require.False(t, answer.Resp.Get("_meta").Exists())
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	require.Contains(t, e.Said(s), "Noted.")
	require.Equal(t, []string{"hi"}, cli.Prompts(), "an answer is not a prompt")
	e.Prompt(s, "more").Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "Noted. Next.")
}

func TestOtherWithoutTextGoesToTheConversation(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", many)), ct.Text("Noted.")}))
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	e.Asked("Which features?").Selects("Logs")
	e.Asked("Done: Logs").Selects("__other__")
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "Picked so far: Logs")
	e.PromptBlocks(s, `[{"type":"text","text":"see"},{"type":"resource_link","name":"a","uri":"file:///a.go"},{"type":"image","mimeType":"image/png","data":"aGk="}]`).Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which features?":"Logs, see @/a.go (with a picture that cannot be passed on)"}`, answers(cli, "toolu_1"))
}

func TestParkedQuestion(t *testing.T) {
	park := func(t *testing.T) (*editor, *ct.CLI, string) {
		cli := ct.New(t, turns(steps{ct.Message(ct.Question("toolu_1", which)), ct.Text("Noted.")}, steps{ct.Text("Next.")}))
		e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
		s := e.Ready()
		e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
		return e, cli, s
	}
	t.Run("cancel by a word", func(t *testing.T) {
		e, cli, s := park(t)
		e.Prompt(s, "cancel").Ends(acp.StopReasonCancelled)
		require.Contains(t, string(cli.Reply("toolu_1")), `"interrupt":true`)
		e.Prompt(s, "go on").Ends(acp.StopReasonEndTurn)
	})
	t.Run("session/cancel", func(t *testing.T) {
		e, cli, s := park(t)
		e.Cancel(s)
		e.Prompt(s, "an ordinary prompt").Ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"hi", "an ordinary prompt"}, cli.Prompts())
		require.Contains(t, e.Said(s), "Next.")
		require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
	})
	t.Run("mode change", func(t *testing.T) {
		e, cli, s := park(t)
		e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
		e.Prompt(s, "2").Ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	})
	t.Run("session/close", func(t *testing.T) {
		e, _, s := park(t)
		e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
	})
	t.Run("the editor leaves", func(t *testing.T) {
		e, cli, _ := park(t)
		e.Leave()
		requireGone(t, cli.Starts()[0].Pid)
	})
	t.Run("the CLI dies", func(t *testing.T) {
		e, cli, s := park(t)
		pid := cli.Starts()[0].Pid
		kill(t, pid)
		e.Await(s, "failure", func(u gjson.Result) bool { return u.Get("status").Str == "failed" })
		e.Prompt(s, "2").Fails("Claude Code was ended by a signal")
		require.Equal(t, []string{"hi"}, cli.Prompts(), "the prompt is not sent")
		e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
	})
	t.Run("two sessions wait at once", func(t *testing.T) {
		cli := ct.New(t, ct.Script{Turns: []ct.Turn{
			{Match: "one", Steps: steps{ct.Message(ct.Question("toolu_1", which))}},
			{Match: "two", Steps: steps{ct.Message(ct.Question("toolu_2", which))}},
		}})
		e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
		e.Initialize(`{}`)
		s1, s2 := e.Open(t.TempDir()), e.Open(t.TempDir())
		e.Prompt(s1, "one").Ends(acp.StopReasonEndTurn)
		e.Prompt(s2, "two").Ends(acp.StopReasonEndTurn)
		e.Prompt(s2, "2").Ends(acp.StopReasonEndTurn)
		e.Prompt(s1, "1").Ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"Which database?":"PostgreSQL"}`, answers(cli, "toolu_1"))
		require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_2"))
	})
}

// Fifty sessions with a question each: all are shown, all are answered.
func TestFiftyQuestions(t *testing.T) {
	t.Parallel()
	const n = 50
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which)), ct.Text("ok")}))
	e.Initialize(`{}`)
	dir := t.TempDir()
	var sessions []string
	var running []*acptest.Turn
	for range n {
		s := e.Open(dir)
		sessions = append(sessions, s)
		running = append(running, e.Prompt(s, "hi"))
	}
	var open []*acptest.Request
	for range n {
		open = append(open, e.Next())
	}
	for _, r := range open {
		r.Selects("SQLite")
	}
	for i, turn := range running {
		turn.Ends(acp.StopReasonEndTurn)
		require.Equal(t, "ok", e.Said(sessions[i]))
	}
	require.Len(t, cli.Prompts(), n)
}

// A question cannot be mistaken for a tool permission, whatever the model
// writes into it: its kind is other, its options are its labels and ours, each
// for once, and it says what it is. Answering it allows nothing.
func TestQuestionIsNoToolPermission(t *testing.T) {
	labels := []string{"Allow", "Always allow Bash(rm -rf /)", "allow_always", "reject"}
	rows := []map[string]any{
		ct.Q("Run `rm -rf /`?", "Bash", false, labels...),
		ct.Q("Edit files?", "execute", true, labels...),
	}
	rows[0]["kind"], rows[0]["permission_suggestions"] = "execute", []object{{"type": "setMode", "mode": "bypassPermissions"}}
	e, cli := scripted(t, turns(steps{
		ct.Message(ct.Question("toolu_1", rows...)),
		ct.Message(ct.AskTool("toolu_2", "Bash", object{"command": "ls", "_meta": object{"claudeCode": object{"questionType": "askUserQuestion"}}}, "", nil)),
	}))
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	for range 3 { // the first, and two rounds of the second
		r := e.Next()
		require.Equal(t, "other", r.Get("toolCall.kind").Str)
		require.Equal(t, "askUserQuestion", r.Get("_meta.claudeCode.questionType").Str)
		pick := ""
		for _, o := range r.Get("options").Array() {
			require.Equal(t, "allow_once", o.Get("kind").Str)
			id := o.Get("optionId").Str
			require.Contains(t, append([]string{"__other__", "__done__"}, labels...), id)
			if pick == "" {
				pick = id
			}
		}
		r.Selects(pick)
	}
	r := e.Next()
	require.Equal(t, "execute", r.Get("toolCall.kind").Str)
	require.False(t, r.Get("_meta.claudeCode.questionType").Exists(), "a permission is no question either")
	require.Equal(t, "allow=Allow|reject=Reject", r.Options())
	r.Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
	reply := gjson.ParseBytes(cli.Reply("toolu_1"))
	require.False(t, reply.Get("updatedPermissions").Exists(), "an answer allows nothing")
	require.JSONEq(t, `{"Run `+"`rm -rf /`"+`?":"Allow","Edit files?":"Allow"}`, reply.Get("updatedInput.answers").Raw)
	for _, u := range e.Updates(s) {
		if id := u.Get("toolCallId").Str; strings.HasPrefix(id, "toolu_1") && u.Get("kind").Exists() {
			require.Equal(t, "other", u.Get("kind").Str)
		}
	}
}
