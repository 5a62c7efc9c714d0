//go:build unix

package terminal_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for a screen that should come at once.
const patience = 20 * time.Second

// console is a child process that asks on a terminal, and that terminal's
// screen.
type console struct {
	t    *testing.T
	ptmx *os.File
	cmd  *exec.Cmd

	mu      sync.Mutex
	changed chan struct{} // closed at the next output
	em      *vt.Emulator
	visible bool // the cursor is
	modes   map[ansi.Mode]bool
	raw     strings.Builder
	replies strings.Builder // what the terminal was made to say

	report chan report
	done   sync.WaitGroup
}

func start(t *testing.T, j job, w, h int, env ...string) *console {
	t.Helper()
	text, err := json.Marshal(j)
	require.NoError(t, err)
	pr, pw, err := os.Pipe()
	require.NoError(t, err)
	c := &console{t: t, em: vt.NewEmulator(w, h), visible: true, modes: map[ansi.Mode]bool{ansi.ModeAutoWrap: true},
		changed: make(chan struct{}), report: make(chan report, 1)}
	c.em.SetCallbacks(vt.Callbacks{
		CursorVisibility: func(v bool) { c.visible = v },
		EnableMode:       func(m ansi.Mode) { c.modes[m] = true },
		DisableMode:      func(m ansi.Mode) { c.modes[m] = false },
	})
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "TMUX=", "NO_COLOR=", "XTERM_VERSION=1",
		"TERMINAL_TEST_JOB="+string(text)), env...)
	c.cmd.ExtraFiles = []*os.File{pw}
	c.ptmx, err = pty.StartWithSize(c.cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	require.NoError(t, err)
	c.ptmx = pollable(t, c.ptmx)
	pw.Close()
	c.done.Go(func() { // what the emulator answers to queries
		_, _ = io.Copy(lockedWriter{c, &c.replies}, c.em)
	})
	c.done.Go(c.read)
	c.done.Go(func() {
		defer pr.Close()
		var r report
		if json.NewDecoder(pr).Decode(&r) == nil {
			c.report <- r
		}
		close(c.report)
	})
	t.Cleanup(c.close)
	return c
}

// pollable returns the file as one whose Close ends a Read.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, syscall.SetNonblock(fd, true))
	return os.NewFile(uintptr(fd), "ptmx")
}

func (c *console) close() {
	_ = c.cmd.Process.Kill()
	_ = c.ptmx.Close()
	_ = c.cmd.Wait()
	_ = c.em.InputPipe().(io.Closer).Close()
	c.done.Wait()
}

type lockedWriter struct {
	c *console
	w io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.w.Write(p)
}

func (c *console) read() {
	buf := make([]byte, 4096)
	for {
		n, err := c.ptmx.Read(buf)
		c.mu.Lock()
		c.raw.Write(buf[:n])
		_, _ = c.em.Write(buf[:n])
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// screen is what the terminal shows, the cursor as a block.
func (c *console) screen() string {
	var lines []string
	for y := range c.em.Height() {
		var b strings.Builder
		for x := 0; x < c.em.Width(); {
			cell := c.em.CellAt(x, y)
			if p := c.em.CursorPosition(); c.visible && p.X == x && p.Y == y {
				b.WriteString("█")
				x += max(1, cell.Width)
				continue
			}
			if cell == nil || cell.Content == "" {
				b.WriteByte(' ')
				x++
				continue
			}
			b.WriteString(cell.Content)
			x += max(1, cell.Width)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// wait waits until the screen is as wanted; ok is called with c locked.
func (c *console) wait(what string, ok func(screen string) bool) string {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		screen, changed := c.screen(), c.changed
		good := ok(screen)
		c.mu.Unlock()
		if good {
			return screen
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("waited %v for %s; the screen is\n%s", patience, what, screen)
		}
	}
}

// waitFor waits until the screen is want, the cursor included.
func (c *console) waitFor(want string) {
	c.t.Helper()
	c.wait("this screen:\n"+want, func(s string) bool { return s == want })
}

// waitText waits until the screen holds the text.
func (c *console) waitText(text string) {
	c.t.Helper()
	c.wait(text, func(s string) bool { return strings.Contains(s, text) })
}

// output is all that the child has written.
func (c *console) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

func (c *console) send(bytes string) {
	c.t.Helper()
	_, err := io.WriteString(c.ptmx, bytes)
	require.NoError(c.t, err)
}

func (c *console) resize(w, h int) {
	c.t.Helper()
	c.mu.Lock()
	c.em.Resize(w, h)
	c.mu.Unlock()
	require.NoError(c.t, pty.Setsize(c.ptmx, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}))
}

// end waits for the child's report and checks that the terminal is as before.
func (c *console) end() report {
	c.t.Helper()
	r := c.hungUp()
	require.True(c.t, r.Restored, "the terminal's settings")
	c.wait("a visible cursor, autowrap, and no bracketed paste", func(string) bool {
		return c.visible && c.modes[ansi.ModeAutoWrap] && !c.modes[ansi.ModeBracketedPaste]
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Empty(c.t, c.replies.String(), "the terminal was queried")
	require.NotContains(c.t, c.raw.String(), "\x1b[?1049h", "the alternate screen")
	return r
}

// hungUp waits for the report of a child whose terminal may be gone.
func (c *console) hungUp() report {
	c.t.Helper()
	select {
	case r, ok := <-c.report:
		require.True(c.t, ok, "the child ended without a report")
		require.Empty(c.t, r.Leak, "goroutines left")
		return r
	case <-time.After(patience):
		c.t.Fatal("the child did not end")
	}
	return report{}
}
