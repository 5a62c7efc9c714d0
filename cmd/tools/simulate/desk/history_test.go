package desk_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// linear is the model for porcupine: whatever goroutines do at once has an order
// in which the model does the same.
var linear = porcupine.Model{
	Init: func() any { return newModel() },
	Step: func(state, input, output any) (bool, any) {
		got, next := state.(model).step(input.(op))
		return got == output.(string), next
	},
	Equal:             func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) },
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, " → ", output) },
}

// history is what goroutines did, with the times at which they did.
type history struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

func (h *history) do(b *table, client int, o op) string {
	called := h.clock.Add(1)
	got := b.do(o)
	returned := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: o, Call: called, Output: got, Return: returned})
	return got
}

// Askers and people use one session at once: there is one outcome for each item,
// in some order that explains everything that anybody was told.
func TestHistories(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 30
	}
	for seed := range rounds {
		new(history).check(t, seed, new(desk.Desk))
	}
}

func (h *history) check(t *testing.T, seed int, d *desk.Desk) {
	var all sync.WaitGroup
	var serial atomic.Int64
	for client := range 6 {
		rnd := rand.New(rand.NewPCG(uint64(seed), uint64(client)))
		all.Go(func() {
			b := &table{d, "s", map[int]*desk.Ticket{}}
			for range 4 {
				if client < 3 {
					h.ask(b, client, int(serial.Add(1)), rnd)
				} else {
					h.disturb(b, client, rnd)
				}
			}
		})
	}
	all.Wait()
	result, info := porcupine.CheckOperationsVerbose(linear, h.ops, 20*time.Second)
	if result == porcupine.Illegal {
		for _, o := range h.ops {
			t.Log(o.Call, o.Return, o.ClientId, o.Input, "→", o.Output)
		}
		t.Log(info.PartialLinearizationsOperations())
	}
	require.NotEqual(t, porcupine.Illegal, result, "seed %d", seed) // it may be unknown on a busy machine
}

func id(rnd *rand.Rand) string { return []string{"a", "b", "c"}[rnd.IntN(3)] }

// ask plays an asker from post to leave.
func (h *history) ask(b *table, client, ticket int, rnd *rand.Rand) {
	kind := []desk.Kind{desk.Question, desk.Question, desk.Form, desk.Permission}[rnd.IntN(4)]
	if h.do(b, client, op{do: "post", ticket: ticket, id: id(rnd), kind: kind}) != "ok" {
		return
	}
	if rnd.IntN(4) > 0 {
		h.do(b, client, op{do: "turn", ticket: ticket})
	}
	if rnd.IntN(4) > 0 {
		says := []string{"yes", "no", "cancelled", "failed"}[rnd.IntN(4)]
		h.do(b, client, op{do: "settle", ticket: ticket, says: says})
	}
	h.do(b, client, op{do: "leave", ticket: ticket})
}

// disturb plays people who answer, cancel and look.
func (h *history) disturb(b *table, client int, rnd *rand.Rand) {
	switch rnd.IntN(3) {
	case 0:
		h.do(b, client, op{do: "answer", ticket: 1 + rnd.IntN(12), says: fmt.Sprint("p", rnd.IntN(100))})
	case 1:
		h.do(b, client, op{do: "cancel", ticket: 1 + rnd.IntN(12), says: "cancelled"})
	default:
		h.do(b, client, op{do: "list"})
	}
}
