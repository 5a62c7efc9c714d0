// Package front_test plays editors, their users and agents against the front and everything
// behind it, by a seed.
package front_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

var (
	simSteps = flag.Int("sim.steps", 8_000, "how many steps TestSimulation takes")
	simFirst = flag.Uint64("sim.first", 1, "the seed of the first life; 0 draws one")
	simSeed  = flag.Uint64("sim.seed", 0, "the seed of the only life to play; 0 plays many")
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// lifeSteps is how long one connection lives.
const lifeSteps = 400

// TestSimulation plays editors, their users and agents against the front, the
// ladder, the desk and the connection, by a seed: virtual time, one thing at a
// time. After each step everything comes to rest before the next one is drawn.
// What the agents got is held against what the people said, and to which text.
//
//	go -C cmd/tools test ./simulate/front -run TestSimulation -sim.steps 1000000 -sim.first 0
//	go -C cmd/tools test ./simulate/front -run TestSimulation -sim.seed 4711 -v
func TestSimulation(t *testing.T) { simulate(t, false) }

// TestSimulationProxied is the same with a proxy between the editor and the front:
// the proxy asks, and the front is any agent to it.
func TestSimulationProxied(t *testing.T) { simulate(t, true) }

func simulate(t *testing.T, proxied bool) {
	if *simSeed != 0 {
		answered, trace := play(t, *simSeed, proxied)
		t.Logf("%s\n%d questions answered", strings.Join(trace, "\n"), answered)
		return
	}
	first := *simFirst
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	steps := *simSteps
	if leaktest.Race { // which is slow
		steps = steps * 5 / 16
	}
	lives := steps / lifeSteps
	var answered atomic.Int64
	t.Run("lives", func(t *testing.T) {
		for part := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for n := part; n < lives; n += runtime.GOMAXPROCS(0) {
					some, _ := play(t, first+uint64(n), proxied)
					answered.Add(int64(some))
				}
			})
		}
	})
	t.Logf("%d steps in %d lives from seed %d on, %d questions answered", lives*lifeSteps, lives, first, answered.Load())
	if got := answered.Load(); !t.Failed() && got < int64(steps/50) {
		t.Errorf("only %d questions were answered in %d steps: the simulation does not reach what it is for", got, steps)
	}
}

// TestSimulationRepeats is why a seed is worth keeping: it gives the same life,
// to the last word of everybody.
func TestSimulationRepeats(t *testing.T) {
	seeds := uint64(25)
	if leaktest.Race {
		seeds = 3
	}
	for seed := range seeds {
		_, once := play(t, seed+1, false)
		_, again := play(t, seed+1, false)
		for i, what := range once {
			if i >= len(again) || again[i] != what {
				t.Fatalf("two lives of seed %d differ in step %d:\n%s\n---\n%s", seed+1, i, what, again[min(i, len(again)-1)])
			}
		}
	}
}

// play lives one life and returns how many questions were answered in it, and
// what happened.
func play(t *testing.T, seed uint64, proxied bool) (answered int, trace []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, seed, proxied)
		for range lifeSteps {
			s.step()
		}
		s.finish()
		answered, trace = s.answered, s.trace()
	})
	if t.Failed() {
		t.Fatalf("to see it again: go -C cmd/tools test ./simulate/front -run %s -sim.seed %d", strings.TrimRight(t.Name(), "/lives0123456789"), seed)
	}
	return answered, trace
}

// sim is one connection with everybody at it.
type sim struct {
	t *testing.T
	// mu is for what the front calls while others run. A step begins when all are
	// at rest, and needs it for the log alone.
	mu   sync.Mutex
	rng  *rand.Rand
	desk *desk.Desk
	// toFront and toEditor are the two directions of the connection. On a slow one
	// what is sent arrives by a step of its own, so that it crosses what the
	// other side does.
	toFront, toEditor *wire
	slow              bool
	guard             bool
	proxied           bool
	luck              uint64
	served            chan struct{} // closed when Serve has returned

	agent    *simAgent
	sessions []*simSession
	requests []*simRequest         // at the editor, open
	prompts  map[string]*simPrompt // by the id of their request
	ids      int                   // of the editor's requests
	serial   int
	answered int
	logging  sync.Mutex
	log      []string
	steps    []int // where each step begins in the log
}

// nature is what an editor and its connection are like.
type nature struct {
	slow, guard bool
	proxied     bool // a proxy is between the editor and the front
	first       adapter.Rung
	caps        string
}

func newSim(t *testing.T, seed uint64, proxied bool) *sim {
	rng := rand.New(rand.NewPCG(seed, 1))
	return simOf(t, rng, nature{
		proxied: proxied,
		slow:    rng.IntN(2) == 0, guard: rng.IntN(3) == 0,
		first: []adapter.Rung{0, 0, adapter.Permission, adapter.Conversation}[rng.IntN(4)],
		caps:  []string{`{}`, `{"elicitation":{"form":{}}}`, `{"_meta":{"askUserQuestion":true}}`}[rng.IntN(3)],
	})
}

