package proxy

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

const mayRun = `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"Run make","kind":"execute","status":"pending","rawInput":{"command":"make"}},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}`

// permitted is an agent that works on a prompt, with an editor, and people at a desk.
type permitted struct {
	*proxied
	desk    *desk.Desk
	entries chan desk.Entry
}

func withDesk(t *testing.T, o Options) *permitted {
	o.Desk = new(desk.Desk)
	p := &permitted{start(t, o), o.Desk, make(chan desk.Entry, 1000)}
	t.Cleanup(o.Desk.Watch(func(e desk.Entry) { p.entries <- e }))
	p.initialize(noForms)
	p.prompt("p1", "go")
	p.agent.until("session/prompt")
	return p
}

// until waits for an entry of the desk in this state.
func (p *permitted) until(state desk.State) desk.Entry {
	p.Helper()
	for {
		select {
		case e := <-p.entries:
			if e.State == state {
				return e
			}
		case <-time.After(patience):
			require.Fail(p, "nothing happens at the desk", state)
		}
	}
}

// asks has the agent ask for a permission that the editor shows as it is written.
func (p *permitted) asks(request string) desk.Entry {
	p.Helper()
	p.agent.send(request)
	require.Equal(p, request, p.editor.until("session/request_permission").Raw)
	return p.until(desk.Asking)
}

func refOf(e desk.Entry) desk.Ref {
	return desk.Ref{Session: e.Call.Session, ID: e.Call.ID, Revision: e.Revision}
}

func pick(label string) []convert.Answer { return []convert.Answer{{Selected: []string{label}}} }

// mark is behind all that its sender said before.
const mark = `{"jsonrpc":"2.0","method":"x/sync"}`

const editorAllows = `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"once"},"x":1}}`

// A permission is at the desk as the editor shows it. The editor's reply passes as it
// is written, and takes it off the desk.
func TestPermitEditorFirst(t *testing.T) {
	p := withDesk(t, Options{})
	e := p.asks(mayRun)
	require.Equal(t, desk.Permission, e.Kind)
	require.Equal(t, "Run make", e.Call.Questions[0].Text)
	require.Equal(t, []convert.Option{{Label: "Allow"}, {Label: "Always"}, {Label: "Reject"}}, e.Call.Questions[0].Options)
	require.Equal(t, []string{"allow_once", "allow_always", "reject_once"}, e.About.Picks)
	require.Equal(t, "execute", e.About.Kind)
	require.JSONEq(t, `{"command":"make"}`, string(e.Call.Input))
	require.False(t, e.Again)
	p.editor.send(editorAllows)
	require.Equal(t, editorAllows, p.agent.next().Raw)
	end := p.until(desk.Settled)
	require.Equal(t, pick("Allow"), end.Outcome.Answers)
	require.Equal(t, "editor", end.By)
	require.ErrorIs(t, p.desk.Answer(refOf(e), pick("Reject"), "phone"), desk.ErrSettled)
	p.agent.send(chunk("on"))
	require.Equal(t, "on", p.editor.said())
	require.True(t, p.agent.quiet())
}

