package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// user is a session as the person in front of the editor knows it: what was sent
// and has no response, what is on the screen, what stands in the conversation.
// It knows nothing of phases, turns or processes.
type user struct {
	sent     []int        // prompts without a response, in order
	stopped  map[int]bool // those that were cancelled
	dialog   int          // the question or form on the screen
	question int          // the one that stands in the conversation
	before   int          // the one that stood there before the session was opened anew
	doubt    bool         // one has gone from there, and nothing was sent since
	crash    bool         // the agent went away with it
	closed   bool
}

// does says what a prompt does that is sent now, in the words of effectWords;
// empty if it just waits its turn.
func (u *user) does(key int) string {
	switch {
	case u.closed:
		return fmt.Sprintf("finish %d", key)
	case u.question != 0 && u.doubt:
		return fmt.Sprintf("hear %d from %d stale", u.question, key)
	case u.question != 0:
		return fmt.Sprintf("hear %d from %d", u.question, key)
	case u.crash && len(u.sent) == 0:
		return fmt.Sprintf("finish %d %v", key, errDied)
	case u.dialog != 0:
		return fmt.Sprintf("withdraw %d: cancelled", u.dialog)
	}
	return ""
}

// sees lets the user see one thing that happened and what was done about it. It
// returns what a user would complain about.
func (u *user) sees(w *world, ev Event, done []Effect) string {
	if ev, ok := ev.(PromptCame); ok {
		want := u.does(ev.Key)
		if got := effectWords(done); want != "" && !containsWords(got, want) {
			return fmt.Sprintf("prompt %d should do %q, and did %q", ev.Key, want, got)
		}
		u.sent, u.doubt, u.crash = append(u.sent, ev.Key), false, false
	}
	switch ev := ev.(type) {
	case CancelCame:
		u.crash = false
		for _, key := range u.sent {
			u.stopped[key] = true
		}
	case OpenedAnew:
		if u.question != 0 {
			u.before = u.question
		}
		u.dialog, u.question = 0, 0
	case CloseCame:
		u.closed = true
	case AgentExited:
		u.crash = u.crash || u.question != 0 && !u.closed
	case RequestSettled:
		u.leaves(ev.Key)
	}
	for _, e := range done {
		if complaint := u.takes(w, ev, e); complaint != "" {
			return complaint
		}
	}
	return ""
}

// takes lets the user see what an effect makes of the editor.
func (u *user) takes(w *world, ev Event, e Effect) string {
	switch e := e.(type) {
	case Admit:
		if !e.OK {
			return ""
		}
		switch ev.(type) {
		case RequestShown:
			u.before = 0                         // it is on the screen instead
			if w.ask(e.Key).kind != Permission { // what those do depends on more than is seen
				u.dialog = e.Key
			}
		case RequestParked:
			u.question, u.dialog, u.before = e.Key, 0, 0
		default:
			u.dialog = 0 // the other way
		}
	case Withdraw:
		u.leaves(e.Key)
	case Hear:
		if e.Key != u.question {
			return fmt.Sprintf("%d is not in the conversation, and hears prompt %d", e.Key, e.Prompt)
		}
		u.question = 0
	case Finish:
		if len(u.sent) == 0 || u.sent[0] != e.Key {
			return fmt.Sprintf("prompt %d got a response, waiting were %v", e.Key, u.sent)
		}
		u.sent = u.sent[1:]
		if u.stopped[e.Key] && e.How != EndedCancelled && !u.closed {
			return fmt.Sprintf("prompt %d was cancelled, and ends with %s", e.Key, endingWords(e.How))
		}
		if e.How.WaitingFor != "" && u.question == 0 {
			return fmt.Sprintf("prompt %d ends for a question that nobody sees", e.Key)
		}
	}
	return ""
}

// leaves takes a request off the screen, or notes that it is no longer asked in
// the conversation.
func (u *user) leaves(key int) {
	if u.dialog == key {
		u.dialog = 0
	}
	if u.question == key || u.before == key {
		u.question, u.before, u.doubt = 0, 0, true
	}
}

// containsWords reports whether one of the effects is what was expected, or
// begins so.
func containsWords(got, want string) bool {
	return slices.ContainsFunc(strings.Split(got, ", "), func(s string) bool { return s == want || strings.HasPrefix(s, want+" ") })
}

// TestModel lets anything happen, in any order, and compares what is done with
// what the user expects.
func TestModel(t *testing.T) {
	kinds := rapid.SampledFrom([]askPlan{{Question, false}, {Question, true}, {Permission, false}, {Permission, true}, {Form, false}, {Errand, false}})
	rapid.Check(t, func(t *rapid.T) {
		plan := rapid.SliceOfN(kinds, 0, maxAsks).Draw(t, "requests")
		all := limits{
			prompts: maxPrompts, empties: 1, cancels: 2, closes: int8(rapid.IntRange(0, 1).Draw(t, "closes")), ownTurns: 2, deaths: 2, refusals: 1,
			failedStarts: 1, failedSends: 1, withdrawals: 2, elsewhere: 0, rounds: 2, reopens: 2, unseen: 1, goOns: 1, goesOn: 2,
		}
		w := newWorld(all, rapid.Bool().Draw(t, "steers"), plan...)
		u := &user{stopped: map[int]bool{}}
		for range 60 {
			moves := w.moves()
			if len(moves) == 0 {
				return
			}
			m := rapid.SampledFrom(moves).Draw(t, "move")
			w.did, w.saw = nil, nil
			m.do(w)
			t.Logf("%s (%d): %v → %s", m.name, m.key, w.state.phase, effectWords(w.did))
			if w.broken != "" {
				t.Fatal(w.broken)
			}
			if len(w.saw) == 0 {
				continue
			}
			if complaint := u.sees(w, w.saw[0], w.did); complaint != "" {
				t.Fatal(complaint)
			}
		}
	})
}
