package tty

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"

	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// Size says that the terminal has that size.
type Size struct{ Width, Height int }

// End says that nothing more can be asked: the terminal hung up, the process
// was asked to end, or the context ended. It is the last event.
type End struct {
	// Gone says that the terminal is.
	Gone bool
	// Typed says that the user ended it: with Ctrl+D, or with Ctrl+C, which may
	// come as a signal.
	Typed bool
	// Told says that the process was told to end, by a signal.
	Told   bool
	Reason string
}

// hungUp is the end of a terminal that is gone.
var hungUp = End{Gone: true, Reason: "the terminal hung up"}

// Term is a terminal that gives its keys one by one and has a frame of lines
// drawn in place on it, not on the alternate screen. Its methods are for one
// goroutine. Close puts the terminal back as it was.
type Term struct {
	d       *Device
	events  chan any
	scr     *screen
	state   *term.State // of a terminal that was changed
	in      *seen.Inlet
	keys    cancelreader.CancelReader
	signals chan os.Signal
	quiet   func() // ends the signals of changes
	stop    context.CancelFunc
	done    sync.WaitGroup
	spoken  chan struct{} // holds one when there is something said to be shown

	due proc.Guarded[due]
}

// due is what has to be done before anything is drawn.
type due struct {
	size      Size // as last seen
	resized   bool
	suspend   bool     // Ctrl+Z was pressed
	continued bool     // the process was stopped, and others had the terminal
	stopping  bool     // that it goes on again is known
	said      []string // beside the frame, and not yet shown
}

// Start prepares the terminal. The events are a [Key], [Paste], [Size] or
// [End] each; whoever takes them must go on doing so, and draw after each,
// until Close. Ctrl+Z is none: it stops the process.
//
// Nothing is ever asked of the terminal: a reply could reach the shell.
func (d *Device) Start(ctx context.Context) (*Term, error) {
	// Before the terminal is changed: from here on a signal must not end the
	// process, and a resize must not be missed.
	t := &Term{d: d, events: make(chan any), signals: make(chan os.Signal, 1), spoken: make(chan struct{}, 1), in: seen.NewInlet(d.in).Keys()}
	t.due.Value.size = Size{d.Width, d.Height}
	signal.Notify(t.signals, ends...)
	resized, continued, quiet := changes()
	t.quiet = quiet
	if err := t.raw(); err != nil {
		t.unwatch()
		return nil, err
	}
	var err error
	if t.keys, err = d.watched(t.in); err != nil {
		t.cooked()
		t.unwatch()
		return nil, fmt.Errorf("terminal: reading keys: %w", err)
	}
	t.scr = &screen{w: d.Out, width: d.Width, height: d.Height, reflows: d.reflows()}
	t.scr.start()
	drawn.Step(func(terms *[]*Term) { *terms = append(*terms, t) })
	inner, stop := context.WithCancel(context.Background())
	t.stop = stop
	chunks := make(chan chunk)
	t.done.Go(func() { t.read(inner, chunks) })
	t.done.Go(func() { t.watch(ctx, inner, chunks, resized, continued) })
	return t, nil
}

// Events are what the terminal tells.
func (t *Term) Events() <-chan any { return t.events }

// Draw shows a frame of lines, cut to the terminal's size, with the cursor at
// row and column; a negative row hides it. It writes what has changed.
func (t *Term) Draw(lines []string, row, col int) {
	t.fit()
	t.scr.draw(lines, row, col)
}

// Print writes lines above the frame, where they stay. The frame is gone until
// it is drawn again.
func (t *Term) Print(lines ...string) {
	if len(lines) > 0 {
		t.fit()
		t.scr.above(lines)
	}
}

// Close takes the frame off and puts the terminal back as it was.
func (t *Term) Close() {
	drawn.Step(func(terms *[]*Term) { // what is said from here on is not this frame's
		*terms = slices.DeleteFunc(*terms, func(other *Term) bool { return other == t })
	})
	t.fit()
	t.scr.stop()
	t.stop()
	if t.keys.Cancel() {
		// Where a read cannot be cancelled, the reader ends with the read.
		t.done.Wait()
	}
	_ = t.keys.Close()
	t.cooked()
	t.unwatch()
}

// fit does what is due before anything is drawn. A terminal that has its old
// size again may have lost lines in between.
func (t *Term) fit() {
	var now due
	t.due.Step(func(d *due) {
		now = *d
		d.resized, d.suspend, d.continued, d.said = false, false, false, nil
	})
	if now.suspend {
		t.scr.stop()
		t.cooked()
		t.stopProcess()
	}
	if now.suspend || now.continued {
		_ = t.raw() // what fails here fails at the next key, too
		t.scr.restart()
	}
	if now.resized {
		t.scr.resize(now.size.Width, now.size.Height)
	}
	if len(now.said) > 0 {
		t.scr.above(now.said)
	}
}

// stopProcess stops the process until somebody lets it go on.
func (t *Term) stopProcess() {
	stopping := func(v bool) { t.due.Step(func(d *due) { d.stopping = v }) }
	stopping(true)
	if !stopProcess() {
		stopping(false)
	}
}

