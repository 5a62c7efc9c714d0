package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

// atADesk is a window whose requests are at a desk, too, in a turn of an agent of
// that name.
func atADesk(t *testing.T, agent string) (*window, *desk.Desk, <-chan desk.Entry) {
	d, entries := new(desk.Desk), make(chan desk.Entry, 100)
	d.Watch(func(e desk.Entry) { entries <- e })
	w := openWith(t, client.Options{Desk: d, Dir: "/srv/shop"}, func(method string, _ json.RawMessage) any {
		if method != acp.AgentMethodInitialize {
			return nil
		}
		return json.RawMessage(fmt.Sprintf(`{"protocolVersion":1,"agentInfo":{"name":%q,"title":"The Agent","version":"7"}}`, agent))
	})
	w.sees(">")
	w.prompted()
	return w, d, entries
}

// quits ends the window.
func (w *window) quits() {
	w.types("\x03\x03")
	require.NoError(w.t, acptest.Next(w.t, w.done))
}

const barePermission = `{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[
	{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"always","name":"Allow","kind":"allow_always"},
	{"optionId":"no","name":"Reject","kind":"reject_once"}]}`

// People elsewhere are told who asks, what was said and all that the agent has shown
// of a tool call. Their answer is the one of that option.
func TestPeopleElsewhereSeeWhatIsAsked(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		label, note, reply string
	}{
		"acp-bridge": {"Reject", "use make check", `{"outcome":{"outcome":"selected","optionId":"no","_meta":{"customText":"use make check"}}}`},
		"bot":        {"Allow (2)", "", `{"outcome":{"outcome":"selected","optionId":"always"}}`},
	} {
		w, d, entries := atADesk(t, name)
		w.updates(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I run the tests."}}`)
		w.updates(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"make","kind":"execute","rawInput":{"command":"make test\nrm -rf build"}}`)
		reply := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, barePermission)
		e := acptest.Next(t, entries)
		require.Equal(t, desk.Permission, e.Kind)
		require.Equal(t, "The Agent", e.Agent)
		require.Equal(t, "/srv/shop", e.Dir)
		told := e.About.Told()
		require.Equal(t, []string{"7", "go", "I run the tests."}, []string{told.Model, told.Prompt, told.Said})
		require.Equal(t, "make", e.Call.Questions[0].Text)
		require.JSONEq(t, `{"command":"make test\nrm -rf build"}`, string(e.Call.Input))
		require.Equal(t, []string{"allow_once", "allow_always", "reject_once"}, e.About.Picks)
		require.Equal(t, name != "acp-bridge", e.About.NoReason, "a reason that nobody reads is not asked for")
		require.Error(t, d.Answer(e.Name, []convert.Answer{{Text: "yes"}}, "Bob"))
		require.NoError(t, d.Answer(e.Name, []convert.Answer{{Selected: []string{want.label}, Note: want.note}}, "Bob"))
		require.JSONEq(t, want.reply, acptest.Next(t, reply))
		w.sees("Answered elsewhere: " + want.label)
		w.quits()
	}
}

// Who answers elsewhere is told when the agent has the answer, and nobody of one that was
// given here.
func TestAnAnswerFromElsewhereHasAReceipt(t *testing.T) {
	t.Parallel()
	w, d, entries := atADesk(t, "bot")
	receipts := make(chan string, 10)
	d.WatchReceipts(func(name string, err error) {
		require.NoError(t, err)
		receipts <- name
	})
	w.updates(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","rawInput":{"command":"ls"}}`)
	reply := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, barePermission)
	w.sees("3. Reject")
	w.rests()
	here := acptest.Next(t, entries)
	w.types("3")
	require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"no"}}`, acptest.Next(t, reply))
	w.settled(entries)
	reply = w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, barePermission)
	there := acptest.Next(t, entries)
	require.NoError(t, d.Answer(there.Name, []convert.Answer{{Selected: []string{"Reject"}}}, "Bob"))
	acptest.Next(t, reply)
	got := acptest.Next(t, receipts)
	require.Equal(t, there.Name, got)
	require.NotEqual(t, here.Name, got)
	w.quits()
}

// A permission for something that the agent has changed since is another one.
func TestAnotherPermissionElsewhere(t *testing.T) {
	t.Parallel()
	w, d, entries := atADesk(t, "bot")
	w.updates(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","rawInput":{"command":"ls"}}`)
	reply := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, barePermission)
	first := acptest.Next(t, entries)
	w.updates(`{"sessionUpdate":"tool_call_update","toolCallId":"t","rawInput":{"command":"rm -rf ~"}}`)
	w.settled(entries)
	require.Error(t, d.Answer(first.Name, []convert.Answer{{Selected: []string{"Allow"}}}, "Bob"), "they have not seen it")
	second := acptest.Next(t, entries)
	require.JSONEq(t, `{"command":"rm -rf ~"}`, string(second.Call.Input))
	require.NotEqual(t, first.Name, second.Name, "who answers by its name means the first")
	require.NoError(t, d.Answer(second.Name, []convert.Answer{{Selected: []string{"Reject"}}}, "Bob"))
	require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"no"}}`, acptest.Next(t, reply))
	w.quits()
}

// Of two permissions for one tool call each is for what it says itself, here and
// elsewhere.
func TestTwoPermissionsForOneToolCall(t *testing.T) {
	t.Parallel()
	const request = `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"%[1]s","rawInput":{"command":"%[1]s"}},"options":[
		{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}`
	w, d, entries := atADesk(t, "bot")
	first := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, fmt.Sprintf(request, "rm -rf ~"))
	w.sees("2. Reject")
	one := acptest.Next(t, entries)
	second := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, fmt.Sprintf(request, "ls"))
	two := acptest.Next(t, entries)
	for ; two.Name == one.Name; two = acptest.Next(t, entries) {
	}
	require.JSONEq(t, `{"command":"rm -rf ~"}`, string(one.Call.Input))
	require.JSONEq(t, `{"command":"ls"}`, string(two.Call.Input))
	require.NoError(t, d.Answer(two.Name, []convert.Answer{{Selected: []string{"Allow"}}}, "Bob"))
	require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"yes"}}`, acptest.Next(t, second))
	require.NoError(t, d.Answer(one.Name, []convert.Answer{{Selected: []string{"Reject"}}}, "Bob"))
	require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"no"}}`, acptest.Next(t, first))
	w.quits()
}

// A terminal that hangs up is no answer: not to the agent, and not for people elsewhere.
// A question can wait for the session to go on; a permission cannot.
func TestHangUpIsNobodysChoice(t *testing.T) {
	t.Parallel()
	for method, c := range map[string]struct {
		params, shown string
		end           convert.Status
	}{
		acp.ClientMethodSessionRequestPermission: {permission, "2. Reject", convert.Failed},
		acp.ClientMethodElicitationCreate:        {form, "How many?", convert.Disconnected},
	} {
		w, _, entries := atADesk(t, "bot")
		reply := w.asks(t.Context(), method, c.params)
		acptest.Next(t, entries)
		w.sees(c.shown)
		require.NoError(t, w.ptmx.Close())
		require.EqualError(t, acptest.Next(t, w.done), "the terminal hung up")
		e := w.settled(entries)
		require.Equal(t, c.end, e.Outcome.Status)
		require.Empty(t, e.By)
		w.hang()
		require.NotContains(t, acptest.Next(t, reply), "outcome")
	}
}

// settled waits for the end of something at the desk.
func (w *window) settled(entries <-chan desk.Entry) desk.Entry {
	w.t.Helper()
	e := acptest.Next(w.t, entries)
	for ; e.State != desk.Settled; e = acptest.Next(w.t, entries) {
	}
	return e
}

// What the agent takes back is open nowhere: an answer to it would be lost. So is what it
// has changed.
func TestTakenBackElsewhere(t *testing.T) {
	t.Parallel()
	for method, params := range map[string]string{acp.ClientMethodSessionRequestPermission: permission, acp.ClientMethodElicitationCreate: form} {
		w, _, entries := atADesk(t, "bot")
		ctx, takeBack := context.WithCancel(t.Context())
		w.asks(ctx, method, params)
		acptest.Next(t, entries)
		takeBack()
		w.sees("The agent withdrew its question")
		e := w.settled(entries)
		require.Equal(t, convert.Failed, e.Outcome.Status, "a link leaves open what is disconnected")
		require.Equal(t, "The agent took it back", e.Outcome.Reason)
		w.quits()
	}
	w, _, entries := atADesk(t, "bot")
	w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, permission)
	acptest.Next(t, entries)
	w.updates(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"make clean"}`)
	require.Equal(t, convert.Failed, w.settled(entries).Outcome.Status)
	w.quits()
}

