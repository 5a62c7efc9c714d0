package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/life"
)

// What a world notes of the past, beside the session's state: the promises are
// about that.

// notePrompt notes a prompt that comes.
func (w *world) notePrompt(key int, empty bool) {
	p := w.prompt(key)
	p.empty, p.suspect, p.lost = empty, w.gone && !w.closed, w.lost && !w.closed
	w.gone, w.lost = false, false
	for i := range w.asks[:w.asked] {
		r := &w.asks[i]
		switch {
		case r.withdrawn:
		case r.at == readable:
			p.seen |= 1 << i
		case r.at == onScreen && (r.kind != Permission || !w.working() && !w.perhaps && !w.agent.dead) && !w.closed:
			r.superseding = true
			w.noteCancelled(key)
		case r.at == written, r.at == unshown:
			w.noteBrokenOff()
		case r.at == left, r.at == onScreen && w.agent.dead:
			for i := range w.prompts[:key-1] {
				w.prompts[i].breakOff = true
			}
		}
	}
}

// working reports whether the agent has something to do.
func (w *world) working() bool {
	return w.agent.turn || w.agent.queue.n+w.agent.taken.n > 0 || w.reader.at != reads
}

// noteCancelled notes that the user breaks off what was sent before a prompt.
func (w *world) noteCancelled(before int) {
	for i := range w.prompts[:before-1] {
		w.prompts[i].cancel = w.prompts[i].cancel || !w.prompts[i].ended
	}
	for i := range w.asks[:w.asked] {
		w.asks[i].banned = w.asks[i].banned || w.asks[i].at < left
	}
	w.noteBrokenOff()
}

// noteCancel notes a session/cancel. Nobody waits for an answer that was lost.
func (w *world) noteCancel() {
	w.lost = false
	w.noteCancelled(int(w.came) + 1)
}

// noteBrokenOff notes that the turn is broken off, if there is one.
func (w *world) noteBrokenOff() {
	for i := range w.prompts {
		p := &w.prompts[i]
		p.breakOff = p.breakOff || p.atAgent || p.words || w.perhaps
	}
	w.quiet = w.quiet || !w.relayed && w.working() && w.agent.alive && w.agent.start == 0
}

// noteDismissed notes that the user says no to the work.
func (w *world) noteDismissed(r *askView) {
	if r.kind == Form {
		return
	}
	r.dismissed = true
	if quiet := w.quiet; w.reader.at == reads {
		w.noteBrokenOff()
		w.quiet, w.denied = quiet, w.denied || w.quiet
	}
}

// settleQuiet notes that a turn that was broken off is over, and that the agent
// has no prompt that was.
func (w *world) settleQuiet() {
	if w.agent.turn || w.reader.at != reads {
		return
	}
	w.quiet, w.denied = false, false
	if w.relayed {
		w.quiet = w.quietRelayed()
		return
	}
	for _, p := range w.prompts {
		w.quiet = w.quiet || p.atAgent && p.cancel
	}
}

// noteParks notes that a question takes the place of nothing: a prompt that is
// there before it takes its place.
func (w *world) noteParks(ev Event) {
	if _, ok := ev.(RequestParks); !ok {
		return
	}
	for _, p := range w.prompts[:w.came] {
		if !p.ended && !p.words {
			w.noteMaybeBrokenOff()
		}
	}
}

// noteMaybeBrokenOff is noteBrokenOff where it is not for sure.
func (w *world) noteMaybeBrokenOff() {
	quiet := w.quiet
	w.noteBrokenOff()
	w.quiet = quiet
}

// noteGone notes that a question leaves the conversation without a reply.
func (w *world) noteGone(i int) {
	if r := w.asks[i]; (r.at == readable || r.at == written || r.at == unshown && r.stood) && !r.withdrawn {
		w.gone = true
	}
}

// noteDeath notes the end of a process, or of what should have become one.
func (w *world) noteDeath() {
	for i := range w.asks[:w.asked] {
		r := &w.asks[i]
		if r.at == readable && !r.withdrawn && !w.closed {
			w.lost = true
		}
		if r.prompt != 0 && r.at != replied {
			w.prompt(int(r.prompt)).died = true
		}
		r.banned = r.banned || r.at < done
		r.inTurn = false
	}
	w.perhaps = false
}

func (w *world) noteClose() {
	w.closed = true
	for i := range w.asks[:w.asked] {
		w.asks[i].banned = true
	}
}

// superseded reports whether a prompt has taken the place of a request that is
// still open.
func (r askView) superseded() bool { return r.superseding && !r.withdrawn && r.at < left }

// noteTurn notes that the turn is another one, or none: what was asked in the one
// before belongs to none.
func (w *world) noteTurn(before int) {
	if w.turnNumber() != before {
		for i := range w.asks {
			w.asks[i].inTurn = false
		}
	}
}

// inTurn reports whether what the agent asks now belongs to a turn.
func (w *world) inTurn() bool {
	if w.relayed {
		return w.state.turn != nil && w.state.phase != finishing
	}
	return w.working() || w.perhaps
}

func (w *world) turnNumber() int {
	if w.state.turn == nil {
		return 0
	}
	return w.state.turn.n
}

// noteEnd notes that a turn is over: what was asked in it has to go.
func (w *world) noteEnd() {
	for i := range w.asks {
		w.asks[i].ending = w.asks[i].inTurn && w.asks[i].at != replied
	}
}

// A question that is gone because somebody ended it elsewhere says so, also where nobody
// said who.
func TestGoneElsewhere(t *testing.T) {
	for want, why := range map[string]error{
		"This question was answered elsewhere by Ann. It needs no answer here.":  life.Elsewhere{Outcome: "answered", By: "Ann"},
		"This question was dismissed elsewhere by Ann. It needs no answer here.": life.Elsewhere{Outcome: "cancelled", By: "Ann"},
		"This question was answered elsewhere. It needs no answer here.":         life.Elsewhere{Outcome: "answered"},
	} {
		require.Equal(t, "\n\n"+want+"\n\n", goneRemark(why))
	}
	require.NotContains(t, goneRemark(life.ErrSettled), "elsewhere", "nobody answered it")
}
