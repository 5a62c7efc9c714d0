package desk_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// op is something that is done to one session of a desk.
type op struct {
	do     string // post, turn, settle, leave, answer, cancel, list
	ticket int    // whose, for those of an asker
	id     string // of the item, for the others and post
	kind   desk.Kind
	says   string // the outcome: words of an answer, "cancelled" or "failed"
}

func (o op) String() string {
	return fmt.Sprintf("%s #%d %s %s %s", o.do, o.ticket, o.id, o.kind, o.says)
}

// modelItem is an item that has its place in the queue.
type modelItem struct {
	ticket int
	id     string
	kind   desk.Kind
	shown  bool
	ended  string // the outcome that stands, empty while it is open
}

// model is what one session of a desk is to the outside.
type model struct {
	queue []modelItem
	ended map[int]string    // by ticket
	last  map[string]string // by id
}

func newModel() model { return model{ended: map[int]string{}, last: map[string]string{}} }

func (m model) clone() model {
	c := newModel()
	c.queue = slices.Clone(m.queue)
	for k, v := range m.ended {
		c.ended[k] = v
	}
	for k, v := range m.last {
		c.last[k] = v
	}
	return c
}

// step says what comes of an op. A turn that has not come yet is "waits".
func (m model) step(o op) (string, model) {
	m = m.clone()
	switch o.do {
	case "post":
		if m.open(o.id) >= 0 {
			return "open already", m
		}
		m.queue = append(m.queue, modelItem{ticket: o.ticket, id: o.id, kind: o.kind})
		return "ok", m
	case "turn":
		switch {
		case m.ended[o.ticket] != "":
			return "settled", m
		case m.queue[0].ticket == o.ticket:
			m.queue[0].shown = true
			return "ok", m
		}
		return "waits", m
	case "settle":
		if end := m.ended[o.ticket]; end != "" {
			return "stands " + end, m
		}
		m.settle(m.place(o.ticket), o.says)
		return "first", m
	case "leave":
		if m.ended[o.ticket] == "" {
			m.settle(m.place(o.ticket), "failed")
		}
		m.queue = slices.DeleteFunc(m.queue, func(i modelItem) bool { return i.ticket == o.ticket })
		return "", m
	case "answer", "cancel":
		at := m.open(o.id)
		switch {
		case at >= 0:
			m.settle(at, o.says)
			return "ok", m
		case m.last[o.id] != "":
			return "settled " + m.last[o.id], m
		}
		return "not open", m
	case "list":
		var ids []string
		for i, item := range m.queue {
			if item.ended == "" {
				ids = append(ids, fmt.Sprint(item.id, " ", i))
			}
		}
		return strings.Join(ids, ", "), m
	}
	panic(o.do)
}

func (m model) open(id string) int {
	return slices.IndexFunc(m.queue, func(i modelItem) bool { return i.id == id && i.ended == "" })
}

func (m model) place(ticket int) int {
	return slices.IndexFunc(m.queue, func(i modelItem) bool { return i.ticket == ticket })
}

func (m *model) settle(at int, says string) {
	m.end(at, says)
	if says == "cancelled" && m.queue[at].kind == desk.Question {
		for i := 1; i < len(m.queue); i++ {
			m.end(i, "withdrawn")
		}
	}
	m.queue = slices.DeleteFunc(m.queue, func(i modelItem) bool { return i.ended != "" && !i.shown })
}

func (m *model) end(at int, says string) {
	if item := &m.queue[at]; item.ended == "" {
		item.ended, m.ended[item.ticket], m.last[item.id] = says, says, says
	}
}

// outcome and words translate between a desk's outcomes and the model's.
func outcome(says string) convert.Outcome {
	switch says {
	case "cancelled":
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case "failed":
		return convert.Outcome{Status: convert.Failed}
	}
	return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: says}}}
}

func words(o convert.Outcome) string {
	switch {
	case o.Status == convert.Answered:
		return o.Answers[0].Text
	case strings.HasPrefix(o.Reason, "Withdrawn"):
		return "withdrawn"
	}
	return o.Status.String()
}
