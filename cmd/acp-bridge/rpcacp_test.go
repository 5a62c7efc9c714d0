//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A shell script that asks as pi does, in a client that speaks ACP: its words,
// its question in the picker, the answer in its hands.
func TestRPCInAClient(t *testing.T) {
	const script = `echo "Working on: $1"
echo '{"type":"ask_user_request","requestId":"1","questions":[{"question":"Which database?","header":"Database","options":["PostgreSQL","SQLite"]}]}'
read line
case $line in *'"selectedOption":"SQLite"'*) echo "SQLite it is." ;; *) echo "Not understood: $line" ;; esac`
	c := chatWith(t, "rpc", "--acp", "--", "sh", "-c", script, "sh")
	c.Wait("the prompt", prompting)
	c.Sends("a new service" + enter)
	require.Contains(t, c.Sees("Esc to cancel"), "Working on: a new service")
	c.Sends("2" + enter)
	c.Sees("SQLite it is.")
	c.Sends(ctrlD)
	require.Equal(t, exitOK, c.Ends())
}

// The socket is for its user alone; one that was left behind is replaced, and one
// at which somebody listens is not.
func TestListenAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := acptest.Must(listenAt(path))
	info := acptest.Must(os.Stat(path))
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.ErrorContains(t, acptest.Err(listenAt(path)), "another program is listening")
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	l = acptest.Must(listenAt(path))
	require.NoError(t, l.Close())

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("kept"), 0o600))
	require.Error(t, acptest.Err(listenAt(file)))
	require.Equal(t, "kept", string(acptest.Must(os.ReadFile(file))))
}
