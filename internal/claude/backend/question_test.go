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
	s := e.ready()
	turn := e.prompt(s, "hi")
	e.asked("Which database?").selects("SQLite")
	e.asked("Which features?").selects("Cache")
	e.asked("Done: Cache").types("Metrics")
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite","Which features?":"Cache, Metrics"}`, answers(cli, "toolu_1"))
	require.Equal(t, "Let me ask. Noted.", e.said(s))
	for id, want := range map[string]string{"toolu_1": "Which database? → SQLite", "toolu_1:2": "Which features? → Cache, Metrics"} {
		tool := e.tool(s, id)
		require.Equal(t, "x", tool["drawn"], "drawn once")
		require.Equal(t, "other", tool["kind"])
		require.Equal(t, "completed", tool["status"])
		require.Contains(t, tool["content"], want)
	}
}

func TestTwoQuestionCallsInOneMessage(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which), ct.Question("toolu_2", many))}))
	s := e.ready()
	turn := e.prompt(s, "hi")
	first := e.asked("Which database?")
	require.Empty(t, e.requests, "one request at a time")
	first.selects("SQLite")
	e.asked("Which features?").types("none")
	turn.ends(acp.StopReasonEndTurn)
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
	s := e.ready()
	turn := e.prompt(s, "hi")
	e.asked("Which database?")
	require.NoError(t, d.Answer(desk.Ref{Session: s, ID: "toolu_1"}, []convert.Answer{{Selected: []string{"SQLite"}}}, "phone"))
	require.Equal(t, desk.Ref{Session: s, ID: "toolu_1"}, <-used)
	second := e.asked("Which features?")
	require.Empty(t, used, "the second is open")
	second.types("none")
	require.Equal(t, desk.Ref{Session: s, ID: "toolu_2"}, <-used)
	e.next().selects("allow")
	require.Equal(t, desk.Ref{Session: s, ID: "toolu_3"}, <-used)
	turn.ends(acp.StopReasonEndTurn)
	require.Empty(t, used)
}

func TestDismissedQuestionWithdrawsItsSiblings(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which), ct.Question("toolu_2", many))}, steps{ct.Text("next")}))
	s := e.ready()
	turn := e.prompt(s, "hi")
	e.next().cancels()
	turn.ends(acp.StopReasonCancelled)
	require.Empty(t, e.requests, "nothing more is asked")
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	require.Len(t, cli.Starts(), 1, "the session goes on in the same process")
	require.Equal(t, "next", e.said(s))
}

func TestSessionCancelWhileAsking(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}, steps{ct.Text("next")}))
	s := e.ready()
	turn := e.prompt(s, "hi")
	r := e.asked("Which database?") // and never answered
	e.cancel(s)
	turn.ends(acp.StopReasonCancelled)
	<-r.withdrawn
	require.Equal(t, "failed", e.tool(s, "toolu_1")["status"])
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	require.Equal(t, "next", e.said(s))
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
						e.initialize(`{"elicitation":{"form":{}}}`)
					}
					s := e.ready()
					turn := e.prompt(s, "hi")
					e.next()
					_, err := e.wire.Write([]byte(fmt.Sprintf(first, s) + "\n" + reply))
					require.NoError(t, err)
					turn.ends(acp.StopReasonCancelled)
					e.leave()
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
	s := e.ready()
	for range 2 {
		turn := e.prompt(s, "hi")
		select {
		case r := <-e.requests:
			r.cancels()
			e.cancel(s)
			turn.ends(acp.StopReasonCancelled)
		case <-turn.done:
			turn.ends(acp.StopReasonEndTurn)
		}
	}
	require.Equal(t, "next", e.said(s))
}

func TestPromptSupersedesAnOpenQuestion(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}, steps{ct.Text("next")}))
	s := e.ready()
	first := e.prompt(s, "hi")
	r := e.asked("Which database?")
	second := e.prompt(s, "forget it, do this")
	first.ends(acp.StopReasonCancelled)
	<-r.withdrawn
	second.ends(acp.StopReasonEndTurn)
	require.Equal(t, []string{"hi", "forget it, do this"}, cli.Prompts())
	require.Equal(t, "next", e.said(s))
}

