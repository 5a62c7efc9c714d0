package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// state is what the agent is doing.
type state int

const (
	starting state = iota
	idle
	working
	cancelling
)

// window is the client on a terminal: lines that stay above, and below them
// what is going on, with the picker or the prompt.
type window struct {
	ctx    context.Context
	l      *link
	o      *Options
	now    func() time.Time
	screen screen
	wire   wire
	prompt *prompt

	state     state
	gone      bool      // the agent is; a turn that runs ends by itself
	since     time.Time // of the state
	frame     int
	running   int          // prompts that have not ended
	eager     bool         // the prompt is sent when the session is there
	hint      string       // about the last key
	commands  []command    // the agent's
	pager     *cells.Pager // shown in place of the rest
	asks      []*waiting   // the first is in the picker
	picker    *picker.Picker
	shown     description // what is in the picker
	withdrawn time.Time   // when the question in the picker was
	answered  time.Time   // when the last one was
	ctrlC     time.Time   // when it cancelled a turn

	height     int
	transcript io.Writer // gets what stays above, too, if not nil
	over       bool      // time to leave, with err
	err        error
}

// runWindow runs the client on a terminal; start opens the session.
func runWindow(ctx context.Context, l *link, o *Options, start func()) error {
	where := tty.Options{In: o.In, Out: o.Out, Environ: o.Environ}
	var transcript io.Writer
	if tty.IsTerminal(o.In) && !tty.IsTerminal(o.Out) {
		// The output goes elsewhere: what was said goes there, too, but the
		// person is asked where they sit.
		where.Out, transcript = nil, o.Out
	}
	d, err := tty.Open(where)
	if err != nil {
		return err
	}
	defer d.Close()
	if !d.Drawable {
		return tty.ErrNoTerminal
	}
	t, err := d.Start(ctx)
	if err != nil {
		return err
	}
	defer t.Close()
	if d.Width <= 0 || d.Height <= 0 { // a terminal that does not know its size
		d.Width, d.Height = 80, 24
	}
	w := &window{ctx: ctx, l: l, o: o, now: time.Now, prompt: newPrompt(), height: d.Height, transcript: transcript, wire: wire{full: o.WireFull}}
	w.screen = screen{Width: d.Width, Live: true, Style: true, NoColor: d.NoColor, Replay: o.replays()}
	w.since = w.now()
	start()
	w.run(t)
	return w.err
}

// run shows what comes until it is time to leave.
func (w *window) run(t *tty.Term) {
	var tick <-chan time.Time // turns the spinner
	for {
		w.print(t)
		if w.over {
			return
		}
		w.openPicker()
		t.Draw(w.view())
		if w.picker != nil && w.pager == nil && w.picker.Drawn(w.now()) {
			t.Watch()
		}
		if tick == nil && w.spins() {
			tick = time.After(spinTime)
		}
		select {
		case ev := <-t.Events():
			w.terminal(ev)
		case <-w.l.box.Ready:
			for _, v := range w.l.box.Take() {
				if !w.over {
					w.event(v)
				}
			}
		case <-tick:
			tick = nil
			w.frame++
		}
	}
}

// print writes the lines that are finished.
func (w *window) print(t *tty.Term) {
	lines := w.screen.Lines()
	t.Print(lines...)
	if w.transcript == nil {
		return
	}
	for _, l := range lines {
		_, _ = fmt.Fprintln(w.transcript, cells.Plain(l))
	}
}

// terminal takes an event of the terminal.
func (w *window) terminal(ev any) {
	switch ev := ev.(type) {
	case tty.Size:
		if ev.Width <= 0 || ev.Height <= 0 {
			break
		}
		w.screen.Width, w.height = ev.Width, ev.Height
		if w.picker != nil {
			w.picker.Update(ev)
		}
	case tty.Key:
		w.key(ev)
	case tty.Paste:
		w.paste(ev)
	case tty.End:
		if ev.Typed {
			w.dismiss()
		}
		w.leave(errors.New(ev.Reason))
	}
}

