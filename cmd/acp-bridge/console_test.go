//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for a screen that should come at once.
const patience = 20 * time.Second

// console is an acp-bridge on a terminal, and that terminal's screen.
type console struct {
	t       *testing.T
	ptmx    *os.File
	cmd     *exec.Cmd
	started time.Time

	mu      sync.Mutex
	changed chan struct{} // closed at the next output
	em      *vt.Emulator
	raw     strings.Builder
	done    sync.WaitGroup
}

func startConsole(t *testing.T, w, h int, env []string, args ...string) *console {
	t.Helper()
	c := &console{t: t, em: vt.NewEmulator(w, h), changed: make(chan struct{})}
	c.cmd = exec.Command(self(t), args...)
	c.cmd.Env = append(append(os.Environ(), asBridge+"=1", "TERM=xterm-256color", "TMUX=", "NO_COLOR=", "XTERM_VERSION=1"), env...)
	c.started = time.Now()
	ptmx, err := pty.StartWithSize(c.cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	require.NoError(t, err)
	fd, err := syscall.Dup(int(ptmx.Fd())) // one whose Close ends a Read
	require.NoError(t, err)
	require.NoError(t, ptmx.Close())
	require.NoError(t, syscall.SetNonblock(fd, true))
	c.ptmx = os.NewFile(uintptr(fd), "ptmx")
	c.done.Go(func() { _, _ = io.Copy(io.Discard, c.em) })
	c.done.Go(c.read)
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.ptmx.Close()
		_ = c.cmd.Wait()
		_ = c.em.InputPipe().(io.Closer).Close()
		c.done.Wait()
	})
	return c
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

// screen is what the terminal shows.
func (c *console) screen() string {
	var lines []string
	for y := range c.em.Height() {
		var b strings.Builder
		for x := 0; x < c.em.Width(); {
			cell := c.em.CellAt(x, y)
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

// sees waits until the screen holds the text and returns the screen.
func (c *console) sees(text string) string {
	c.t.Helper()
	return c.waits(text, func(s string) bool { return strings.Contains(s, text) })
}

func (c *console) waits(what string, ok func(screen string) bool) string {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		screen, changed := c.screen(), c.changed
		c.mu.Unlock()
		if ok(screen) {
			return screen
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("waited %v for %s; the screen is\n%s", patience, what, screen)
		}
	}
}

func (c *console) sends(keys string) {
	c.t.Helper()
	_, err := io.WriteString(c.ptmx, keys)
	require.NoError(c.t, err)
}

func (c *console) resizes(w, h int) {
	c.t.Helper()
	c.mu.Lock()
	c.em.Resize(w, h)
	c.mu.Unlock()
	require.NoError(c.t, pty.Setsize(c.ptmx, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}))
}

// ends waits for the process and returns its exit code.
func (c *console) ends() int {
	c.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		c.mu.Lock()
		defer c.mu.Unlock()
		c.t.Fatalf("it did not end; the screen is\n%s", c.screen())
	}
	return c.cmd.ProcessState.ExitCode()
}

// wrote is all that was written to the terminal.
func (c *console) wrote() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}