// Two prompts in a row supersede a question once: the second does not take the
// first along.
func TestTwoPromptsSupersedeAnOpenQuestion(t *testing.T) {
	e, cli := scripted(t, ct.Script{Turns: []ct.Turn{
		{Match: "ask", Steps: steps{ct.Message(ct.Question("toolu_1", which))}},
		{Match: "work", Steps: steps{ct.Text("a")}},
	}})
	s := e.ready()
	for range 20 {
		first := e.prompt(s, "ask")
		e.asked("Which database?")
		second, third := e.prompt(s, "work"), e.prompt(s, "work, too")
		first.ends(acp.StopReasonCancelled)
		second.ends(acp.StopReasonEndTurn)
		third.ends(acp.StopReasonEndTurn)
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
	s := e.ready()
	for range 60 {
		first := e.prompt(s, "ask")
		e.asked("Which database?")
		second := e.prompt(s, "work")
		first.ends(acp.StopReasonCancelled)
		second.ends(acp.StopReasonEndTurn)
	}
	require.Len(t, cli.Prompts(), 120)
}

func TestCLIWithdrawsAQuestion(t *testing.T) {
	// The stand-in gives the question up by itself when it is interrupted, and
	// says so before it ends the turn.
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}, steps{ct.Text("next")}))
	s := e.ready()
	turn := e.prompt(s, "hi")
	r := e.asked("Which database?")
	interrupt(t, cli.Starts()[0].Pid)
	<-r.withdrawn
	turn.ends(acp.StopReasonCancelled)
	require.Empty(t, cli.Reply("toolu_1"), "a withdrawn request gets no reply")
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
}

// Whoever keeps an answer for a question that was withdrawn is told.
func TestReceiptOfAWithdrawnQuestion(t *testing.T) {
	cli := ct.New(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
	d, told := new(desk.Desk), make(chan error, 1)
	defer d.WatchReceipts(func(_ desk.Ref, err error) { told <- err })()
	e := serve(t, backend.Options{Claude: cli.Path, Desk: d})
	turn := e.prompt(e.ready(), "hi")
	r := e.asked("Which database?")
	interrupt(t, cli.Starts()[0].Pid)
	<-r.withdrawn
	turn.ends(acp.StopReasonCancelled)
	require.ErrorContains(t, <-told, "the agent withdrew the request")
}

func TestCLIDiesWhileAsking(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}, steps{ct.Text("next")}))
	s := e.ready()
	turn := e.prompt(s, "hi")
	r := e.asked("Which database?")
	kill(t, cli.Starts()[0].Pid)
	turn.fails("Claude Code was ended by a signal")
	<-r.withdrawn
	require.Equal(t, "failed", e.tool(s, "toolu_1")["status"])
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	require.Equal(t, "next", e.said(s))
}

func TestQuestionThatCannotBeAsked(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", ct.Q("", "H", false, "a", "b")))}))
	s := e.ready()
	e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
	require.Contains(t, string(cli.Reply("toolu_1")), "question 1: question text is required")
	require.NotContains(t, string(cli.Reply("toolu_1")), `"interrupt":true`)
	require.Equal(t, "failed", e.tool(s, "toolu_1")["status"], "the user sees that something was asked and failed")
}

