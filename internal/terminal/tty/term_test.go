//go:build unix

package tty_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m, goleak.IgnoreAnyFunction("os/signal.loop"))
}

// open is a terminal in this process, and its other end.
func open(t *testing.T) (*tty.Device, *os.File) {
	t.Helper()
	d, master, _ := openBoth(t)
	return d, master
}

func openBoth(t *testing.T) (d *tty.Device, master, slave *os.File) {
	t.Helper()
	master, slave = acptest.Must2(pty.Open())
	require.NoError(t, pty.Setsize(master, &pty.Winsize{Cols: 80, Rows: 24}))
	master = ttytest.Pollable(t, master)
	d = acptest.Must(tty.Open(tty.Options{In: slave, Out: slave, Environ: func(k string) string {
		return map[string]string{"TERM": "xterm"}[k]
	}}))
	require.True(t, d.Drawable)
	t.Cleanup(func() {
		d.Close()
		_ = master.Close()
		_ = slave.Close()
	})
	return d, master, slave
}

// until reads from the terminal until text has come.
func until(t *testing.T, r io.Reader, text string) string {
	t.Helper()
	var all []byte
	buf := make([]byte, 4096)
	for !strings.Contains(string(all), text) {
		n, err := r.Read(buf)
		require.NoError(t, err, "waiting for %q in %q", text, all)
		all = append(all, buf[:n]...)
	}
	return string(all)
}

func TestTerm(t *testing.T) {
	d, master := open(t)
	term := acptest.Must(d.Start(t.Context()))
	term.Draw([]string{"frame"}, -1, 0)
	until(t, master, "frame")
	term.Print("above", "all")
	term.Draw([]string{"frame"}, -1, 0)
	require.Contains(t, until(t, master, "frame"), "above\r\nall\r\n")
	acptest.Must(io.WriteString(master, "x\x1b[A"))
	require.Equal(t, "x", (<-term.Events()).(tty.Key).Text)
	require.Equal(t, "up", (<-term.Events()).(tty.Key).Name)
	acptest.Must(io.WriteString(master, "\x1b")) // nothing follows
	require.Equal(t, "esc", (<-term.Events()).(tty.Key).Name)
	acptest.Must(io.WriteString(master, "left unread"))
	term.Close()
	require.Contains(t, until(t, master, "\x1b[?25h"), "\x1b[?2004l")
}

func TestTermEnds(t *testing.T) {
	d, master := open(t)
	term := acptest.Must(d.Start(t.Context()))
	require.NoError(t, master.Close())
	require.Equal(t, tty.End{Gone: true, Reason: "the terminal hung up"}, <-term.Events())
	term.Close()

	d, _ = open(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	term = acptest.Must(d.Start(ctx))
	cancel(errors.New("the turn is over"))
	require.Equal(t, tty.End{Reason: "the turn is over"}, <-term.Events())
	term.Close()
}

// A fault does not leave the terminal as nobody can use it.
func TestTermPanic(t *testing.T) {
	d, master := open(t)
	func() {
		defer func() { require.Equal(t, "a fault", recover()) }()
		term := acptest.Must(d.Start(t.Context()))
		defer term.Close()
		panic("a fault")
	}()
	until(t, master, "\x1b[?25h")
}

func TestNoTerminal(t *testing.T) {
	d := acptest.Must(tty.Open(tty.Options{In: strings.NewReader(""), Out: io.Discard}))
	defer d.Close()
	require.False(t, d.Drawable)
}

// failing is a terminal whose reads fail as if it hung up, while all else says
// that it is still there: so it is for a moment when its other end is closed.
type failing struct{ tty *os.File }

func (f failing) Fd() uintptr                 { return f.tty.Fd() }
func (f failing) Read([]byte) (int, error)    { return 0, &os.PathError{Op: "read", Err: syscall.EIO} }
func (f failing) Write(p []byte) (int, error) { return f.tty.Write(p) }
func (f failing) Close() error                { return nil }

func TestLinesHangUp(t *testing.T) {
	_, _, slave := openBoth(t)
	d := acptest.Must(tty.Open(tty.Options{In: failing{slave}, Out: slave, Plain: true}))
	defer d.Close()
	lines := acptest.Must(d.Lines(t.Context()))
	defer lines.Close()
	_, _, end, err := lines.Next()
	require.NoError(t, err)
	require.True(t, end.Gone)
	require.False(t, end.Typed, "nobody typed anything")
}

// Ctrl+D on a terminal that is there is the user's.
func TestLinesTypedEnd(t *testing.T) {
	d, master, _ := openBoth(t)
	lines := acptest.Must(d.Lines(t.Context()))
	defer lines.Close()
	acptest.Must(master.WriteString("\x04"))
	_, _, end, err := lines.Next()
	require.NoError(t, err)
	require.True(t, end.Typed)
}

// A terminal is left as it was found: whoever has it next sees what they type.
func TestTheTerminalIsLeftAsItWas(t *testing.T) {
	d, master, slave := openBoth(t)
	before := acptest.Must(term.GetState(slave.Fd()))
	for range 2 {
		on := acptest.Must(d.Start(t.Context()))
		require.NotEqual(t, before, acptest.Must(term.GetState(slave.Fd())))
		on.Draw([]string{"frame"}, -1, 0)
		until(t, master, "frame")
		closed := make(chan struct{})
		go func() { on.Close(); close(closed) }()
		until(t, master, "\x1b[?25h")
		<-closed
		require.Equal(t, before, acptest.Must(term.GetState(slave.Fd())))
	}
}

// Lines are read from whatever holds them: a file cannot be waited for, and need not be.
func TestLinesOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o600))
	f := acptest.Must(os.Open(path))
	defer f.Close()
	d := acptest.Must(tty.Open(tty.Options{In: f, Out: nowhere{io.Discard}, Plain: true}))
	defer d.Close()
	lines := acptest.Must(d.Lines(t.Context()))
	defer lines.Close()
	for _, want := range []string{"one", "two"} {
		text, _, end, err := lines.Next()
		require.NoError(t, err)
		require.Nil(t, end)
		require.Equal(t, want, text)
	}
	_, _, end, err := lines.Next()
	require.NoError(t, err)
	require.NotNil(t, end)
}

type nowhere struct{ io.Writer }