// What somebody at the desk picks is one of the agent's own options. The editor is
// told, and what it says later goes nowhere.
func TestPermitDeskFirst(t *testing.T) {
	for label, result := range map[string]string{
		"Allow":  `{"outcome":{"outcome":"selected","optionId":"once"}}`,
		"Always": `{"outcome":{"outcome":"selected","optionId":"always"}}`,
		"Reject": `{"outcome":{"outcome":"selected","optionId":"no"}}`,
		"":       `{"outcome":{"outcome":"cancelled"}}`,
	} {
		p := withDesk(t, Options{})
		e := p.asks(mayRun)
		for _, bad := range [][]convert.Answer{pick("Yes"), {{Text: "Allow"}}, {{Selected: []string{"Allow", "Always"}}}, nil} {
			require.Error(t, p.desk.Answer(refOf(e), bad, "phone"))
		}
		if label == "" {
			require.NoError(t, p.desk.Cancel(refOf(e), "phone"))
		} else {
			require.NoError(t, p.desk.Answer(refOf(e), pick(label), "phone"))
		}
		require.Equal(t, `{"jsonrpc":"2.0","id":7,"result":`+result+`}`, p.agent.next().Raw)
		outcome := "answered"
		if label == "" {
			outcome = "cancelled"
		}
		require.JSONEq(t, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7,"_meta":{"acp-bridge":{"settled":{"outcome":"`+outcome+`","by":"phone"}}}}}`, p.editor.next().Raw)
		p.editor.send(editorAllows)
		p.editor.send(mark)
		require.Equal(t, mark, p.agent.next().Raw, "the editor's answer came too late")
	}
}

// An editor that tells its user of $/cancel_request, and needs none, gets none.
func TestPermitDeskFirstUntold(t *testing.T) {
	p := withDesk(t, Options{})
	p.editor.send(`{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"Agentic.nvim","version":"1"}}}`)
	p.agent.result(p.agent.until("initialize"), `{"protocolVersion":1}`)
	p.editor.reply()
	require.NoError(t, p.desk.Answer(refOf(p.asks(mayRun)), pick("Allow"), "phone"))
	p.agent.next()
	p.agent.send(mark)
	require.Equal(t, mark, p.editor.next().Raw)
	p.editor.send(editorAllows, mark)
	require.Equal(t, mark, p.agent.next().Raw, "the editor's answer came too late")
}

// A reason goes along in the way in which editors send one, to an agent that is known to
// read it. For others it would be lost: whoever gives it is told.
func TestPermitNote(t *testing.T) {
	for agent, takes := range map[string]bool{"acp-bridge": true, "other": false} {
		p := withDesk(t, Options{})
		p.editor.send(`{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":1}}`)
		p.agent.result(p.agent.until("initialize"), `{"protocolVersion":1,"agentInfo":{"name":"`+agent+`","version":"1"}}`)
		p.editor.reply()
		e := p.asks(mayRun)
		err := p.desk.Answer(refOf(e), []convert.Answer{{Selected: []string{"Reject"}, Note: "not on Friday"}}, "phone")
		if !takes {
			require.ErrorIs(t, err, convert.ErrBadAnswer)
			require.ErrorContains(t, err, "takes no words")
			continue
		}
		require.NoError(t, err)
		require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"no","_meta":{"notes":"not on Friday"}}}`, p.agent.next().Get("result").Raw)
	}
}

// Words beside a yes may be a condition, which nobody can check: the agent gets no
// permission, and the editor shows the request again, with what was understood. Beside a
// no they pass.
func TestPermitWithACondition(t *testing.T) {
	const remark = `You allowed it with a condition ("only if git is clean"), which cannot be checked. Allow or reject it.`
	for _, o := range []Options{{}, {Desk: new(desk.Desk)}} {
		for _, words := range []string{
			`{"outcome":{"outcome":"selected","optionId":"always","_meta":{"customText":"only if git is clean"}}}`,
			`{"outcome":{"outcome":"selected","optionId":"once"},"_meta":{"notes":" only if git is clean "}}`,
		} {
			p := initialized(t, o, noForms)
			p.agent.send(mayRun)
			first := p.editor.until("session/request_permission")
			p.editor.result(first, words)
			again := p.editor.until("session/request_permission")
			require.Equal(t, first.Get("id").Raw, again.Get("id").Raw)
			require.Equal(t, remark, again.Get("params.toolCall.content.0.content.text").Str)
			require.Equal(t, first.Get("params.options").Raw, again.Get("params.options").Raw)
			require.True(t, p.agent.quiet(), "the agent has no answer")
			no := `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"no","_meta":{"customText":"it is not"}}}}`
			p.editor.send(no)
			require.Equal(t, no, p.agent.next().Raw)
		}
	}
	// An editor that sends words with every yes gives no permission.
	p := initialized(t, Options{}, noForms)
	p.agent.send(mayRun)
	for range maxConditions {
		p.editor.result(p.editor.until("session/request_permission"), `{"outcome":{"outcome":"selected","optionId":"once","_meta":{"notes":"quickly"}}}`)
	}
	require.Equal(t, "The user gave no permission without a condition, which cannot be checked", p.agent.reply().Get("error.message").Str)
	// Where nothing refuses it is a question, and words may be its answer.
	asks := strings.Replace(mayRun, `"reject_once"`, `"allow_once"`, 1)
	p.agent.send(asks)
	require.Equal(t, asks, p.editor.until("session/request_permission").Raw)
	own := `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"once","_meta":{"customText":"my own"}}}}`
	p.editor.send(own)
	require.Equal(t, own, p.agent.reply().Raw)
}

// Whoever is first at the desk is first for everybody, and the agent gets one answer.
func TestPermitSameMoment(t *testing.T) {
	p := withDesk(t, Options{})
	for range 50 {
		e := p.asks(mayRun)
		done := make(chan error, 1)
		go func() { done <- p.desk.Answer(refOf(e), pick("Reject"), "phone") }()
		p.editor.send(editorAllows)
		got := p.agent.next()
		won := <-done == nil
		require.Equal(t, won, got.Get("result.outcome.optionId").Str == "no", "%s", got.Raw)
		end := p.until(desk.Settled)
		require.Equal(t, won, end.By == "phone")
		p.agent.send(chunk("on")) // the editor may have been told, and no more
		for m := p.editor.next(); m.Get("method").Str != "session/update"; m = p.editor.next() {
			require.Equal(t, "$/cancel_request", m.Get("method").Str)
		}
		p.editor.send(mark) // all that it said before has been read
		require.Equal(t, mark, p.agent.next().Raw)
	}
}

// What ends a permission takes it off the desk, and changes nothing that the editor
// and the agent say to each other.
func TestPermitWithdrawn(t *testing.T) {
	for name, happens := range map[string]func(p *permitted){
		"the agent takes it back": func(p *permitted) {
			line := `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`
			p.agent.send(line)
			require.Equal(p, line, p.editor.next().Raw)
		},
		"the user cancels the turn": func(p *permitted) {
			line := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`
			p.editor.send(line)
			require.Equal(p, line, p.agent.next().Raw)
		},
		"the session is closed": func(p *permitted) {
			p.editor.send(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s1"}}`)
			p.agent.until("session/close")
		},
		"the turn ends": func(p *permitted) {
			p.ends("p1", "end_turn", "p1")
		},
		"the tool call ends": func(p *permitted) {
			p.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"failed"}}}`)
			p.editor.until("session/update")
		},
		"the editor cannot show it": func(p *permitted) {
			line := `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"what?"}}`
			p.editor.send(line)
			require.Equal(p, line, p.agent.next().Raw)
		},
		"the editor makes up an option": func(p *permitted) {
			line := `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"x"}}}`
			p.editor.send(line)
			require.Equal(p, line, p.agent.next().Raw)
		},
		"the agent asks twice under one id": func(p *permitted) {
			second := strings.Replace(mayRun, "make", "make all", 2)
			p.agent.send(second)
			require.Equal(p, second, p.editor.next().Raw)
		},
		"the agent dies":  func(p *permitted) { require.NoError(p, p.agent.w.Close()) },
		"the editor dies": func(p *permitted) { require.NoError(p, p.editor.w.Close()) },
		"the proxy ends":  func(p *permitted) { p.cancel(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			p := withDesk(t, Options{})
			e := p.asks(mayRun)
			happens(p)
			end := p.until(desk.Settled)
			require.Equal(t, convert.Failed, end.Outcome.Status)
			require.Empty(t, end.By, "nobody has answered")
			require.Error(t, p.desk.Answer(refOf(e), pick("Allow"), "phone"))
			require.Empty(t, p.desk.List())
		})
	}
}

// An answer that was there before the cancel is there for the agent before it, too.
func TestPermitAnsweredBeforeCancel(t *testing.T) {
	p := withDesk(t, Options{})
	e := p.asks(mayRun)
	stuck := make(chan struct{})
	stop := p.desk.Watch(func(c desk.Entry) { // whoever waits at the desk is told late
		if c.State == desk.Settled {
			p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
			<-stuck
		}
	})
	defer stop()
	go func() { _ = p.desk.Answer(refOf(e), pick("Always"), "phone") }()
	require.Equal(t, "always", p.agent.next().Get("result.outcome.optionId").Str)
	require.Equal(t, "session/cancel", p.agent.next().Get("method").Str)
	close(stuck)
}

// A permission that is kept back while a question waits in the conversation can be
// answered elsewhere, and then the editor never sees it.
func TestPermitWhileHeld(t *testing.T) {
	p := withDesk(t, Options{First: adapter.Conversation})
	p.agent.send(oneLine(grokAsks))
	p.editor.reply()
	p.until(desk.Asking)
	p.agent.send(chunk("one"), mayRun, chunk("two"), mark)
	require.Equal(t, mark, p.editor.next().Raw, "all before it is kept back")
	require.NoError(t, p.desk.Answer(refOf(p.until(desk.Asking)), pick("Allow"), "phone"))
	require.Equal(t, "once", p.agent.next().Get("result.outcome.optionId").Str)
	p.prompt("p2", "2")
	require.Equal(t, chunk("one"), p.editor.next().Raw)
	require.Equal(t, chunk("two"), p.editor.next().Raw)
}

// A question of the same session waits for no permission, nor does a permission for a
// question: the editor sees all of it when it comes.
func TestPermitBesideQuestions(t *testing.T) {
	p := withDesk(t, Options{})
	p.asks(mayRun)
	p.agent.send(oneLine(grokAsks))
	p.editor.until("session/request_permission")
	p.agent.send(strings.Replace(mayRun, `"id":7`, `"id":8`, 1))
	require.Equal(t, int64(8), p.editor.until("session/request_permission").Get("id").Int())
	for len(p.desk.List()) < 3 {
		p.until(desk.Asking)
	}
}

// What the editor knows of the tool call is at the desk, however it got there; where
// it changes, what was seen is not what is answered.
func TestPermitShape(t *testing.T) {
	update := func(s string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"toolCallId":"t1",` + s + `}}}`
	}
	p := withDesk(t, Options{})
	p.agent.send(update(`"sessionUpdate":"tool_call","title":"Edit","kind":"edit","status":"pending","rawInput":{"a":1},"locations":[{"path":"/w/b.go"}]`),
		update(`"sessionUpdate":"tool_call_update","content":[{"type":"diff","path":"/w/a.go","oldText":"x","newText":"y"},{"type":"content","content":{"type":"text","text":"Because."}}]`))
	e := p.asks(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1"},"options":[{"optionId":"y","name":"","kind":"allow_once"}]}}`)
	require.Equal(t, "Edit", e.Call.Questions[0].Text)
	require.JSONEq(t, `{"a":1}`, string(e.Call.Input))
	require.Equal(t, "edit", e.About.Kind)
	require.Equal(t, "/w/a.go", e.About.Changes[0].Path)
	require.Equal(t, "Because.\n\n/w/b.go", e.About.Text)
	p.agent.send(update(`"sessionUpdate":"tool_call_update","status":"in_progress"`))
	p.agent.send(update(`"sessionUpdate":"tool_call_update","title":"Edit more"`))
	again := p.until(desk.Asking)
	require.Equal(t, "Edit more", again.Call.Questions[0].Text)
	require.Error(t, p.desk.Answer(refOf(e), pick("y"), "phone"))
	require.NoError(t, p.desk.Answer(refOf(again), pick("y"), "phone"))
	require.Equal(t, "y", p.agent.next().Get("result.outcome.optionId").Str)
}