// A question that the CLI turns down by itself is drawn as failed.
func TestQuestionRefusedByTheCLI(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
	s := e.ready()
	e.call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"dontAsk"}`)
	e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
	tool := e.tool(s, "toolu_1")
	require.Equal(t, "failed", tool["status"])
	require.Equal(t, "other", tool["kind"])
	require.Equal(t, "x", tool["drawn"])
}

func TestQuestionAsAForm(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which, many)), ct.Text("ok")}))
	e.initialize(`{"elicitation":{"form":{}}}`)
	s := e.open(t.TempDir())
	turn := e.prompt(s, "hi")
	r := e.asked("requestedSchema")
	require.Equal(t, "elicitation/create", r.method)
	require.Equal(t, s, r.Get("sessionId").Str)
	require.Equal(t, "toolu_1", r.Get("toolCallId").Str)
	r.answer <- object{"action": "accept", "content": object{"question_0": "SQLite", "question_1": []string{"Logs", "Auth"}}}
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite","Which features?":"Auth, Logs"}`, answers(cli, "toolu_1"))
}

func TestFormsNeedMoreThanTheCapability(t *testing.T) {
	for _, caps := range []string{`{"elicitation":{}}`, `{"elicitation":{"form":null}}`, `{"elicitation":{"url":{}}}`} {
		e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
		e.initialize(caps)
		s := e.open(t.TempDir())
		turn := e.prompt(s, "hi")
		r := e.next()
		require.Equal(t, "session/request_permission", r.method, caps)
		r.selects("SQLite")
		turn.ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	}
}

// In the conversation: the prompt ends, the next one is the answer, and the
// turn goes on in it.
func TestQuestionInTheConversation(t *testing.T) {
	cli := ct.New(t, turns(steps{ct.Message(ct.TextBlock("Hm. "), ct.Question("toolu_1", which)), ct.Text("Noted.")}, steps{ct.Text(" Next.")}))
	e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
	s := e.ready()
	turn := e.prompt(s, "hi")
	turn.ends(acp.StopReasonEndTurn)
	require.Equal(t, "toolu_1", turn.resp.Get("_meta.acp-bridge.waitingFor").Str)
	require.Contains(t, e.said(s), "1. PostgreSQL - about PostgreSQL\n2. SQLite - about SQLite")

	again := e.prompt(s, "1,2") // not clear: asked again
	again.ends(acp.StopReasonEndTurn)
	require.Contains(t, e.said(s), "This question takes one answer.")

	answer := e.promptBlocks(s, `[{"type":"text","text":"sqlite"}]`)
	answer.ends(acp.StopReasonEndTurn)
	require.False(t, answer.resp.Get("_meta").Exists())
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	require.Contains(t, e.said(s), "Noted.")
	require.Equal(t, []string{"hi"}, cli.Prompts(), "an answer is not a prompt")
	e.prompt(s, "more").ends(acp.StopReasonEndTurn)
	require.Contains(t, e.said(s), "Noted. Next.")
}

func TestOtherWithoutTextGoesToTheConversation(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", many)), ct.Text("Noted.")}))
	s := e.ready()
	turn := e.prompt(s, "hi")
	e.asked("Which features?").selects("Logs")
	e.asked("Done: Logs").selects("__other__")
	turn.ends(acp.StopReasonEndTurn)
	require.Contains(t, e.said(s), "Picked so far: Logs")
	e.promptBlocks(s, `[{"type":"text","text":"see"},{"type":"resource_link","name":"a","uri":"file:///a.go"},{"type":"image","mimeType":"image/png","data":"aGk="}]`).ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which features?":"Logs, see @/a.go (with a picture that cannot be passed on)"}`, answers(cli, "toolu_1"))
}

