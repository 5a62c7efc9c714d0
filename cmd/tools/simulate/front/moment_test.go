package front_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// scene is a simulated editor whose agent works on a prompt. Nothing happens by
// chance.
func scene(t *testing.T) (*sim, *simSession) {
	s := simOf(t, rand.New(rand.NewPCG(1, 1)), nature{caps: "{}"})
	s.newSession()
	o := s.sessions[0]
	o.prompt("do something")
	s.carryAll()
	o.agent.begin()
	s.carryAll()
	return s, o
}

// at calls f once, when something at the desk is in that state, before whoever
// did that goes on.
func (s *sim) at(state desk.State, f func()) {
	done := false
	s.desk.Watch(func(e desk.Entry) {
		if e.State == state && !done {
			done = true
			f()
			time.Sleep(time.Second)
		}
	})
}

// A permission that is given at the moment of a cancel is not used. Whoever closes a
// session, which may be opened again, has cancelled nothing.
func TestPermissionAtTheMomentOfACancel(t *testing.T) {
	for line, want := range map[string]error{`"method":"session/cancel"`: editor.ErrTakenBack, `"id":"x","method":"session/close"`: convert.ErrDisconnected, `"id":"x","method":"session/delete"`: convert.ErrCancelled} {
		synctest.Test(t, func(t *testing.T) {
			s, o := scene(t)
			var got error
			o.agent.out.AskPermission("p", false, convert.SubAgent{}, mayRun("p"), func(_ acp.RequestPermissionResponse, err error) bool { got = err; return true })
			s.carryAll()
			s.at(desk.Settled, func() {
				s.toFront.send(`{"jsonrpc":"2.0",`+line+`,"params":{"sessionId":"`+o.id+`"}}`, o.excuse)
				s.toFront.carry()
			})
			s.requests[0].send(`{"outcome":{"outcome":"selected","optionId":"allow"}}`)
			s.carryAll()
			s.pass(time.Second)
			s.carryAll()
			require.ErrorIs(t, got, want)
			s.finish()
		})
	}
}

// Of a permission that was given elsewhere at the moment of a cancel nobody is told that
// the agent has it, unless it does.
func TestReceiptAtTheMomentOfACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := scene(t)
		var receipts []error
		s.desk.WatchReceipts(func(_ string, err error) { receipts = append(receipts, err) })
		var allowed atomic.Bool
		o.agent.out.AskPermission("p", false, convert.SubAgent{}, mayRun("t1"), func(r acp.RequestPermissionResponse, err error) bool {
			allowed.Store(err == nil && r.Outcome.Selected != nil)
			return true
		})
		s.carryAll()
		s.at(desk.Settled, func() {
			o.cancels()
			s.toFront.carry()
		})
		go func() {
			_ = s.desk.Answer(s.desk.List()[0].Name, []convert.Answer{{Selected: []string{"Allow"}}}, "phone")
		}()
		s.pass(2 * time.Second)
		s.carryAll()
		s.pass(time.Second)
		synctest.Wait()
		require.Len(t, receipts, 1)
		if allowed.Load() { // it was first, and the turn ends after it
			require.NoError(t, receipts[0])
		} else {
			require.ErrorIs(t, receipts[0], editor.ErrTakenBack)
		}
		s.finish()
	})
}

// Two permissions of one tool call that is open are two at the desk, and so are their
// receipts.
func TestReceiptsOfOneToolCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := scene(t)
		var receipts, want []string
		s.desk.WatchReceipts(func(name string, err error) { require.NoError(t, err); receipts = append(receipts, name) })
		for _, id := range []string{"p1", "p2"} {
			o.agent.out.AskPermission(id, false, convert.SubAgent{}, mayRun("t1"), func(acp.RequestPermissionResponse, error) bool { return true })
			s.carryAll()
		}
		for range 2 {
			want = append(want, s.desk.List()[0].Name)
			require.NoError(t, s.desk.Answer(want[len(want)-1], []convert.Answer{{Selected: []string{"Allow"}}}, "phone"))
			s.carryAll()
		}
		s.pass(time.Second)
		synctest.Wait()
		require.Equal(t, want, receipts)
		s.finish()
	})
}

