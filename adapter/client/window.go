package client

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
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
	start  func()
	screen Screen
	wire   wire
	prompt *prompt

	state  state
	gone   bool      // the agent is; a turn that runs ends by itself
	since  time.Time // of the state
	ticks  bool      // the spinner turns
	frame  int
	hint   string     // about the last key
	asks   []*waiting // the first is in the picker
	picker *terminal.Model
	typed  time.Time // the last key
	deaf   time.Time // until when keys are not for the picker
	ctrlC  time.Time // when it cancelled a turn

	height   int
	queue    []string // to be written above
	printing bool
	over     bool // time to leave, with err
	err      error
}

// Messages of the window to itself.
type (
	arrived struct{ events []any }
	printed struct{}
	tick    struct{}
)

func runWindow(ctx context.Context, l *link, o *Options, start func()) error {
	w := &window{ctx: ctx, l: l, o: o, now: time.Now, start: start, prompt: newPrompt(), height: 24}
	w.screen = Screen{Width: 80, Live: true, Style: true}
	_, err := terminal.Run(ctx, w, &terminal.Options{In: o.In, Out: o.Out, Environ: o.Environ})
	if err != nil {
		return err
	}
	return w.err
}

func (w *window) Init() tea.Cmd {
	w.since = w.now()
	w.start()
	return tea.Batch(w.listen, w.spin())
}

// listen waits for what the agent sends.
func (w *window) listen() tea.Msg {
	select {
	case <-w.l.box.ready:
		return arrived{w.l.box.take()}
	case <-w.ctx.Done():
		return nil
	}
}

func (w *window) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width < 1 || msg.Height < 1 {
			break // a terminal that does not know its size
		}
		w.screen.Width, w.height = msg.Width, msg.Height
		if w.picker != nil {
			w.picker.Update(msg)
		}
	case arrived:
		for _, v := range msg.events {
			if !w.over {
				w.event(v)
			}
		}
		cmds = append(cmds, w.listen)
	case printed:
		w.printing = false
	case tick:
		w.ticks = false
		w.frame++
	case tea.KeyPressMsg:
		w.key(msg)
	case tea.PasteMsg:
		w.paste(msg)
	case terminal.EndMsg:
		w.end(msg)
		return w, nil
	}
	flush := w.flush()
	w.openPicker()
	return w, tea.Batch(append(cmds, w.spin(), flush)...)
}

// flush writes finished lines above the view, one batch after the other, and
// leaves when all are written.
func (w *window) flush() tea.Cmd {
	w.queue = append(w.queue, w.screen.Lines()...)
	switch {
	case w.printing:
		return nil
	case len(w.queue) > 0:
		text := strings.Join(w.queue, "\n")
		w.queue, w.printing = nil, true
		return tea.Sequence(terminal.Println(text), func() tea.Msg { return printed{} })
	case w.over:
		return tea.Quit
	}
	return nil
}

func (w *window) leave(err error) {
	if w.over {
		return
	}
	w.over, w.err = true, err
	w.screen.EndTurn("")
	for _, a := range w.asks {
		a.dismiss()
	}
	w.asks, w.picker = nil, nil
}

// end is the end of the terminal, or of the process.
func (w *window) end(msg terminal.EndMsg) {
	w.leave(errors.New(msg.Reason))
}

func (w *window) enter(s state) { w.state, w.since, w.hint = s, w.now(), "" }

// event takes what came from the agent.
func (w *window) event(v any) {
	switch v := v.(type) {
	case opened:
		w.opened(v.err)
	case updated:
		w.screen.Update(v.update)
	case traced:
		w.screen.Trace(w.wire.line(v.dir, v.line, w.screen.Width))
	case asked:
		w.screen.endText()
		w.screen.explain(v.request)
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

func (w *window) opened(err error) {
	switch {
	case err != nil:
		w.leave(w.l.explain(err))
	case w.o.Prompt != "":
		w.say(w.o.Prompt)
	default:
		w.enter(idle)
	}
}

// say sends a prompt.
func (w *window) say(words string) {
	w.screen.Say(words)
	w.enter(working)
	w.typed = time.Time{} // whoever sent a prompt waits for what comes
	go w.l.prompt(w.ctx, words)
}

func (w *window) turned(t turned) {
	w.screen.EndTurn(t.waiting)
	err := w.l.explain(t.err)
	switch {
	case errors.Is(err, errGone), w.o.Once && err != nil:
		w.leave(err)
		return
	case err != nil:
		w.screen.Note("✗ " + err.Error())
	case t.reason != acp.StopReasonEndTurn:
		w.screen.Note(stopNote(t.reason))
	}
	if w.o.Once {
		if t.reason == acp.StopReasonCancelled {
			err = ErrCancelled
		}
		w.leave(err)
		return
	}
	if w.gone {
		w.leave(errGone)
		return
	}
	w.screen.add(blockNone)
	w.enter(idle)
}

// stop is Ctrl+C: it cancels the turn, and where there is none, or for the
// second time, leaves.
func (w *window) stop() {
	again := w.now().Sub(w.ctrlC) < againTime
	switch {
	case w.state == working && !again:
		w.enter(cancelling)
		w.ctrlC = w.now()
		for _, a := range w.asks { // a cancelled turn has no open requests
			a.dismiss()
		}
		if w.picker != nil {
			w.picker.Update(terminal.EndMsg{Status: convert.Cancelled})
			w.screen.add(blockNote, w.picker.Record()...)
		}
		w.asks, w.picker = nil, nil
		go w.l.cancel(w.ctx)
	case w.state == idle && !again && (!w.prompt.empty() || w.hint != leaveHint):
		w.prompt.clear()
		w.hint = leaveHint
	default:
		var err error
		if w.o.Once {
			err = ErrCancelled
		}
		w.leave(err)
	}
}

// againTime is how soon after the one that cancelled a turn a Ctrl+C is the
// second of two: the turn may have ended in between.
const againTime = time.Second

const leaveHint = "Ctrl+C again or Ctrl+D leaves"
