package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"

	"github.com/acp-bridge/acp-bridge/convert"
)

// EndMsg tells a model run by [Run] that it cannot go on: the terminal hung
// up, the process was asked to end, or the context ended. The program quits
// after the model has seen it.
type EndMsg struct {
	// Status is Disconnected when the terminal is gone, else Cancelled.
	Status convert.Status
	Reason string
}

// errHangup ends the context of a program whose terminal is gone.
var errHangup = errors.New("the terminal hung up")

// Run runs a Bubble Tea model on a terminal, drawn in place and not on the
// alternate screen, and puts the terminal back as it was, however the program
// ends. Use it instead of a bare [tea.Program], which does not notice that a
// terminal hung up, loses a goroutine when keys are left unread, sends queries
// whose replies can reach the shell, and leaves lines behind when a frame gets
// shorter or the terminal narrower.
//
// The model is told of a hang-up, of a signal (SIGINT, SIGTERM, SIGHUP) and
// of the end of ctx with an [EndMsg]. Of its views the content and the cursor
// count. It writes above them with [Println], not with tea.Println. Run
// returns the model as it was last, or [ErrNoTerminal] where there is no
// terminal to run on.
func Run(ctx context.Context, model tea.Model, opts *Options) (tea.Model, error) {
	d, err := open(opts)
	if err != nil {
		return model, err
	}
	defer d.close()
	if !d.drawable {
		return model, ErrNoTerminal
	}
	return d.run(ctx, model)
}

// Println is a command that writes text above the program's view, where it
// stays.
func Println(text string) tea.Cmd {
	return func() tea.Msg { return printMsg(text) }
}

type printMsg string

// run runs the model on the device.
func (d *device) run(ctx context.Context, model tea.Model) (tea.Model, error) {
	// Before the terminal is changed: from here on a signal must not end the
	// process, and a resize must not be missed.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	changed, noChanges := resized()
	defer noChanges()
	if d.tty != nil {
		state, err := term.MakeRaw(d.tty.Fd())
		if err != nil {
			return model, fmt.Errorf("terminal: raw mode: %w", err)
		}
		defer func() { _ = term.Restore(d.tty.Fd(), state) }()
	}
	keys, err := cancelreader.NewReader(d.in)
	if err != nil {
		return model, fmt.Errorf("terminal: reading keys: %w", err)
	}
	scr := &screen{w: d.colours(), width: d.width, height: d.height, reflows: d.reflows()}
	scr.start()
	defer scr.stop()
	p := tea.NewProgram(drawn{model, scr},
		tea.WithInput(nil),    // the keys come from pump
		tea.WithoutRenderer(), // drawn draws
		tea.WithoutSignalHandler(),
		tea.WithOutput(io.Discard),
		tea.WithColorProfile(colorprofile.ANSI), // detecting it would run `tmux info`
		tea.WithWindowSize(d.width, d.height),
	)
	ctx, stop := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { watch(ctx, signals, p) })
	wg.Go(func() { d.watchSize(ctx, changed, p) })
	wg.Go(func() { pump(ctx, stop, keys, d.env("TERM"), p) })
	last, err := p.Run()
	stop(nil)
	if keys.Cancel() {
		// Where a read cannot be cancelled, pump ends with the read.
		wg.Wait()
	}
	_ = keys.Close()
	if l, ok := last.(drawn); ok {
		last = l.Model
	}
	if err != nil {
		return last, fmt.Errorf("terminal: %w", err)
	}
	return last, nil
}

// colours is the output, without colours if they are not wanted.
func (d *device) colours() io.Writer {
	if d.noColor {
		return &colorprofile.Writer{Forward: d.out, Profile: colorprofile.ASCII}
	}
	return d.out
}

// drawn is a model that is drawn on a screen. Bubble Tea calls both methods
// in its event loop, one at a time.
type drawn struct {
	tea.Model
	scr *screen
}

func (d drawn) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		d.scr.resize(msg.Width, msg.Height)
	case printMsg:
		d.scr.above(string(msg))
		return d, nil
	}
	next, cmd := d.Model.Update(msg)
	return drawn{next, d.scr}, cmd
}

func (d drawn) View() tea.View {
	v := d.Model.View()
	row, col := -1, 0
	if v.Cursor != nil {
		row, col = v.Cursor.Y, v.Cursor.X
	}
	d.scr.draw(strings.Split(v.Content, "\n"), row, col)
	return tea.View{}
}

// watch tells the program when a signal or the context ends it.
func watch(ctx context.Context, signals <-chan os.Signal, p *tea.Program) {
	var end EndMsg
	select {
	case s := <-signals:
		end = ended(s)
	case <-ctx.Done():
		end = endOf(ctx)
	}
	if end.Status == convert.Disconnected {
		outliveHangup()
	}
	p.Send(end)
	p.Quit()
}

// outliveHangup keeps the SIGHUP that comes with a hang-up, before or after
// it is noticed, from ending the process: it has yet to say what happened.
var outliveHangup = sync.OnceFunc(func() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
})

// watchSize tells the program the terminal's size, now and when it changes.
func (d *device) watchSize(ctx context.Context, changed <-chan os.Signal, p *tea.Program) {
	for {
		if w, h, ok := d.size(); ok {
			p.Send(tea.WindowSizeMsg{Width: w, Height: h})
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// ended is the end that a signal means.
func ended(s os.Signal) EndMsg {
	if s == syscall.SIGHUP {
		return EndMsg{Status: convert.Disconnected, Reason: errHangup.Error()}
	}
	return EndMsg{Status: convert.Cancelled, Reason: "interrupted by a signal: " + s.String()}
}

// endOf is the end that a context's end means.
func endOf(ctx context.Context) EndMsg {
	cause := context.Cause(ctx)
	if errors.Is(cause, errHangup) {
		return EndMsg{Status: convert.Disconnected, Reason: errHangup.Error()}
	}
	return EndMsg{Status: convert.Cancelled, Reason: cause.Error()}
}

// pump decodes what is typed and sends it to the program until the reader is
// cancelled. A reader that ends by itself is a terminal that hung up.
func pump(ctx context.Context, stop context.CancelCauseFunc, r io.Reader, termName string, p *tea.Program) {
	events := make(chan uv.Event)
	var wg sync.WaitGroup
	wg.Go(func() {
		// Drained to the end: the decoder blocks on an event that nobody
		// takes. Sending to a program that has ended does nothing.
		for ev := range events {
			p.Send(ev)
		}
	})
	_ = uv.NewTerminalReader(&pasteReader{r: r}, termName).StreamEvents(ctx, events)
	close(events)
	wg.Wait()
	stop(errHangup) // no effect on a context that has ended
}
