// Package tty is the terminal of a person: its keys, one by one, and a frame
// of lines that is drawn in place; or, where nothing can be drawn, its lines.
//
//	d, err := tty.Open(tty.Options{})
//	defer d.Close()
//	t, err := d.Start(ctx)
//	defer t.Close()
//	for ev := range t.Events() { … t.Draw(lines, row, col) }
package tty

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// ErrNoTerminal means that there is neither a terminal to ask on nor an input
// and output given in its place.
var ErrNoTerminal = errors.New("terminal: no terminal to ask on")

// Options say which terminal it is. The zero value is the process's own.
type Options struct {
	// In is where keys or lines come from. Without one it is standard input,
	// or /dev/tty where that is not a terminal. A reader that is no *os.File
	// may be left in a Read when the asking ends.
	In io.Reader
	// Out is where frames are drawn. Without one it is standard output, or
	// /dev/tty where that is not a terminal.
	Out io.Writer
	// Plain draws nothing.
	Plain bool
	// NoColor draws without colours, as a NO_COLOR in the environment does.
	NoColor bool
	// Width and Height are the size of a terminal that cannot be asked for
	// it. Setting both says that In and Out are one, a network connection
	// perhaps, though they are no terminal devices.
	Width, Height int
	// Environ looks up environment variables. Without one it is os.Getenv.
	Environ func(string) string
}

// Device is a terminal, or a pair of streams in its place.
type Device struct {
	// Out is where it shows what is written.
	Out io.Writer
	// Drawable says that frames can be drawn; else there are lines alone.
	Drawable bool
	// NoColor says that colours are not wanted.
	NoColor bool
	// Width and Height are its size when it was opened; 0 where unknown.
	Width, Height int

	in     io.Reader
	tty    term.File // in, when it is a terminal
	env    func(string) string
	fixed  bool // the size was given
	opened []io.Closer
}

// Open finds the terminal. Close it after use.
func Open(o Options) (*Device, error) {
	d := &Device{in: o.In, Out: o.Out, env: o.Environ, Width: o.Width, Height: o.Height}
	if d.env == nil {
		d.env = os.Getenv
	}
	if err := d.fill(); err != nil {
		d.Close()
		return nil, err
	}
	d.NoColor = o.NoColor || d.env("NO_COLOR") != ""
	in, out := terminalFile(d.in), terminalFile(d.Out)
	d.tty = in
	d.fixed = o.Width > 0 && o.Height > 0
	name := d.env("TERM")
	d.Drawable = !o.Plain && name != "dumb" && (d.fixed || in != nil && out != nil && name != "") &&
		runtime.GOOS != "windows" // its console is another device; lines work there
	if w, h, ok := d.size(); ok {
		d.Width, d.Height = w, h
	}
	return d, nil
}

// fill finds the process's terminal for the streams that were not given.
func (d *Device) fill() error {
	if d.in == nil && term.IsTerminal(os.Stdin.Fd()) {
		d.in = os.Stdin
	}
	if d.Out == nil && term.IsTerminal(os.Stdout.Fd()) {
		d.Out = os.Stdout
	}
	if d.in != nil && d.Out != nil {
		return nil
	}
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	d.opened = append(d.opened, f)
	d.in, d.Out = cmp.Or[io.Reader](d.in, f), cmp.Or[io.Writer](d.Out, f)
	return nil
}

// Close closes what Open has opened.
func (d *Device) Close() {
	for _, c := range d.opened {
		_ = c.Close()
	}
}

// Forget drops what was typed and not yet read: it was typed before the person
// saw what it would answer. A stream that is no terminal is left alone.
func (d *Device) Forget() { Forget(d.tty) }

// Begun drops what was typed and not yet read, and reports whether that ends in the beginning
// of a line: what ends that line was not typed for what the person sees now.
func (d *Device) Begun() bool {
	_, begun := DropUnread(d.tty)
	return begun
}

// Followed reports whether more follows the line that was just read, closer than a person
// types it, be it a line or the beginning of one, and drops that. It waits for that moment.
func (d *Device) Followed() bool {
	if d.tty == nil {
		return false
	}
	time.Sleep(seen.Burst)
	some, _ := DropUnread(d.tty)
	return some
}

// DropUnread drops what was typed at a terminal and not read yet, and reports whether there
// was any, and whether it ended in the beginning of a line.
func DropUnread(r io.Reader) (some, begun bool) {
	if f := terminalFile(r); f != nil {
		return dropUnread(f.Fd())
	}
	return false, false
}

// Cut reports whether a line may lack its end: a terminal that gives whole lines takes no
// longer ones, and shows the rest all the same.
func Cut(line string) bool {
	most := 1023
	if runtime.GOOS == "linux" {
		most = 4095
	}
	return len(line) >= most
}

// CutText says what is wrong with such a line.
const CutText = "That line is longer than the terminal takes, and its end is lost, so it was not taken."

// watched reads its input in a way that can be cancelled.
func (d *Device) watched(in *seen.Inlet) (cancelreader.CancelReader, error) {
	if f, ok := d.in.(cancelreader.File); ok {
		return cancelreader.NewReader(watchedFile{f, in})
	}
	return cancelreader.NewReader(in)
}

// watchedFile is a file that is read through an inlet.
type watchedFile struct {
	cancelreader.File
	in *seen.Inlet
}

func (w watchedFile) Read(p []byte) (int, error) { return w.in.Read(p) }

// Typed reports whether its input is what a person types at a terminal.
func (d *Device) Typed() bool { return d.tty != nil }

// Forget is [Device.Forget] for a stream that is read by others.
func Forget(r io.Reader) {
	if f := terminalFile(r); f != nil {
		forget(f.Fd())
	}
}

// Quiet keeps a terminal from showing what is typed, until the function that it returns is
// called. Line breaks are shown.
func Quiet(r io.Reader) (loud func()) {
	if f := terminalFile(r); f != nil {
		return quiet(f.Fd())
	}
	return func() {}
}

// Quiet is [Quiet] for the device.
func (d *Device) Quiet() (loud func()) { return Quiet(d.tty) }

// alive reports whether a terminal that gave an end of file is still there:
// then the end was typed (Ctrl+D).
func (d *Device) alive() bool {
	if d.tty == nil {
		return false
	}
	_, _, err := term.GetSize(d.tty.Fd())
	return err == nil
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(v any) bool { return terminalFile(v) != nil }

// terminalFile returns v as a terminal, or nil.
func terminalFile(v any) term.File {
	f, ok := v.(term.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return nil
	}
	return f
}

// size asks the terminal for its size, if there is one to ask.
func (d *Device) size() (w, h int, ok bool) {
	f := terminalFile(d.Out)
	if f == nil || d.fixed {
		return 0, 0, false
	}
	w, h, err := term.GetSize(f.Fd())
	return w, h, err == nil && w > 0 && h > 0
}

// reflows guesses whether the terminal wraps its lines anew when it gets
// narrower. Most do; these do not.
func (d *Device) reflows() bool {
	if d.env("TMUX") != "" {
		return true
	}
	fixed := func(name string) bool { return strings.HasPrefix(d.env("TERM"), name) }
	return !slices.ContainsFunc([]string{"linux", "rxvt", "st-", "screen"}, fixed) && d.env("XTERM_VERSION") == ""
}