// What goes because the user dismissed something else is not told as the user's no, and
// the turn is not said to be cancelled by them. A sub-agent's question stays, and is asked.
func TestDismissedWithAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := scene(t)
		var errs [2]error // each is set by a goroutine of its own
		for i, id := range []string{"p1", "p2"} {
			o.agent.out.AskPermission(id, false, convert.SubAgent{}, mayRun(acp.ToolCallId(id)), func(_ acp.RequestPermissionResponse, err error) bool {
				errs[i] = err
				return true
			})
			s.carryAll()
		}
		var got convert.Outcome
		o.agent.out.AskQuestion("q", false, convert.Call{ID: "q", Questions: []convert.Question{{Text: "question r1.0?"}}},
			func(o convert.Outcome) bool { got = o; return true })
		s.carryAll()
		var answered convert.Outcome
		o.agent.out.AskQuestion("sub", true, convert.Call{ID: "sub", SubAgent: convert.SubAgent{Parent: "task"}, Questions: []convert.Question{{Text: "question r1.1?", Options: []convert.Option{{Label: "Yes"}}}}},
			func(o convert.Outcome) bool { answered = o; return true })
		s.carryAll()
		s.requests[0].send(`{"outcome":{"outcome":"cancelled"}}`)
		s.carryAll()
		s.pass(time.Second)
		s.carryAll()
		synctest.Wait()
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], life.ErrWithAnother)
		require.Equal(t, life.WithAnother, got)
		require.Len(t, s.requests, 1)
		s.requests[0].send(`{"outcome":{"outcome":"selected","optionId":"Yes"}}`)
		s.carryAll()
		synctest.Wait()
		require.Equal(t, []convert.Answer{{Selected: []string{"Yes"}}}, answered.Answers)
		s.finish()
	})
}

func mayRun(tool acp.ToolCallId) acp.RequestPermissionRequest {
	return acp.RequestPermissionRequest{
		ToolCall: acp.ToolCallUpdate{ToolCallId: tool, Title: acp.Ptr("permission r1")},
		Options:  []acp.PermissionOption{{OptionId: "allow", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}},
	}
}

// An answer that arrived counts, also if a cancel comes at the same moment: it
// was given before.
func TestAnswerAtTheMomentOfACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := scene(t)
		var got convert.Outcome
		o.agent.out.AskQuestion("q", false, convert.Call{ID: "q", Questions: []convert.Question{{Text: "question r1.0?", Options: []convert.Option{{Label: "r1.0-A"}, {Label: "r1.0-B"}}}}}, func(o convert.Outcome) bool { got = o; return true })
		s.carryAll()
		s.at(desk.Settled, func() {
			o.cancels()
			s.toFront.carry()
		})
		s.requests[0].send(`{"outcome":{"outcome":"selected","optionId":"r1.0-B"}}`)
		s.carryAll()
		s.pass(time.Second)
		s.carryAll()
		require.Equal(t, convert.Answered, got.Status)
		require.Equal(t, []string{"r1.0-B"}, got.Answers[0].Selected)
		s.finish()
	})
}

// A question that is not shown, because words for another one that is gone were
// there before, is not told as the user's no.
func TestNotAskedIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simOf(t, rand.New(rand.NewPCG(1, 1)), nature{caps: "{}", first: adapter.Conversation})
		s.newSession()
		o := s.sessions[0]
		o.prompt("do something")
		s.carryAll()
		o.agent.begin()
		got := map[string]convert.Outcome{}
		ask := func(id string) {
			o.agent.out.AskQuestion(id, false, convert.Call{ID: id, Questions: []convert.Question{{Text: "question " + id + ".0?", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}, func(o convert.Outcome) bool { got[id] = o; return true })
			s.carryAll()
		}
		ask("r1")
		o.agent.out.Withdraw("r1")
		s.carryAll()
		o.prompt("Yes")
		s.carryAll()
		ask("r2")
		require.Equal(t, convert.Failed, got["r2"].Status, got["r2"].Reason)
		require.Contains(t, got["r2"].Reason, "not asked")
		s.finish()
	})
}