// Of two permissions for one tool call each is at the desk with what it asks for itself,
// and each has its own answer.
func TestPermitsForOneToolCall(t *testing.T) {
	request := func(id int, command string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"%[2]s","rawInput":{"command":"%[2]s"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}`, id, command)
	}
	p := withDesk(t, Options{})
	first := p.asks(request(7, "rm -rf ~"))
	p.agent.send(request(8, "ls"))
	second := p.until(desk.Asking)
	require.JSONEq(t, `{"command":"ls"}`, string(second.Call.Input))
	require.Len(t, p.desk.List(), 2, "what the second one asks for is no news of the first")
	require.NoError(t, p.desk.Answer(refOf(second), pick("Yes"), "phone"))
	reply := p.agent.next()
	require.EqualValues(t, 8, reply.Get("id").Int(), reply.Raw)
	require.JSONEq(t, `{"command":"rm -rf ~"}`, string(first.Call.Input))
	require.NoError(t, p.desk.Cancel(refOf(first), "phone"))
	reply = p.agent.next()
	require.EqualValues(t, 7, reply.Get("id").Int(), reply.Raw)
	require.Empty(t, p.desk.List())
}

// An agent that has written the input as a text, and then asks with less: Kimi.
func TestPermitShapeWritten(t *testing.T) {
	p := withDesk(t, Options{})
	p.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Bash","content":[{"type":"content","content":{"type":"text","text":"{\"command\":\"make a; make"}}]}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","content":[{"type":"content","content":{"type":"text","text":"{\"command\":\"make a; make b\"}"}}]}}}`)
	e := p.asks(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","content":[{"type":"content","content":{"type":"text","text":"Running: make a…"}}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}`)
	require.JSONEq(t, `{"command":"make a; make b"}`, string(e.Call.Input))
	require.Equal(t, "Running: make a…", e.About.Text)
}

// What cannot be shown whole is for the editor alone, and so is what could not be
// answered for sure.
func TestPermitNotElsewhere(t *testing.T) {
	p := withDesk(t, Options{})
	ask := func(call, options string) string {
		return `{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":` + call + `,"options":` + options + `}}`
	}
	const yes = `[{"optionId":"y","name":"Yes","kind":"allow_once"}]`
	for _, line := range []string{
		ask(`{"toolCallId":"a","title":"Run","content":[{"type":"terminal","terminalId":"x"}]}`, yes),
		ask(`{"toolCallId":"b","title":"Run","content":[{"type":"content","content":{"type":"image","data":"","mimeType":"image/png"}}]}`, yes),
		ask(`{"toolCallId":"c","title":"Run","content":[{"type":"hologram","content":{"type":"text","text":"x"}}]}`, yes),
		ask(`{"toolCallId":"d","rawInput":{}}`, yes),
		ask(`{"toolCallId":"dd","title":"Run rm -rf /tmp/a && …"}`, yes),
		ask(`{"toolCallId":"de","title":"Run","content":[{"type":"content","content":{"type":"text","text":"Running: `+"`rm -rf...`"+`"}}]}`, yes),
		ask(`{"toolCallId":"","title":"Run"}`, yes),
		ask(`{"title":"Run"}`, yes),
		ask(`{"toolCallId":"e","title":"Run"}`, `[]`),
		ask(`{"toolCallId":"f","title":"Run"}`, `[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"y","name":"No","kind":"reject_once"}]`),
		ask(`{"toolCallId":"g","title":"Run"}`, `[{"optionId":1,"name":"Yes","kind":"allow_once"}]`),
		ask(`{"toolCallId":"h","title":"Run","rawInput":{"x":"`+strings.Repeat("x", about.MaxShapes)+`"}}`, yes),
		`{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"i","title":"Run"},"options":` + yes + `}}`,
		strings.Replace(ask(`{"toolCallId":"j","title":"Run"}`, yes), `"s1"`, `1`, 1),
	} {
		p.agent.send(line)
		require.Equal(t, line, p.editor.next().Raw)
		require.Empty(t, p.desk.List(), line)
		p.editor.send(`{"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"cancelled"}}}`)
		require.Equal(t, int64(9), p.agent.next().Get("id").Int())
	}
	p.asks(mayRun)
}

// As many as questions are at the desk at a time. Those beyond that are the editor's
// alone, and so are all where there is no desk.
func TestManyPermissionsAreOpen(t *testing.T) {
	t.Parallel()
	for _, d := range []*desk.Desk{nil, {}} {
		p := initialized(t, Options{Desk: d}, noForms)
		ask := func(id int) {
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t%d","title":"Run"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}`, id, id)
			p.agent.send(line)
			require.Equal(t, line, p.editor.next().Raw)
		}
		for id := range maxOpen + 3 {
			ask(id)
		}
		if d == nil {
			continue
		}
		require.Len(t, d.List(), maxOpen)
		p.editor.send(`{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}`)
		require.Equal(t, int64(0), p.agent.next().Get("id").Int())
		ask(maxOpen + 3)
		require.Len(t, d.List(), maxOpen)
	}
}

// An editor that shows no more of a permission than its title has the plan, or the command,
// in the conversation before it is asked to approve it. For others nothing is added.
func TestUnseenPlanAndCommand(t *testing.T) {
	long := "echo " + strings.Repeat("x", 200) + "; rm -rf ~"
	run := strings.NewReplacer(`"command":"make"`, `"command":"`+long+`"`).Replace(mayRun)
	require.Contains(t, run, long)
	plan := `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"Ready to code?","kind":"switch_mode","content":[{"type":"content","content":{"type":"text","text":"1. **do** it"}}]},"options":[{"optionId":"default","name":"Yes","kind":"allow_once"},{"optionId":"plan","name":"No","kind":"reject_once"}]}}`
	for name, seen := range map[string]bool{"zed": true, "CodeCompanion.nvim": false, "vscode-acp-client": false} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{Desk: new(desk.Desk)})
			p.editor.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"` + name + `","version":"1"},"clientCapabilities":{}}}`)
			p.agent.result(p.agent.next(), `{"protocolVersion":1}`)
			require.Equal(t, "init", p.editor.next().Get("id").Str)
			p.agent.send(chunk("Here it is."), plan)
			require.Equal(t, "Here it is.", p.editor.next().Get("params.update.content.text").Str)
			if !seen {
				require.Equal(t, "\n\n1. **do** it\n\n", p.editor.next().Get("params.update.content.text").Str)
			}
			require.Equal(t, plan, p.editor.next().Raw)
			p.agent.send(run)
			if !seen {
				require.Contains(t, p.editor.next().Get("params.update.content.text").Str, long)
			}
			require.Equal(t, run, p.editor.next().Raw)
		})
	}
}

// Of two permissions that were answered elsewhere each is said to be used when the agent
// has that answer.
func TestPermitUsed(t *testing.T) {
	p := withDesk(t, Options{})
	used := make(chan desk.Ref, 10)
	t.Cleanup(p.desk.WatchReceipts(func(r desk.Ref, err error) { require.NoError(t, err); r.Revision = 0; used <- r }))
	one := p.asks(mayRun)
	two := p.asks(strings.NewReplacer(`"id":7`, `"id":8`, `"t1"`, `"t2"`).Replace(mayRun))
	require.NoError(t, p.desk.Answer(refOf(two), pick("Allow"), "phone"))
	require.Equal(t, "8", p.agent.reply().Get("id").Raw)
	require.Equal(t, desk.Ref{Session: "s1", ID: "t2"}, <-used)
	require.Empty(t, used)
	require.NoError(t, p.desk.Answer(refOf(one), pick("Reject"), "phone"))
	require.Equal(t, "7", p.agent.reply().Get("id").Raw)
	require.Equal(t, desk.Ref{Session: "s1", ID: "t1"}, <-used)
}

// An answer from elsewhere to a permission that the agent has taken back at that moment
// reaches nobody, and that is what is said of it.
func TestPermitThatTheAgentTookBack(t *testing.T) {
	d := new(desk.Desk)
	receipts := make(chan error, 1)
	defer d.WatchReceipts(func(_ desk.Ref, err error) { receipts <- err })()
	p := newProxy(t.Context(), io.Discard, io.Discard, Options{Desk: d})
	params := gjson.Get(mayRun, "params")
	p.step(func() { p.permits([]byte("7"), params, p.session("s1").shapes.Ask(params)) }) // it waits for no reply
	require.NoError(t, d.Answer(refOf(d.List()[0]), pick("Allow"), "phone"))
	require.ErrorIs(t, <-receipts, errNotWanted)
}
