//go:build unix

// Package ttytest runs programs on a terminal, in tests, and looks at what it
// shows; and plays scripts of keys to a picker.
package ttytest

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Patience is how long a test waits for what should come at once.
const Patience = 5 * time.Minute

// Env is the environment of a program on the terminal, whatever the test runs
// in.
var Env = []string{"TERM=xterm-256color", "TMUX=", "NO_COLOR=", "XTERM_VERSION=1"}

// Console is a program on a terminal.
type Console struct {
	// Cmd is the program, Started when it was started.
	Cmd     *exec.Cmd
	Started time.Time

	t    testing.TB
	ptmx *os.File
	done sync.WaitGroup

	shared  proc.Shared   // has what follows
	changed chan struct{} // closed at the next output
	em      *emulator
	raw     strings.Builder
}

// Screen is what the terminal shows at one moment.
type Screen struct {
	Text    string
	Marked  string // with the cursor, where it is visible, as a block
	History string // what has scrolled away
	// What is on: the cursor is visible, lines are wrapped, pastes are marked.
	Cursor, AutoWrap, Paste bool
}

// Start runs the program on a terminal of its own, until the test ends. The
// test fails if the program writes what no program here should. The terminal
// wraps its lines anew when its width changes, as tmux and most others do,
// unless the program is told that it is an xterm.
func Start(t testing.TB, cmd *exec.Cmd, width, height int) *Console {
	t.Helper()
	reflows := true
	for _, v := range cmd.Env {
		if value, ok := strings.CutPrefix(v, "XTERM_VERSION="); ok {
			reflows = value == "" // the last one counts
		}
	}
	c := &Console{Cmd: cmd, Started: time.Now(), t: t, em: newEmulator(width, height, reflows), changed: make(chan struct{})}
	ptmx, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)})
	if err != nil {
		t.Fatal(err)
	}
	c.ptmx = Pollable(t, ptmx)
	c.done.Go(c.read)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = c.ptmx.Close()
		_ = cmd.Wait()
		c.done.Wait()
		if p := c.em.problem(); p != "" {
			t.Error(p)
		}
	})
	return c
}

// Pollable returns the file as one whose Close ends a Read, and closes f.
func Pollable(t testing.TB, f *os.File) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	_ = f.Close()
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "ptmx")
}

func (c *Console) read() {
	buf := make([]byte, 4096)
	for {
		n, err := c.ptmx.Read(buf)
		c.shared.Step(func() {
			c.raw.Write(buf[:n])
			_, _ = c.em.Write(buf[:n])
			close(c.changed)
			c.changed = make(chan struct{})
		})
		if err != nil {
			return
		}
	}
}

// screen is what the terminal shows now; changed is closed when it may be another one.
func (c *Console) screen() (s Screen, changed chan struct{}) {
	c.shared.Step(func() {
		e := c.em
		s = Screen{Text: e.text(e.rows, false), Marked: e.text(e.rows, e.cursor), History: e.text(e.history, false),
			Cursor: e.cursor, AutoWrap: e.autoWrap, Paste: e.paste}
		changed = c.changed
	})
	return s, changed
}

// Wait waits until the screen is as wanted, and returns it.
func (c *Console) Wait(what string, ok func(Screen) bool) Screen {
	c.t.Helper()
	deadline := time.After(Patience)
	for {
		screen, changed := c.screen()
		if ok(screen) {
			return screen
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("waited %v for %s; the screen is\n%s", Patience, what, screen.Marked)
		}
	}
}

// Sees waits until the screen holds the text and returns the screen's.
func (c *Console) Sees(text string) string {
	c.t.Helper()
	return c.Wait(text, func(s Screen) bool { return strings.Contains(s.Text, text) }).Text
}

// Sends types.
func (c *Console) Sends(keys string) {
	c.t.Helper()
	if _, err := io.WriteString(c.ptmx, keys); err != nil {
		c.t.Fatal(err)
	}
}

// Resizes gives the terminal another size.
func (c *Console) Resizes(width, height int) {
	c.t.Helper()
	c.shared.Step(func() { c.em.resize(width, height) })
	if err := pty.Setsize(c.ptmx, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		c.t.Fatal(err)
	}
}

// HangsUp closes the terminal.
func (c *Console) HangsUp() { _ = c.ptmx.Close() }

// Wrote is all that was written to the terminal.
func (c *Console) Wrote() (all string) {
	c.shared.Step(func() { all = c.raw.String() })
	return all
}

// Ends waits for the program and returns its exit code.
func (c *Console) Ends() int {
	c.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(Patience):
		screen, _ := c.screen()
		c.t.Fatalf("it did not end; the screen is\n%s", screen.Marked)
	}
	return c.Cmd.ProcessState.ExitCode()
}
