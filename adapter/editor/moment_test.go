package editor_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
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

// A permission that is given at the moment of a cancel is not used.
func TestPermissionAtTheMomentOfACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := scene(t)
		var got error
		o.agent.out.AskPermission("p", false, convert.SubAgent{}, acp.RequestPermissionRequest{
			ToolCall: acp.ToolCallUpdate{ToolCallId: "p", Title: acp.Ptr("permission r1")},
			Options:  []acp.PermissionOption{{OptionId: "allow", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}},
		}, func(_ acp.RequestPermissionResponse, err error) { got = err })
		s.carryAll()
		s.at(desk.Settled, func() {
			o.cancels()
			s.toFront.carry()
		})
		s.requests[0].send(`{"outcome":{"outcome":"selected","optionId":"allow"}}`)
		s.carryAll()
		s.pass(time.Second)
		s.carryAll()
		require.ErrorIs(t, got, editor.ErrTakenBack)
		s.finish()
	})
}

// An answer that arrived counts, also if a cancel comes at the same moment: it
// was given before.
func TestAnswerAtTheMomentOfACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := scene(t)
		var got convert.Outcome
		o.agent.out.AskQuestion("q", false, convert.Call{ID: "q", Questions: []convert.Question{{
			Text: "question r1.0?", Options: []convert.Option{{Label: "r1.0-A"}, {Label: "r1.0-B"}},
		}}}, func(o convert.Outcome) { got = o })
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
			o.agent.out.AskQuestion(id, false, convert.Call{ID: id, Questions: []convert.Question{{
				Text: "question " + id + ".0?", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}},
			}}}, func(o convert.Outcome) { got[id] = o })
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
