// Package desk_test holds a desk against a model: drawn calls, and what goroutines do at once.
package desk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// table is a desk as the ops of a model use it, one session of it.
type table struct {
	*desk.Desk
	session string
	tickets map[int]*desk.Ticket
}

// do does an op and says what came of it, in the model's words.
func (b *table) do(o op) string {
	name := fmt.Sprint(b.session, o.ticket)
	switch o.do {
	case "post":
		b.tickets[o.ticket] = b.Post(context.Background(), desk.Item{Name: name, Kind: o.kind, Call: convert.Call{Session: b.session, ID: o.id, Questions: []convert.Question{{Text: "Which?"}}}})
		return "ok"
	case "turn":
		switch err := b.tickets[o.ticket].Turn(); {
		case err == nil:
			return "ok"
		case errors.Is(err, desk.ErrSettled):
			return "settled"
		default:
			return err.Error()
		}
	case "settle":
		stands, first := b.tickets[o.ticket].Settle(outcome(o.says), "asker")
		if first {
			return "first"
		}
		return "stands " + words(stands)
	case "leave":
		b.tickets[o.ticket].Leave()
		return ""
	case "answer":
		return result(b.Answer(name, outcome(o.says).Answers, "phone"))
	case "cancel":
		return result(b.Cancel(name, "phone"))
	case "list":
		var ids []string
		for _, e := range b.List() {
			if e.Call.ID == e.Name {
				e.Call.ID = "named " + strings.TrimPrefix(e.Name, b.session)
			}
			if e.Call.Session == b.session {
				ids = append(ids, fmt.Sprint(e.Call.ID, " ", e.Place))
			}
		}
		return strings.Join(ids, ", ")
	}
	panic(o.do)
}

func result(err error) string {
	var settled *desk.SettledError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &settled):
		return "settled " + words(settled.Outcome)
	case errors.Is(err, desk.ErrNotOpen):
		return "not open"
	}
	return err.Error()
}

// drawOp draws an op of an asker or of somebody else. The ticket is one of those
// that are posted by then.
func drawOp(t *rapid.T) op {
	o := op{do: rapid.SampledFrom([]string{"post", "post", "turn", "turn", "settle", "leave", "leave", "answer", "cancel", "list"}).Draw(t, "do")}
	o.id = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
	o.kind = rapid.SampledFrom([]desk.Kind{desk.Question, desk.Form, desk.Permission}).Draw(t, "kind")
	o.ticket = rapid.IntRange(0, 99).Draw(t, "ticket")
	switch o.do {
	case "answer":
		o.says = rapid.SampledFrom([]string{"yes", "no"}).Draw(t, "answer")
	case "cancel":
		o.says = "cancelled"
	default:
		o.says = rapid.SampledFrom([]string{"yes", "no", "cancelled", "failed"}).Draw(t, "says")
	}
	return o
}

// Every order of calls does what the model says, in two sessions that do not
// touch each other; turns come when the model says so, and watchers see all.
func TestMachine(t *testing.T) {
	check := func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.Custom(drawOp), 10, 60).Draw(rt, "ops")
		first := rapid.SliceOfN(rapid.Bool(), len(ops), len(ops)).Draw(rt, "session")
		var problems []string
		synctest.Test(t, func(*testing.T) { problems = play(ops, first) })
		if len(problems) > 0 {
			rt.Fatal(strings.Join(problems, "\n"))
		}
	}
	for range 20 { // one is cheap
		rapid.Check(t, check)
	}
}

// play does the ops, each in the first session or the second, and says what is
// wrong.
func play(ops []op, first []bool) []string {
	d, wrong := new(desk.Desk), &problems{}
	log := watch(d)
	one, two := newMachine(d, "s1", wrong), newMachine(d, "s2", wrong)
	for i, o := range ops {
		m := two
		if first[i] {
			m = one
		}
		m.step(o)
		synctest.Wait()
		one.checkTurns()
		two.checkTurns()
	}
	one.finish()
	two.finish()
	synctest.Wait()
	log.check(wrong)
	return wrong.list
}

type problems struct{ list []string }

func (p *problems) addf(format string, args ...any) {
	p.list = append(p.list, fmt.Sprintf(format, args...))
}

// machine is one session of the desk beside its model.
type machine struct {
	table
	model   model
	posted  []int
	serial  int
	turning map[int]chan string // turns that have not come yet
	wrong   *problems
}

func newMachine(d *desk.Desk, session string, wrong *problems) *machine {
	return &machine{table: table{d, session, map[int]*desk.Ticket{}}, model: newModel(), turning: map[int]chan string{}, wrong: wrong}
}

func (m *machine) step(o op) {
	switch o.do {
	case "post":
		m.serial++
		o.ticket = m.serial
	case "turn", "settle", "leave", "answer", "cancel":
		if len(m.posted) == 0 {
			return
		}
		o.ticket = m.posted[o.ticket%len(m.posted)]
		if o.do == "turn" && m.turning[o.ticket] != nil {
			return
		}
	}
	want, next := m.model.step(o)
	m.model = next
	if o.do == "turn" {
		m.turn(o.ticket)
		return
	}
	if got := m.do(o); got != want {
		m.wrong.addf("%s: %s: got %q, want %q", m.session, o, got, want)
	}
	if o.do == "post" && want == "ok" {
		m.posted = append(m.posted, o.ticket)
	}
}

func (m *machine) turn(ticket int) {
	done := make(chan string, 1)
	m.turning[ticket] = done
	b := m.table
	go func() { done <- b.do(op{do: "turn", ticket: ticket}) }()
}

// checkTurns checks that those turns have come that should.
func (m *machine) checkTurns() {
	for _, ticket := range slices.Sorted(maps.Keys(m.turning)) {
		want, next := m.model.step(op{do: "turn", ticket: ticket})
		got := "waits"
		select {
		case got = <-m.turning[ticket]:
			delete(m.turning, ticket)
			m.model = next
		default:
		}
		if got != want {
			m.wrong.addf("%s: turn of #%d: got %q, want %q", m.session, ticket, got, want)
		}
	}
}

// finish leaves everything.
func (m *machine) finish() {
	for i := range m.posted {
		m.step(op{do: "leave", ticket: i})
	}
	synctest.Wait()
	for _, ticket := range m.posted {
		if m.tickets[ticket].Context().Err() == nil {
			m.wrong.addf("%s: the context of #%d has not ended", m.session, ticket)
		}
		delete(m.turning, ticket)
	}
	m.step(op{do: "list"})
}

// watchLog is what a watcher saw.
type watchLog struct{ entries []desk.Entry }

func watch(d *desk.Desk) *watchLog {
	log := &watchLog{}
	d.Watch(func(e desk.Entry) { log.entries = append(log.entries, e) })
	return log
}

// check checks that every item was first seen queued and last seen settled, and
// settled once.
func (l *watchLog) check(wrong *problems) {
	last := map[string]desk.State{}
	for _, e := range l.entries {
		before, seen := last[e.Name]
		if !seen && e.State != desk.Queued || before == desk.Settled {
			wrong.addf("%s: %s after %s", e.Name, e.State, before)
		}
		last[e.Name] = e.State
	}
	for name, state := range last {
		if state != desk.Settled {
			wrong.addf("%s: last seen %s", name, state)
		}
	}
}