// Who dismisses one of several has dismissed that one.
func TestDismissedElsewhereAlone(t *testing.T) {
	t.Parallel()
	w, d, entries := atADesk(t, "bot")
	const form = `{"mode":"form","sessionId":"s","message":"%s","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}`
	first := w.asks(t.Context(), acp.ClientMethodElicitationCreate, fmt.Sprintf(form, "Which one?"))
	one := acptest.Next(t, entries)
	second := w.asks(t.Context(), acp.ClientMethodElicitationCreate, fmt.Sprintf(form, "Which two?"))
	two := acptest.Next(t, entries)
	require.NotEqual(t, one.Call.ID, two.Call.ID)
	require.NoError(t, d.Cancel(one.Name, "Bob"))
	require.JSONEq(t, `{"action":"cancel"}`, acptest.Next(t, first))
	require.NoError(t, d.Answer(two.Name, []convert.Answer{{Text: "this"}}, "Bob"))
	require.JSONEq(t, `{"action":"accept","content":{"n":"this"}}`, acptest.Next(t, second))
	w.quits()
}

// What people elsewhere would not see all of, and what must not be kept, is asked
// here only.
func TestAskedHereOnly(t *testing.T) {
	t.Parallel()
	const secret = `{"mode":"form","sessionId":"s","message":"Log in","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}},"required":["password"]}}`
	for name, c := range map[string]struct{ tool, method, params, shown, keys, reply string }{
		"a cut title": {`{"sessionUpdate":"tool_call","toolCallId":"t","title":"make test; rm…"}`,
			acp.ClientMethodSessionRequestPermission, barePermission, "3. Reject", "3", `{"outcome":{"outcome":"selected","optionId":"no"}}`},
		"a picture": {`{"sessionUpdate":"tool_call","toolCallId":"t","title":"look","content":[{"type":"content","content":{"type":"image","data":"","mimeType":"image/png"}}]}`,
			acp.ClientMethodSessionRequestPermission, barePermission, "3. Reject", "3", `{"outcome":{"outcome":"selected","optionId":"no"}}`},
		"a secret": {"", acp.ClientMethodElicitationCreate, secret, "Log in", "hunter22 \r", `{"action":"accept","content":{"password":"hunter22"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w, d, entries := atADesk(t, "bot")
			if c.tool != "" {
				w.updates(c.tool)
			}
			reply := w.asks(t.Context(), c.method, c.params)
			w.sees(c.shown)
			keys := strings.Split(c.keys, " ")
			w.presses(keys[:len(keys)-1]...)
			require.JSONEq(t, c.reply, w.insists(keys[len(keys)-1], reply))
			require.Empty(t, d.List())
			require.Empty(t, entries)
			w.quits()
			w.mu.Lock()
			require.NotContains(t, w.out.String(), "hunter22", "neither on the screen nor in what stays")
			w.mu.Unlock()
		})
	}
}
