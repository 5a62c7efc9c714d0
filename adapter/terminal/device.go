package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/charmbracelet/x/term"
)

// ErrNoTerminal means that there is neither a terminal to ask on nor an input
// and output given in its place.
var ErrNoTerminal = errors.New("terminal: no terminal to ask on")

// Options say where and how to ask. The zero value, and nil, ask on the
// process's terminal.
type Options struct {
	// In is where keys or lines come from. Without one it is standard input,
	// or /dev/tty where that is not a terminal. A reader that is no *os.File
	// may be left in a Read when the asking ends.
	In io.Reader
	// Out is where questions are drawn. Without one it is standard output, or
	// /dev/tty where that is not a terminal.
	Out io.Writer
	// Plain asks line by line, without drawing: for screen readers. It is
	// what happens anyway on a dumb terminal, and where In and Out are no
	// terminal.
	Plain bool
	// NoColor draws without colours, as a NO_COLOR in the environment does.
	NoColor bool
	// Width and Height are the size of a terminal that cannot be asked for
	// it. Setting both says that In and Out are one, a network connection
	// perhaps, though they are no terminal devices.
	Width, Height int
	// Environ looks up environment variables, TERM and NO_COLOR among them.
	// Without one it is os.Getenv.
	Environ func(string) string
}

// device is the terminal, or the pair of streams, that is asked on.
type device struct {
	in            io.Reader
	out           io.Writer
	tty           term.File // in, when it is a terminal
	env           func(string) string
	noColor       bool
	drawable      bool
	width, height int
	fixed         bool // the size was given
	opened        []io.Closer
}

func open(opts *Options) (*device, error) {
	if opts == nil {
		opts = &Options{}
	}
	d := &device{in: opts.In, out: opts.Out, env: opts.Environ, width: opts.Width, height: opts.Height}
	if d.env == nil {
		d.env = os.Getenv
	}
	if err := d.fill(); err != nil {
		d.close()
		return nil, err
	}
	d.noColor = opts.NoColor || d.env("NO_COLOR") != ""
	in, out := terminalFile(d.in), terminalFile(d.out)
	d.tty = in
	forced := opts.Width > 0 && opts.Height > 0
	name := d.env("TERM")
	d.drawable = !opts.Plain && name != "dumb" && (forced || in != nil && out != nil && name != "") &&
		runtime.GOOS != "windows" // its console is another device; lines work there
	d.fixed = forced
	if w, h, ok := d.size(); ok {
		d.width, d.height = w, h
	}
	return d, nil
}

// fill finds the process's terminal for the streams that were not given.
func (d *device) fill() error {
	if d.in == nil && term.IsTerminal(os.Stdin.Fd()) {
		d.in = os.Stdin
	}
	if d.out == nil && term.IsTerminal(os.Stdout.Fd()) {
		d.out = os.Stdout
	}
	if d.in != nil && d.out != nil {
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	d.opened = append(d.opened, tty)
	if d.in == nil {
		d.in = tty
	}
	if d.out == nil {
		d.out = tty
	}
	return nil
}

func (d *device) close() {
	for _, c := range d.opened {
		_ = c.Close()
	}
}

// alive reports whether a terminal that gave an end of file is still there:
// then the end was typed (Ctrl+D).
func (d *device) alive() bool {
	if d.tty == nil {
		return false
	}
	_, _, err := term.GetSize(d.tty.Fd())
	return err == nil
}

// terminalFile returns v as a terminal, or nil.
func terminalFile(v any) term.File {
	f, ok := v.(term.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return nil
	}
	return f
}

// size asks the terminal for its size, if there is one to ask.
func (d *device) size() (w, h int, ok bool) {
	f := terminalFile(d.out)
	if f == nil || d.fixed {
		return 0, 0, false
	}
	w, h, err := term.GetSize(f.Fd())
	return w, h, err == nil && w > 0 && h > 0
}

// reflows guesses whether the terminal wraps its lines anew when it gets
// narrower. Most do; these do not.
func (d *device) reflows() bool {
	if d.env("TMUX") != "" {
		return true
	}
	name := d.env("TERM")
	for _, fixed := range []string{"linux", "rxvt", "st-", "screen"} {
		if strings.HasPrefix(name, fixed) {
			return false
		}
	}
	return d.env("XTERM_VERSION") == ""
}
