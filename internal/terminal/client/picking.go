package client

import (
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// goneTime is how long after a question was withdrawn the next one takes its
// place in the user's eyes.
const goneTime = 10 * time.Second

// openPicker shows the first request that waits, if none is shown.
func (w *window) openPicker() {
	if w.picker != nil || len(w.asks) == 0 {
		return
	}
	if w.pager != nil { // whoever reads scrolls with keys that would answer
		w.pager.Title = "A question is waiting: Esc shows it"
		return
	}
	a := w.asks[0]
	d := w.l.told.described(a)
	w.shown = d
	opts := picker.Options{NoColor: w.screen.NoColor, Width: w.screen.Width, Height: w.height, Markdown: !d.verbatim, Signs: d.signs, Reasons: a.reasons}
	if a.closed {
		w.picker = picker.NewChoice(d.here.Questions[0], opts)
	} else {
		w.picker = picker.New(d.here, opts)
		w.screen.Hide(a.session, a.call.ID) // the picker leaves its own record
	}
	w.picker.Guard(w.now().Sub(w.withdrawn) < goneTime)
	w.withdrawn = time.Time{}
}

// pick hands a key or pasted text to the picker, and the outcome to the agent.
func (w *window) pick(ev any) {
	w.picker.Update(ev)
	outcome, done := w.picker.Done()
	if !done || w.renew() {
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
	w.answered = w.now()
}

// anotherNote says that what was asked is not what is asked now.
const anotherNote = "The agent has changed what it asks for:"

// renew shows what the request in the picker is by now, if that is another one. What was
// said to the one before is no answer.
func (w *window) renew() bool {
	if w.picker == nil || !w.shown.another() {
		return false
	}
	if now := w.l.told.described(w.asks[0]); now.sameHere(w.shown) {
		w.shown = now
		return false
	}
	w.screen.Note(anotherNote)
	w.picker, w.withdrawn = nil, w.now()
	return true
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
	if note := w.l.overruled(a); note != "" {
		w.screen.Note(note)
	}
	if slices.Contains(w.asks, a) {
		w.screen.Note(w.l.gone(a))
		if w.asks[0] == a { // the user may be about to answer it
			w.withdrawn = w.now()
		}
		w.close(a)
	}
}

// key handles a key.
func (w *window) key(k tty.Key) {
	if k.Name == "ctrl+c" {
		w.stop(k.At)
		return
	}
	if w.pager != nil {
		if w.pager.Key(k.Name) {
			w.pager = nil
		}
		return
	}
	if w.picker != nil {
		w.pick(k)
		return
	}
	w.hint = ""
	if k.Name == "ctrl+o" {
		if w.pager = w.screen.out.pager(w.screen.style()); w.pager == nil {
			w.hint = "No tool output yet"
		}
		return
	}
	if w.over || w.o.Once || w.stray(k) {
		return
	}
	w.eager = false // what is changed is sent again
	switch k.Name {
	case "enter":
		w.submit()
	case "tab":
		w.prompt.field.Set(complete(w.prompt.field.String(), w.o.known(w.commands)))
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

// stray reports whether a key was meant for a question that is gone: it must
// not become a prompt. Behind an answer that is Enter, pressed twice; with another key
// the user types on.
func (w *window) stray(k tty.Key) bool {
	gone := &w.withdrawn
	if k.Name == "enter" && w.answered.After(w.withdrawn) {
		gone = &w.answered
	} else {
		w.answered = time.Time{}
	}
	if k.At.Sub(*gone) >= seen.Hands {
		return false
	}
	*gone = k.At
	return true
}

func (w *window) paste(ev tty.Paste) {
	switch {
	case w.pager != nil:
	case w.picker != nil:
		w.pick(ev)
	case !w.o.Once && !w.over:
		w.prompt.field.Insert(ev.Text)
	}
}
