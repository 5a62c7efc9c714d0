// Package hub_test plays whoever asks and answers at a board, and holds what they are told
// against what one of them alone would be told.
package hub_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*Server).Start.func1"))
}

// asking is what any process may ask again.
func asking(conversation, name, text string) hub.Asking {
	return hub.Asking{Conversation: conversation, Name: name, Again: true, Agent: "a", Call: convert.Call{ID: name, Questions: []convert.Question{
		{Text: text, Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}}
}

// do is something that is done to the one question of a conversation.
type do struct {
	what     string // ask, answer, cancel, take back, delivered, consumed, refuse, look
	says, by string
	revision uint64 // that was seen, for an answer; 0 for any
}

// told is what came of it: how the question stands, or why nothing was done.
type told struct {
	says     string
	revision uint64 // of an open question
}

// register is the model: the last question of that id, and how it ended.
type register struct {
	asked    bool
	revision uint64
	says, by string // the outcome, "" while it is open
	receipt  string // "", delivered, consumed or refused
	person   bool   // a person has ended it
	several  bool   // a person has ended one before it, whose reply may come once more
}

func (r register) stands() string {
	if r.says == "" {
		return "open"
	}
	return r.says + " by " + r.by
}

// step says whether the model can tell the same, and what it is then.
func (r register) step(d do, got told) (bool, register) {
	switch {
	case d.what == "ask" && (!r.asked || r.receipt == "consumed" || r.receipt == "refused"):
		return got.says == "open" && got.revision > r.revision, register{asked: true, revision: got.revision, several: r.several || r.person}
	case !r.asked:
		return got.says == "not found", r
	case d.what == "ask", d.what == "look":
		return got.says == r.stands() && (r.says != "" || got.revision == r.revision), r
	case d.what == "delivered", d.what == "consumed", d.what == "refuse":
		if r.says == "" {
			return got.says == "not found", r
		}
		return got.says == "noted", r.receive(d.what)
	case r.says == d.says && r.by == d.by && d.what != "take back":
		return got.says == "done", r // once more
	case r.says != "":
		return got.says == "settled: "+r.stands(), r
	case d.revision != 0 && d.revision != r.revision:
		return got.says == "another", r
	case d.revision == 0 && d.what != "take back" && r.several:
		return got.says == hub.ErrSeveral.Error(), r
	}
	r.says, r.by, r.person = d.says, d.by, d.what != "take back"
	if !r.person {
		r.receipt = "consumed"
	}
	return got.says == "done", r
}

func (r register) receive(what string) register {
	switch {
	case r.receipt == "consumed" || r.receipt == "refused":
	case what == "refuse":
		r.receipt = "refused"
	case what == "consumed" || r.receipt == "":
		r.receipt = what
	}
	return r
}

var linear = porcupine.Model{
	Init:              func() any { return register{} },
	Step:              func(state, in, out any) (bool, any) { return state.(register).step(in.(do), out.(told)) },
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// history is what clients did to a conversation, with the times at which they did.
type history struct {
	board        *hub.Board
	conversation string
	clock        atomic.Int64
	mu           sync.Mutex
	ops          []porcupine.Operation
}

func (h *history) do(ctx context.Context, client int, d do) told {
	called := h.clock.Add(1)
	got := h.try(ctx, d)
	returned := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: d, Call: called, Output: got, Return: returned})
	if d.what == "take back" && got.says != "done" && got.says != "not found" { // it refuses what it finds, at some later time
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: do{what: "refuse"}, Call: called, Output: told{says: "noted"}, Return: returned})
	}
	return got
}

func (h *history) try(ctx context.Context, d do) told {
	ref := hub.Ref{Conversation: h.conversation, ID: "q", Revision: d.revision}
	words := func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: d.says}}, nil }
	var r *hub.Record
	var err error
	switch d.what {
	case "ask":
		r, err = h.board.Ask(ctx, asking(h.conversation, "q", "Go?"))
		return standing(r, err)
	case "look":
		return standing(h.board.Find(h.conversation, "q"))
	case "answer":
		_, err = h.board.Answer(ctx, ref, words, d.by)
	case "cancel":
		_, err = h.board.Cancel(ctx, ref, d.by)
	case "take back":
		_, err = h.board.TakeBack(ctx, ref, convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: d.says}}}, d.by)
	case "delivered":
		_, err = h.board.Delivered(ctx, ref)
	case "consumed":
		_, err = h.board.Consumed(ctx, ref)
	case "refuse":
		_, err = h.board.Refuse(ctx, ref, "gone")
	}
	switch late := (*hub.SettledError)(nil); {
	case errors.As(err, &late):
		return told{says: "settled: " + outcome(late.End)}
	case errors.Is(err, hub.ErrRevision):
		return told{says: "another"}
	case errors.Is(err, hub.ErrNotFound):
		return told{says: "not found"}
	case err != nil:
		return told{says: err.Error()}
	case d.what == "delivered", d.what == "consumed", d.what == "refuse":
		return told{says: "noted"}
	}
	return told{says: "done"}
}

func standing(r *hub.Record, err error) told {
	switch {
	case errors.Is(err, hub.ErrNotFound):
		return told{says: "not found"}
	case err != nil:
		return told{says: err.Error()}
	case r.Open():
		return told{"open", r.Revision}
	}
	return told{says: outcome(r.End)}
}

func outcome(e *hub.End) string {
	says := e.Outcome
	if len(e.Answers) == 1 {
		says = e.Answers[0].Text
	}
	return says + " by " + e.By
}

// Agents ask and take back, people answer and cancel, each at any time: what they
// are told has an order in which a single register would have told the same.
func TestHistories(t *testing.T) {
	t.Parallel()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	board := acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
	t.Cleanup(board.Close)
	for seed := range 60 {
		h := &history{board: board, conversation: fmt.Sprint("c", seed)}
		var all sync.WaitGroup
		for client := range 6 {
			rnd := rand.New(rand.NewPCG(uint64(seed), uint64(client)))
			all.Go(func() { h.play(t.Context(), client, rnd) })
		}
		all.Wait()
		result, info := porcupine.CheckOperationsVerbose(linear, h.ops, 20*time.Second)
		if result == porcupine.Illegal {
			for _, o := range h.ops {
				t.Log(o.Call, o.Return, linear.DescribeOperation(o.Input, o.Output))
			}
			t.Log(info.PartialLinearizationsOperations())
		}
		require.NotEqual(t, porcupine.Illegal, result, "seed %d", seed) // it may be unknown on a busy machine
	}
}

// play is what a client does: the first two are agents, the others people.
func (h *history) play(ctx context.Context, client int, rnd *rand.Rand) {
	by := fmt.Sprint("client ", client)
	for n := range 5 {
		says := fmt.Sprint(client, ".", n-rnd.IntN(2)*min(n, 1)) // now and then the same once more
		switch {
		case client < 2 && n%2 == 0:
			h.do(ctx, client, do{what: "ask"})
		case client < 2:
			h.do(ctx, client, do{what: []string{"delivered", "consumed", "consumed", "refuse", "take back"}[rnd.IntN(5)], says: says, by: by})
		case rnd.IntN(4) == 0:
			h.do(ctx, client, do{what: "cancel", says: convert.Cancelled.String(), by: by})
		case rnd.IntN(2) == 0:
			h.do(ctx, client, do{what: "answer", says: says, by: by})
		default: // what was seen
			seen := h.do(ctx, client, do{what: "look"})
			h.do(ctx, client, do{what: "answer", says: says, by: by, revision: seen.revision})
		}
	}
}
