package main

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/watch/codex"
)

// The user's own hub watches the terminals of Codex while it runs, unless somebody else
// does: each is watched by one.
func TestOneWatchesCodex(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("CODEX_HOME", t.TempDir())
	own := acptest.Must(hublink.DataDir())
	watches := func(o options, at string, said io.Writer) (stop func()) {
		ip := acptest.Must(net.ResolveTCPAddr("tcp", at))
		return watchTerminals(t.Context(), o, ip, slog.New(slog.NewTextHandler(said, nil)), io.Discard)
	}
	free := func() bool {
		unlock, err := codex.Terminals("", codex.Socket).Lock()
		if err != nil {
			require.ErrorIs(t, err, proc.ErrLocked)
			return false
		}
		unlock()
		return true
	}
	stop := watches(options{data: own}, "127.0.0.1:1", io.Discard)
	require.False(t, free())
	var said bytes.Buffer
	other := watches(options{data: own}, "127.0.0.1:1", &said)
	require.Contains(t, said.String(), "not watched from here")
	other()
	require.False(t, free(), "who did not watch has nothing to end")
	said.Reset()
	other = watches(options{data: own}, "127.0.0.1:1", &said)
	stop()
	require.Eventually(t, func() bool { return !free() }, patience, 10*time.Millisecond, "who did not watch takes over")
	other()
	require.True(t, free())
	lock := filepath.Join(filepath.Dir(own), "watch-codex.lock")
	require.NoError(t, os.Remove(lock))
	require.NoError(t, os.Mkdir(lock, 0o700))
	_, err := codex.Terminals("", codex.Socket).Lock()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "watched already", "a lock that cannot be had is nobody's")
	require.NoError(t, os.Remove(lock))
	for name, o := range map[string]options{"127.0.0.1:1": {data: t.TempDir()}, "127.0.0.1:2": {data: own, nats: "nats://x"}, "127.0.0.1:3": {data: own, tlsCert: "x"}, "192.0.2.1:1": {data: own}} {
		stop := watches(o, name, io.Discard)
		require.True(t, free(), name)
		stop()
	}
}
