package backend_test

import (
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
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
					acptest.Must(e.Wire.Write([]byte(fmt.Sprintf(first, s) + "\n" + reply)))
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
