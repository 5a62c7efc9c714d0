package client

import (
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/internal/picker"
	"github.com/acp-bridge/acp-bridge/adapter/internal/tty"
)

// deafTime is how long a picker that opens under typing hands takes no keys:
// they were not meant for it.
const deafTime = 400 * time.Millisecond

// openPicker shows the first request that waits, if none is shown.
func (w *window) openPicker() {
	if w.picker != nil || len(w.asks) == 0 {
		return
	}
	a := w.asks[0]
	opts := picker.Options{NoColor: w.noColor, Width: w.screen.Width, Height: w.height}
	if a.closed {
		w.picker = picker.NewChoice(a.call.Questions[0], opts)
	} else {
		w.picker = picker.New(a.call, opts)
		w.screen.Hide(a.call.ID) // the picker leaves its own record
	}
	if w.now().Sub(w.typed) < deafTime {
		w.deaf = w.now().Add(deafTime)
	}
}

// pick hands a key or pasted text to the picker, and the outcome to the agent.
func (w *window) pick(ev any) {
	w.picker.Update(ev)
	outcome, done := w.picker.Done()
	if !done {
		return
	}
	a, p, index := w.asks[0], w.picker, -1
	if !a.call.Questions[0].MultiSelect && len(a.call.Questions) == 1 {
		index = p.Index()
	}
	if err := a.answer(outcome, index); err != nil {
		p.Again()
		w.screen.Note("✗ " + err.Error())
		return
	}
	w.screen.add(blockNote, p.Record()...)
	w.close(a)
}

// close goes on to the next request.
func (w *window) close(a *waiting) {
	shown := len(w.asks) > 0 && w.asks[0] == a
	w.asks = slices.DeleteFunc(w.asks, func(b *waiting) bool { return a == b })
	if shown {
		w.picker = nil
	}
}

// withdraw takes back a request that the agent gave up.
func (w *window) withdraw(a *waiting) {
	if slices.Contains(w.asks, a) {
		w.screen.Note("The agent withdrew its question: " + a.call.Questions[0].Text)
		w.close(a)
	}
}

// key handles a key.
func (w *window) key(k tty.Key) {
	typed := w.typed
	w.typed = w.now()
	if k.Name == "ctrl+c" {
		w.stop()
		return
	}
	if w.picker != nil {
		if w.now().Before(w.deaf) && w.now().Sub(typed) < deafTime {
			w.deaf = w.now().Add(deafTime)
			return
		}
		w.pick(k)
		return
	}
	if w.over || w.o.Once {
		return
	}
	w.hint = ""
	switch k.Name {
	case "enter":
		w.submit()
	case "ctrl+d":
		if w.prompt.empty() {
			w.leave(nil)
			return
		}
		w.prompt.key(k, w.screen.Width)
	default:
		w.prompt.key(k, w.screen.Width)
	}
}

func (w *window) paste(ev tty.Paste) {
	switch {
	case w.picker != nil:
		w.pick(ev)
	case !w.o.Once && !w.over:
		w.prompt.field.Insert(ev.Text)
	}
}