func simOf(t *testing.T, rng *rand.Rand, n nature) *sim {
	s := &sim{t: t, rng: rng, desk: &desk.Desk{}, served: make(chan struct{}), prompts: map[string]*simPrompt{}}
	s.agent = &simAgent{sim: s}
	s.slow, s.guard, s.luck = n.slow, n.guard, rng.Uint64()
	s.toFront, s.toEditor = newWire(), newWire()
	s.proxied = n.proxied
	go func() {
		defer close(s.served)
		s.serve(n)
	}()
	s.note("initialize %+v", n)
	s.request("initialize", `{"protocolVersion":1,"clientCapabilities":`+n.caps+`}`, nil)
	s.carryAll()
	return s
}

// serve lets the front serve the editor, or a proxy that has the front behind it:
// then it is the proxy that asks.
func (s *sim) serve(n nature) {
	ctx := context.Background()
	if !n.proxied {
		_ = editor.Serve(ctx, s.toFront, s.toEditor, s.agent, &editor.Options{Desk: s.desk, First: n.first, Guard: n.guard, TrustPrompts: true})
		return
	}
	agentIn, toAgent := io.Pipe()
	fromAgent, agentOut := io.Pipe()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = editor.Serve(ctx, agentIn, agentOut, s.agent, &editor.Options{TrustPrompts: true})
		agentOut.Close()
	}()
	_ = proxy.Relay(ctx, proxy.Stream{In: s.toFront, Out: s.toEditor}, proxy.Stream{In: fromAgent, Out: toAgent},
		proxy.Options{Desk: s.desk, First: n.first, Guard: n.guard, TrustPrompts: true, CancelGrace: 5 * time.Second})
	toAgent.Close()
	_, _ = io.Copy(io.Discard, fromAgent)
	<-gone
}

func (s *sim) note(format string, args ...any) {
	s.logging.Lock()
	defer s.logging.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// trace is what happened in each step. What several did in one step has no order.
func (s *sim) trace() (steps []string) {
	from := 0
	for _, to := range append(s.steps, len(s.log)) {
		steps = append(steps, strings.Join(slices.Sorted(slices.Values(s.log[from:to])), "\n"))
		from = to
	}
	return steps
}

// wrong tells what must not be, with the way that led there.
func (s *sim) wrong(format string, args ...any) {
	s.t.Helper()
	text := fmt.Sprintf(format, args...)
	if s.t.Failed() {
		return // one at a time
	}
	s.logging.Lock()
	defer s.logging.Unlock()
	s.t.Errorf("%s\n%s", text, strings.Join(s.log, "\n"))
}

// act is something that can happen now.
type act struct {
	weight int
	do     func()
}

// step lets one thing happen and everything come to rest.
func (s *sim) step() {
	if s.t.Failed() {
		return
	}
	s.steps = append(s.steps, len(s.log))
	if s.guard { // people think
		s.pass(time.Duration(s.rng.IntN(400)) * time.Millisecond)
		s.rest()
	}
	acts := []act{{1, func() { s.pass(time.Duration(s.rng.IntN(7000)) * time.Millisecond) }}}
	if len(s.sessions) < 3 {
		acts = append(acts, act{3, s.newSession})
	}
	if s.toFront.waits() {
		acts = append(acts, act{40, s.toFront.carry})
	}
	if s.toEditor.waits() {
		acts = append(acts, act{40, s.toEditorCarries})
	}
	for _, o := range s.sessions {
		acts = append(acts, o.personActs()...)
		acts = append(acts, o.agent.acts()...)
		acts = append(acts, o.phoneActs()...)
	}
	for _, r := range s.requests {
		acts = append(acts, r.acts()...)
	}
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	n := s.rng.IntN(total)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			a.do()
			break
		}
	}
	s.rest()
	s.check()
}

// pass lets time go by: graces end, interrupts are repeated.
func (s *sim) pass(d time.Duration) {
	s.note("%s pass", d)
	time.Sleep(d)
}

// finish lets everybody end what they began, one after the other: then nothing
// may be left.
func (s *sim) finish() {
	for range 200 {
		if s.t.Failed() || s.quiet() {
			break
		}
		for _, o := range s.sessions {
			o.agent.wantsToEnd()
			s.rest()
		}
		for _, r := range slices.Clone(s.requests) {
			r.dismiss()
			s.rest()
		}
		s.carryAll()
		for _, o := range s.sessions {
			if o.waits && len(o.running) == 0 {
				o.sayCancel()
				s.rest()
			}
		}
		s.pass(6 * time.Second)
		s.carryAll()
		s.check()
	}
	if !s.t.Failed() && !s.quiet() {
		for _, o := range s.sessions {
			s.note("%s: %d prompts run, waits %v for %q, %d requests at the agent", o.id, len(o.running), o.waits, o.seen, len(o.agent.asked))
		}
		s.wrong("something never ends")
	}
	s.toFront.close()
	<-s.served
}

// quiet reports whether no prompt runs and nothing is asked.
func (s *sim) quiet() bool {
	for _, o := range s.sessions {
		if len(o.running) > 0 || len(o.agent.asked) > 0 {
			return false
		}
	}
	return len(s.requests) == 0 && len(s.desk.List()) == 0
}

// check is what must hold whenever everything is at rest.
func (s *sim) check() {
	for _, o := range s.sessions {
		shown := 0
		for _, r := range s.requests {
			if r.session == o {
				shown++
			}
		}
		if shown > 1 {
			s.wrong("%s: the editor shows %d requests at once", o.id, shown)
		}
	}
}

func (s *sim) newSession() {
	s.note("session/new")
	s.request("session/new", `{"cwd":"/","mcpServers":[]}`, nil)
	s.carryAll()
}