func TestParkedQuestion(t *testing.T) {
	park := func(t *testing.T) (*editor, *ct.CLI, string) {
		cli := ct.New(t, turns(steps{ct.Message(ct.Question("toolu_1", which)), ct.Text("Noted.")}, steps{ct.Text("Next.")}))
		e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
		s := e.ready()
		e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
		return e, cli, s
	}
	t.Run("cancel by a word", func(t *testing.T) {
		e, cli, s := park(t)
		e.prompt(s, "cancel").ends(acp.StopReasonCancelled)
		require.Contains(t, string(cli.Reply("toolu_1")), `"interrupt":true`)
		e.prompt(s, "go on").ends(acp.StopReasonEndTurn)
	})
	t.Run("session/cancel", func(t *testing.T) {
		e, cli, s := park(t)
		e.cancel(s)
		e.prompt(s, "an ordinary prompt").ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"hi", "an ordinary prompt"}, cli.Prompts())
		require.Contains(t, e.said(s), "Next.")
		require.Equal(t, "failed", e.tool(s, "toolu_1")["status"])
	})
	t.Run("mode change", func(t *testing.T) {
		e, cli, s := park(t)
		e.call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
		e.prompt(s, "2").ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
	})
	t.Run("session/close", func(t *testing.T) {
		e, _, s := park(t)
		e.call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
	})
	t.Run("the editor leaves", func(t *testing.T) {
		e, cli, _ := park(t)
		e.leave()
		requireGone(t, cli.Starts()[0].Pid)
	})
	t.Run("the CLI dies", func(t *testing.T) {
		e, cli, s := park(t)
		pid := cli.Starts()[0].Pid
		kill(t, pid)
		e.await(s, "failure", func(u gjson.Result) bool { return u.Get("status").Str == "failed" })
		e.prompt(s, "2").fails("Claude Code was ended by a signal")
		require.Equal(t, []string{"hi"}, cli.Prompts(), "the prompt is not sent")
		e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	})
	t.Run("two sessions wait at once", func(t *testing.T) {
		cli := ct.New(t, ct.Script{Turns: []ct.Turn{
			{Match: "one", Steps: steps{ct.Message(ct.Question("toolu_1", which))}},
			{Match: "two", Steps: steps{ct.Message(ct.Question("toolu_2", which))}},
		}})
		e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
		e.initialize(`{}`)
		s1, s2 := e.open(t.TempDir()), e.open(t.TempDir())
		e.prompt(s1, "one").ends(acp.StopReasonEndTurn)
		e.prompt(s2, "two").ends(acp.StopReasonEndTurn)
		e.prompt(s2, "2").ends(acp.StopReasonEndTurn)
		e.prompt(s1, "1").ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"Which database?":"PostgreSQL"}`, answers(cli, "toolu_1"))
		require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_2"))
	})
}

// Fifty sessions with a question each: all are shown, all are answered.
func TestFiftyQuestions(t *testing.T) {
	t.Parallel()
	const n = 50
	e, cli := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which)), ct.Text("ok")}))
	e.initialize(`{}`)
	dir := t.TempDir()
	var sessions []string
	var running []*turn
	for range n {
		s := e.open(dir)
		sessions = append(sessions, s)
		running = append(running, e.prompt(s, "hi"))
	}
	var open []*request
	for range n {
		open = append(open, e.next())
	}
	for _, r := range open {
		r.selects("SQLite")
	}
	for i, turn := range running {
		turn.ends(acp.StopReasonEndTurn)
		require.Equal(t, "ok", e.said(sessions[i]))
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
	s := e.ready()
	turn := e.prompt(s, "hi")
	for range 3 { // the first, and two rounds of the second
		r := e.next()
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
		r.selects(pick)
	}
	r := e.next()
	require.Equal(t, "execute", r.Get("toolCall.kind").Str)
	require.False(t, r.Get("_meta.claudeCode.questionType").Exists(), "a permission is no question either")
	require.Equal(t, "allow=Allow|reject=Reject", r.options())
	r.selects("allow")
	turn.ends(acp.StopReasonEndTurn)
	reply := gjson.ParseBytes(cli.Reply("toolu_1"))
	require.False(t, reply.Get("updatedPermissions").Exists(), "an answer allows nothing")
	require.JSONEq(t, `{"Run `+"`rm -rf /`"+`?":"Allow","Edit files?":"Allow"}`, reply.Get("updatedInput.answers").Raw)
	for _, u := range e.updates(s) {
		if id := u.Get("toolCallId").Str; strings.HasPrefix(id, "toolu_1") && u.Get("kind").Exists() {
			require.Equal(t, "other", u.Get("kind").Str)
		}
	}
}