func (t *Term) raw() error {
	if t.d.tty == nil {
		return nil
	}
	state, err := term.MakeRaw(t.d.tty.Fd())
	if err != nil {
		return fmt.Errorf("terminal: raw mode: %w", err)
	}
	if t.state == nil { // as it was at first
		t.state = state
	}
	return nil
}

func (t *Term) cooked() {
	if t.state != nil {
		_ = term.Restore(t.d.tty.Fd(), t.state)
	}
}

func (t *Term) unwatch() {
	signal.Stop(t.signals)
	t.quiet()
}

// Watch makes sure that it is known of the next keys whether the hands had rested.
func (t *Term) Watch() { t.in.Watch(seen.Hands) }

// chunk is what was read at once.
type chunk struct {
	bytes []byte
	since time.Time // as that of a [Key]
}

// read hands on what is typed until the reader is cancelled. A reader that
// ends by itself is a terminal that hung up.
func (t *Term) read(ctx context.Context, chunks chan<- chunk) {
	defer close(chunks)
	for {
		buf := make([]byte, 4096)
		t.in.Judged() // the reader waits before it reads
		n, err := t.keys.Read(buf)
		if n > 0 {
			select {
			case chunks <- chunk{buf[:n], t.in.Since()}:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// watch makes events of what is typed and of what happens, up to the end of
// all, until inner ends.
func (t *Term) watch(ctx, inner context.Context, chunks <-chan chunk, resized, continued <-chan os.Signal) {
	d := decoder{now: time.Now}
	var b burst
	fingers := func(events []any) []any {
		if seen.Hands < 0 { // a test types at once
			return events
		}
		return b.add(events, time.Now())
	}
	lone := time.NewTimer(escapeTime)
	lone.Stop()
	if w, h, ok := t.d.size(); ok && (w != t.d.Width || h != t.d.Height) { // since it was opened
		if size, ok := t.look(); ok {
			t.emit(inner, []any{size})
		}
	}
	for {
		var events []any
		select {
		case <-inner.Done():
			return
		case c, ok := <-chunks:
			if !ok {
				chunks, events = nil, append(b.take(), hungUp)
				break
			}
			d.since = c.since
			events = fingers(d.feed(c.bytes))
			lone.Stop()
			if d.waiting() {
				lone.Reset(escapeTime)
			} else if len(b.held) > 0 {
				lone.Reset(seen.Burst)
			}
		case <-lone.C:
			events = append(fingers(d.flush()), b.take()...)
		case <-resized:
			if size, ok := t.look(); ok {
				events = []any{size}
			}
		case <-continued:
			events = t.continues()
		case <-t.spoken: // whoever takes an event draws
			t.due.Step(func(d *due) { events = []any{d.size} })
		case s := <-t.signals:
			events = []any{endBy(s)}
		case <-ctx.Done():
			events = []any{endOf(ctx, t.signals)}
		}
		if t.emit(inner, t.suspends(events)) {
			return
		}
	}
}

// emit hands events on, and reports that the last one was among them.
func (t *Term) emit(inner context.Context, events []any) (over bool) {
	for _, ev := range events {
		end, over := ev.(End)
		if end.Gone {
			outliveHangup()
		}
		select {
		case t.events <- ev:
		case <-inner.Done():
			return true
		}
		if over {
			return true
		}
	}
	return false
}

// look asks the terminal for its size.
func (t *Term) look() (Size, bool) {
	w, h, ok := t.d.size()
	if !ok {
		return Size{}, false
	}
	t.due.Step(func(d *due) { d.size, d.resized = Size{w, h}, true })
	return Size{w, h}, true
}

// continues is told that the process goes on.
func (t *Term) continues() (events []any) {
	t.look()
	t.due.Step(func(d *due) {
		d.continued, d.stopping = !d.stopping, false
		events = []any{d.size}
	})
	return events
}

// suspends takes Ctrl+Z out of the events. What takes its place makes the
// program draw, and with that do what is due.
func (t *Term) suspends(events []any) []any {
	for i, ev := range events {
		if k, ok := ev.(Key); ok && k.Name == "ctrl+z" {
			t.due.Step(func(d *due) { d.suspend, events[i] = true, d.size })
		}
	}
	return events
}

// outliveHangup keeps the SIGHUP that comes with a hang-up, before or after
// it is noticed, from ending the process: it has yet to say what happened.
var outliveHangup = sync.OnceFunc(func() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
})

// ends are the signals that end the asking.
var ends = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// endBy is the end that a signal means.
func endBy(s os.Signal) End {
	switch s {
	case syscall.SIGHUP:
		return hungUp
	case os.Interrupt:
		return End{Typed: true, Reason: "interrupted by a signal: " + s.String()}
	}
	return End{Told: true, Reason: s.String() + " signal received"}
}

// endOf is the end that a context's end means. If a signal has ended the context,
// it is what the signal means.
func endOf(ctx context.Context, signals chan os.Signal) End {
	// A signal goes to all who want it under a lock, which this takes: one that
	// has ended ctx is in signals afterwards.
	signal.Notify(signals, ends...)
	select {
	case s := <-signals:
		return endBy(s)
	default:
		return End{Reason: context.Cause(ctx).Error()}
	}
}
