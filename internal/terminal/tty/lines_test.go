//go:build unix

package tty_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// failing is a terminal whose reads fail as if it hung up, while all else says
// that it is still there: so it is for a moment when its other end is closed.
type failing struct{ tty *os.File }

func (f failing) Fd() uintptr                 { return f.tty.Fd() }
func (f failing) Read([]byte) (int, error)    { return 0, &os.PathError{Op: "read", Err: syscall.EIO} }
func (f failing) Write(p []byte) (int, error) { return f.tty.Write(p) }
func (f failing) Close() error                { return nil }

func TestLinesHangUp(t *testing.T) {
	_, _, slave := openBoth(t)
	d, err := tty.Open(tty.Options{In: failing{slave}, Out: slave, Plain: true})
	require.NoError(t, err)
	defer d.Close()
	lines, err := d.Lines(t.Context())
	require.NoError(t, err)
	defer lines.Close()
	_, end, err := lines.Next()
	require.NoError(t, err)
	require.True(t, end.Gone)
	require.False(t, end.Typed, "nobody typed anything")
}

// Ctrl+D on a terminal that is there is the user's.
func TestLinesTypedEnd(t *testing.T) {
	d, master, _ := openBoth(t)
	lines, err := d.Lines(t.Context())
	require.NoError(t, err)
	defer lines.Close()
	_, err = master.WriteString("\x04")
	require.NoError(t, err)
	_, end, err := lines.Next()
	require.NoError(t, err)
	require.True(t, end.Typed)
}