// leave ends the window. What is asked stays without a reply, unless it was dismissed:
// that a window ends is no choice of the user's.
func (w *window) leave(err error) {
	if w.over {
		return
	}
	w.over, w.err = true, err
	w.screen.EndTurn("")
	w.asks, w.picker = nil, nil
}

// dismiss is for a user who wants none of what is asked.
func (w *window) dismiss() {
	for _, a := range w.asks {
		a.dismiss()
	}
	if w.picker != nil {
		w.picker.Update(tty.End{Typed: true})
		w.screen.add(blockNote, w.picker.Record()...)
	}
	w.asks, w.picker = nil, nil
}

func (w *window) enter(s state) { w.state, w.since, w.hint = s, w.now(), "" }

// event takes what came from the agent.
func (w *window) event(v any) {
	switch v := v.(type) {
	case opened:
		w.opened(v.err)
	case updated:
		w.updated(v)
		w.renew()
	case traced:
		w.screen.Trace(w.wire.lines(v.dir, v.line, w.screen.Width))
	case asked:
		w.screen.endText()
		w.asks = append(w.asks, v.waiting)
	case withdrawn:
		w.withdraw(v.waiting)
	case turned:
		w.turned(v)
	case gone:
		if w.gone = true; w.state == idle {
			w.leave(errGone)
		}
	}
}

// updated takes an update of the session.
func (w *window) updated(v updated) {
	switch u := v.update; u.Get("sessionUpdate").Str {
	case "available_commands_update":
		w.commands = readCommands(u)
	case "user_message_chunk":
		if w.screen.Replay {
			w.prompt.remember(contentText(u.Get("content")))
		}
	}
	w.screen.Update(v.session, v.update)
}

func (w *window) opened(err error) {
	if w.screen.Replay {
		w.screen.EndTurn("")
		w.screen.Replay = false
	}
	switch {
	case errors.Is(err, errNotChosen):
		w.leave(ErrCancelled)
	case err != nil:
		w.leave(w.l.explain(err))
	case w.o.Prompt != "":
		w.say(w.o.Prompt)
	default:
		w.screen.add(blockNote, w.screen.greeting(w.l.told.greeted(), w.o.folder())...)
		w.screen.add(blockNone)
		w.enter(idle)
		if w.eager && w.l.left == "" { // a question that is asked again was not seen yet
			w.submit()
		}
		w.eager = false
	}
}

// say sends a prompt. One that comes while the agent works is sent, too: an
// agent that can be steered takes it, and others let it wait.
func (w *window) say(words string) {
	w.screen.Say(words)
	if w.running++; w.state != working {
		w.enter(working)
	}
	go w.l.prompt(w.ctx, words)
}

func (w *window) turned(t turned) {
	w.running--
	if w.running == 0 {
		w.screen.EndTurn(t.waiting)
	}
	if err := w.l.ended(t, w.o.Once, &w.screen); err != nil {
		w.leave(err)
		return
	}
	if w.o.Once {
		w.leave(t.once())
		return
	}
	if w.gone && w.running == 0 {
		w.leave(errGone)
		return
	}
	if w.running == 0 {
		w.screen.add(blockNone)
		w.enter(idle)
	}
}

// stop is Ctrl+C: it cancels the turn, and where there is none, or for the
// second time, leaves. What counts is when it was pressed, not when it is looked at.
func (w *window) stop(at time.Time) {
	again := at.Sub(w.ctrlC) < againTime
	switch {
	case w.state == working && !again:
		w.enter(cancelling)
		w.ctrlC = at
		w.dismiss() // a cancelled turn has no open requests
		go w.l.cancel(w.ctx)
	case w.state == idle && !again && (!w.prompt.empty() || w.hint != leaveHint):
		w.prompt.clear()
		w.hint = leaveHint
	default:
		var err error
		if w.o.Once {
			err = ErrCancelled
		}
		w.dismiss()
		w.leave(err)
	}
}

// againTime is how soon after the one that cancelled a turn a Ctrl+C is the
// second of two: the turn may have ended in between.
const againTime = time.Second

const leaveHint = "Ctrl+C again or Ctrl+D quits"
