package desk_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// op is something that is done to one session of a desk.
type op struct {
	do     string // post, turn, settle, leave, answer, cancel, list
	ticket int    // whose: its number is in the item's name
	id     string // that the agent gives it, for post
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
}

// model is what one session of a desk is to the outside.
type model struct {
	queue []modelItem
	ended map[int]string // by ticket: the outcome that stands
}

func newModel() model { return model{ended: map[int]string{}} }

func (m model) clone() model {
	m.queue, m.ended = slices.Clone(m.queue), maps.Clone(m.ended)
	return m
}

// step says what comes of an op. A turn that has not come yet is "waits".
func (m model) step(o op) (string, model) {
	m = m.clone()
	switch o.do {
	case "post":
		id := o.id
		if m.open(id) >= 0 { // it is another one
			id = fmt.Sprint("named ", o.ticket)
		}
		m.queue = append(m.queue, modelItem{ticket: o.ticket, id: id, kind: o.kind})
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
		m.leave(o.ticket)
		return "", m
	case "answer", "cancel":
		return m.answer(o), m
	case "list":
		return m.list(), m
	}
	panic(o.do)
}

func (m *model) leave(ticket int) {
	if m.ended[ticket] == "" {
		m.settle(m.place(ticket), "given up")
	}
	m.queue = slices.DeleteFunc(m.queue, func(i modelItem) bool { return i.ticket == ticket })
}

func (m *model) answer(o op) string {
	at := m.place(o.ticket)
	switch {
	case m.ended[o.ticket] != "":
		return "settled " + m.ended[o.ticket]
	case at >= 0:
		m.settle(at, o.says)
		return "ok"
	}
	return "not open"
}

func (m *model) list() string {
	var words []string
	for i, item := range m.queue {
		if m.ended[item.ticket] == "" {
			words = append(words, fmt.Sprint(item.id, " ", i))
		}
	}
	return strings.Join(words, ", ")
}

func (m model) open(id string) int {
	return slices.IndexFunc(m.queue, func(i modelItem) bool { return i.id == id && m.ended[i.ticket] == "" })
}

func (m model) place(ticket int) int {
	return slices.IndexFunc(m.queue, func(i modelItem) bool { return i.ticket == ticket })
}

func (m *model) settle(at int, says string) {
	m.end(at, says)
	m.queue = slices.DeleteFunc(m.queue, func(i modelItem) bool { return m.ended[i.ticket] != "" && !i.shown })
}

func (m *model) end(at int, says string) {
	item := m.queue[at]
	if m.ended[item.ticket] != "" {
		return
	}
	m.ended[item.ticket] = says
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
	case strings.HasSuffix(o.Reason, "given up"):
		return "given up"
	}
	return o.Status.String()
}
