package session

import (
	"flag"
	"fmt"
	"hash/maphash"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// walk goes through all that can happen in a world, in every order, and fails
// the test at the first promise that is broken: on the shortest way there. Ways
// that lead to the same state are gone on once. When it is through, it also
// knows whether from every state a rest can be reached by what is owed alone:
// if not, somebody may wait for ever.
func walk(t *testing.T, first *world) {
	t.Helper()
	if leaktest.Race {
		t.Skip("one goroutine walks: there is nothing to race with")
	}
	t.Parallel()
	s := &search{seen: map[uint64]int32{}}
	s.add(first, 0, 0)
	depth := 0
	for ; len(s.front) > 0; depth++ {
		front := s.front
		s.front = nil
		for _, n := range front {
			if s.expand(n); s.broken >= 0 {
				t.Fatalf("%s\n%s", s.why, s.story(first, s.broken))
			}
		}
	}
	if n := s.stuck(); n >= 0 {
		t.Fatalf("whatever comes that is owed, there is no end\n%s", s.story(first, n))
	}
	if testing.Verbose() {
		fmt.Fprintf(os.Stderr, "%s: %d states, %d ways, %d events deep\n", t.Name(), len(s.nodes), s.ways, depth)
	}
}

// search is how far a walk has come.
type search struct {
	seen   map[uint64]int32
	nodes  []node
	owed   []edge
	front  []reached
	ways   int
	broken int32
	why    string
	spare  *copied // a copy that led nowhere new
}

// node is a state and how it was reached first.
type node struct {
	from int32
	move int16
	rest bool
}

type edge struct{ from, to int32 }

type reached struct {
	w  *world
	at int32
}

// add notes a state and returns its number, and whether it was known.
func (s *search) add(w *world, from int32, by int) (at int32, known bool) {
	s.broken = -1
	key := w.hash()
	at, known = s.seen[key]
	if !known {
		at = int32(len(s.nodes))
		s.seen[key] = at
		s.nodes = append(s.nodes, node{from: from, move: int16(by)})
		s.front = append(s.front, reached{w, at})
	}
	return at, known
}

// expand does all that can happen next.
func (s *search) expand(r reached) {
	rest := true
	for i, m := range r.w.moves() {
		s.ways++
		if s.spare == nil {
			s.spare = new(copied)
		}
		next := &r.w.cloneInto(s.spare).world
		next.try(m)
		rest = rest && !m.owed
		at, known := s.add(next, r.at, i)
		if !known {
			s.spare = nil
		}
		if next.broken != "" {
			s.fail(next, r.at, i)
			return
		}
		if m.owed && at != r.at {
			s.owed = append(s.owed, edge{r.at, at})
		}
	}
	if s.nodes[r.at].rest = rest; rest {
		if r.w.checkRest(); r.w.broken != "" {
			s.broken, s.why = r.at, r.w.broken
		}
	}
}

func (s *search) fail(w *world, from int32, by int) {
	s.why, s.broken = w.broken, int32(len(s.nodes))
	s.nodes = append(s.nodes, node{from: from, move: int16(by)})
}

// try makes a panic a broken promise.
func (w *world) try(m move) {
	defer func() {
		if v := recover(); v != nil {
			w.breaks("panic: %v", v)
		}
	}()
	w.did, w.saw = nil, nil
	m.do(w)
}

// stuck finds a state from which what is owed leads to no rest, or -1.
func (s *search) stuck() int32 {
	before := make([][]int32, len(s.nodes))
	for _, e := range s.owed {
		before[e.to] = append(before[e.to], e.from)
	}
	good := make([]bool, len(s.nodes))
	var queue []int32
	reach := func(n int32) {
		if !good[n] {
			good[n] = true
			queue = append(queue, n)
		}
	}
	for n := range s.nodes {
		if s.nodes[n].rest {
			reach(int32(n))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, n := range before[queue[0]] {
			reach(n)
		}
	}
	for n := range good {
		if !good[n] {
			return int32(n)
		}
	}
	return -1
}

// story tells how a state was reached.
func (s *search) story(first *world, n int32) string {
	var by []int
	for ; n != 0; n = s.nodes[n].from {
		by = append(by, int(s.nodes[n].move))
	}
	var b strings.Builder
	w := first.clone()
	for i := len(by) - 1; i >= 0; i-- {
		m := w.moves()[by[i]]
		w.try(m)
		fmt.Fprintf(&b, "  %-44s → %-10v", strings.Replace(m.name, "#", fmt.Sprint(m.key), 1), w.state.phase)
		for _, e := range w.did {
			fmt.Fprintf(&b, " %s%+v", strings.TrimPrefix(fmt.Sprintf("%T", e), "session."), e)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// copied is a world and all that its state points to, in one piece: most of a walk's
// time is copying.
type copied struct {
	world
	prompts  [maxPrompts]prompt
	line     [maxPrompts]*prompt
	requests [maxAsks]request
	asked    [maxAsks]*request
	turn     turn
	end      turnEnd
	steered  [maxPrompts]int
	sent     [maxPrompts]int
}

func (w *world) clone() *world { return &w.cloneInto(new(copied)).world }

func (w *world) cloneInto(c *copied) *copied {
	c.world = *w
	s := &c.world.state
	s.effects = nil
	s.line = c.line[:0]
	for i, p := range w.state.line {
		c.prompts[i] = *p
		s.line = append(s.line, &c.prompts[i])
	}
	s.requests = c.asked[:0]
	for i, r := range w.state.requests {
		c.requests[i] = *r
		s.requests = append(s.requests, &c.requests[i])
	}
	if s.turn != nil {
		c.turn = *s.turn
		c.turn.steered = append(c.steered[:0], s.turn.steered...)
		c.turn.sent = append(c.sent[:0], s.turn.sent...)
		s.turn = &c.turn
	}
	s.past = nil
	for _, t := range w.state.past {
		copied := *t
		copied.steered = append([]int(nil), t.steered...)
		copied.sent = append([]int(nil), t.sent...)
		s.past = append(s.past, &copied)
	}
	if s.end != nil {
		c.end = *s.end
		s.end = &c.end
	}
	return c
}

// fingerprint is what makes one state of a world differ from another. Turns and
// interrupts count only as far as they are the current ones.
type fingerprint struct {
	env
	phase               phase
	line                [maxPrompts]prompt
	requests            [maxAsks]request
	turn                turnPrint
	past                [maxPrompts]turnPrint
	end                 endPrint
	steers, stale, lost bool
	launching, stopped  bool
	interrupting        bool
	exit                Ending
}

type turnPrint struct {
	is, own, begun, queued, repeat, perhaps, cancelled bool
	why                                                error
	owner                                              int
	steered, sent                                      keys
}

type endPrint struct {
	is, own, all, exit, wrapping bool
	answers                      keys
	how                          Ending
	then                         phase
}

func printOf(t *turn) turnPrint {
	return turnPrint{true, t.own, t.begun, t.queued, t.repeat, t.perhaps != nil, t.cancelled, t.why, t.owner, keysOf(t.steered), keysOf(t.sent)}
}

func keysOf(list []int) (k keys) {
	for _, key := range list {
		k.add(key)
	}
	return k
}

// seed is another one in each run: states that share a hash, one pair in a
// hundred million walks, do so in that run alone.
var seed = maphash.MakeSeed()

func (w *world) hash() uint64 {
	s := &w.state
	p := fingerprint{env: w.env, phase: s.phase, steers: s.steers, stale: s.stale, launching: s.launching, stopped: s.stopped, lost: s.lost != nil, interrupting: s.interrupting != 0, exit: s.exit}
	now := -1
	if t := s.turn; t != nil {
		now = t.n
		p.turn = printOf(t)
	}
	for i, t := range s.past {
		p.past[i] = printOf(t)
	}
	if e := s.end; e != nil {
		p.end = endPrint{true, e.Own, e.All, e.exit, e.wrapping, keysOf(e.Answers), e.How, e.then}
	}
	for i, l := range s.line {
		p.line[i] = *l
	}
	for i, r := range s.requests {
		p.requests[i] = *r
		p.requests[i].turn = current(r.turn, now)
	}
	for i, f := range p.flights {
		p.flights[i].n = current(f.n, s.interrupting)
	}
	for i := range p.graces {
		if of := slices.IndexFunc(s.past, func(t *turn) bool { return t.n == p.graces[i] }); of >= 0 {
			p.graces[i] = 3 + of
		} else {
			p.graces[i] = current(p.graces[i], now)
		}
		p.agains[i] = current(p.agains[i], now)
	}
	return maphash.Comparable(seed, p)
}

// current tells the number of what is now from those of what was.
func current(n, now int) int {
	switch n {
	case 0:
		return 0
	case now:
		return 1
	}
	return 2
}

var deep = flag.Bool("deep", false, "go through more that can happen: minutes, not seconds")

// otherwise are the limits of a large walk where nobody asked for all of it.
func (l limits) otherwise(less limits) limits {
	if os.Getenv("ACP_BRIDGE_FLEET") == "" && !*deep {
		return less
	}
	return l
}

// collectLess is for walks: almost all that they allocate is kept, and to collect it
// often is for nothing.
func collectLess(t *testing.T) {
	percent := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
}

// TestWalk goes through every order in which these few things can happen.
func TestWalk(t *testing.T) {
	collectLess(t)
	apart := func(p askPlan) askPlan { p.apart = true; return p }
	q, f, leave := askPlan{kind: Question}, askPlan{kind: Form}, askPlan{kind: Permission}
	for _, sc := range []struct {
		name string
		limits
		plan []askPlan
	}{
		{"prompts", limits{prompts: 2, cancels: 1, ownTurns: 1, empties: 1}, nil},
		{"three prompts", limits{prompts: 3, cancels: 1, refusals: 1}, nil},
		{"a prompt that goes on", limits{prompts: 2, cancels: 1, ownTurns: 1, goesOn: 1}, nil},
		{"a prompt that goes on, and a death", limits{prompts: 2, deaths: 1, failedSends: 1, goesOn: 2}, nil},
		{"a prompt that goes on, and a sub-agent's question", limits{prompts: 2, cancels: 1, goesOn: 1}, []askPlan{apart(q)}},
		{"an agent that hears nothing", limits{prompts: 2, cancels: 1, ownTurns: 1, unseen: 2}, nil},
		{"a question of an agent that hears nothing", limits{prompts: 2, cancels: 1, withdrawals: 1, unseen: 1}.otherwise(limits{prompts: 1, cancels: 1, unseen: 1}), []askPlan{q}},
		{"deaths", limits{prompts: 2, cancels: 1, deaths: 2, failedStarts: 1}, nil},
		{"unsent prompts", limits{prompts: 2, cancels: 1, deaths: 1, failedSends: 1, ownTurns: 1}, nil},
		{"closing", limits{prompts: 1, closes: 1, deaths: 1, cancels: 1}.otherwise(limits{prompts: 1, closes: 1, deaths: 1}), []askPlan{q}},
		{"a question", limits{prompts: 2, cancels: 1, withdrawals: 1}.otherwise(limits{prompts: 2, withdrawals: 1}), []askPlan{q}},
		{"a question in a session that is opened anew", limits{prompts: 2, cancels: 1, reopens: 2}.otherwise(limits{prompts: 2, reopens: 1}), []askPlan{q}},
		{"a question answered elsewhere, in a session that is opened anew", limits{prompts: 2, elsewhere: 1, withdrawals: 1, reopens: 1}, []askPlan{q}},
		{"a permission in a session that is opened anew", limits{prompts: 2, reopens: 1}, []askPlan{leave}},
		{"a question that its prompt tells the agent", limits{prompts: 2, cancels: 1, goOns: 1, refusals: 1}.otherwise(limits{prompts: 2, goOns: 1}), []askPlan{q}},
		{"and a death", limits{prompts: 2, deaths: 1, goOns: 1, failedSends: 1}, []askPlan{q}},
		{"a question that the editor does not show between prompts", limits{prompts: 2, ownTurns: 1, promptsOnly: true}, []askPlan{q}},
		{"a question in rounds", limits{prompts: 2, rounds: 1}, []askPlan{q}},
		{"a question and a death", limits{prompts: 2, deaths: 1, elsewhere: 1}, []askPlan{q}},
		{"a sub-agent's question", limits{prompts: 2, cancels: 1, elsewhere: 1}, []askPlan{apart(q)}},
		{"a sub-agent's question and a death", limits{prompts: 2, deaths: 1, withdrawals: 1}, []askPlan{apart(q)}},
		{"a form", limits{prompts: 2, cancels: 1}, []askPlan{f}},
		{"a form and a death", limits{prompts: 2, deaths: 1}, []askPlan{f}},
		{"a permission", limits{prompts: 2, cancels: 1}, []askPlan{leave}},
		{"a permission and a death", limits{prompts: 2, deaths: 1}, []askPlan{leave}},
		{"a sub-agent's permission", limits{prompts: 2, cancels: 1, withdrawals: 1, elsewhere: 1}, []askPlan{apart(leave)}},
		{"two questions", limits{prompts: 2, withdrawals: 1, elsewhere: 1}.otherwise(limits{prompts: 2}), []askPlan{apart(q), apart(q)}},
		{"a question and an unsent prompt", limits{prompts: 2, failedSends: 1, elsewhere: 1}, []askPlan{q}},
		{"a question and a prompt given back", limits{prompts: 2, ownTurns: 1, refusals: 1}, []askPlan{q}},
		{"a question in a turn of its own", limits{prompts: 2, ownTurns: 1, withdrawals: 1}, []askPlan{q}},
	} {
		if *deep {
			sc.limits = sc.limits.deeper()
		}
		for _, steers := range []bool{true, false} {
			first := newWorld(sc.limits, steers, sc.plan...)
			t.Run(fmt.Sprintf("%s, steers %v", sc.name, steers), func(t *testing.T) { walk(t, first) })
		}
	}
}

// deeper makes more possible.
func (l limits) deeper() limits {
	l.prompts = min(l.prompts+1, maxPrompts)
	l.deaths, l.cancels, l.closes = max(l.deaths, 1), max(l.cancels, 1), max(l.closes, 1)
	return l
}
