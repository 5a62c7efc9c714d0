//go:build unix

package tty_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/charmbracelet/x/term"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// A terminal is left as it was found: whoever has it next sees what they type.
func TestTheTerminalIsLeftAsItWas(t *testing.T) {
	d, master, slave := openBoth(t)
	before, err := term.GetState(slave.Fd())
	require.NoError(t, err)
	for range 2 {
		on, err := d.Start(t.Context())
		require.NoError(t, err)
		drawn, err := term.GetState(slave.Fd())
		require.NoError(t, err)
		require.NotEqual(t, before, drawn)
		on.Draw([]string{"frame"}, -1, 0)
		until(t, master, "frame")
		closed := make(chan struct{})
		go func() { on.Close(); close(closed) }()
		until(t, master, "\x1b[?25h")
		<-closed
		after, err := term.GetState(slave.Fd())
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}

// Lines are read from whatever holds them: a file cannot be waited for, and need not be.
func TestLinesOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	d, err := tty.Open(tty.Options{In: f, Out: nowhere{io.Discard}, Plain: true})
	require.NoError(t, err)
	defer d.Close()
	lines, err := d.Lines(t.Context())
	require.NoError(t, err)
	defer lines.Close()
	for _, want := range []string{"one", "two"} {
		text, end, err := lines.Next()
		require.NoError(t, err)
		require.Nil(t, end)
		require.Equal(t, want, text)
	}
	_, end, err := lines.Next()
	require.NoError(t, err)
	require.NotNil(t, end)
}

type nowhere struct{ io.Writer }
