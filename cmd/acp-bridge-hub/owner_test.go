package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// A hub with another owner than the others does not start, and says what to do.
// The owner gets another token at all hubs at once.
func TestOwnerOfSeveralHubs(t *testing.T) {
	t.Parallel()
	n := netfault.NATS(t, 0)
	one := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", n.ClientURL())
	command := func(code int, args ...string) string {
		var out acptest.Written
		require.Equal(t, code, run(t.Context(), append(args, "--nats", n.ClientURL()), &out, &out), out.String())
		return out.String()
	}
	dir := t.TempDir()
	said := command(exitFailed, "--data", dir, "--listen", "127.0.0.1:0")
	require.Contains(t, said, "the owner's token is not that of the other hubs: copy their token file to "+filepath.Join(dir, "token")+
		", or make this one the owner's at all of them with acp-bridge-hub owner")

	fresh := filepath.Join(dir, "token") // which that hub has made
	require.Contains(t, command(exitOK, "owner", "--token-file", fresh), "All hubs now take the token in ")
	require.Contains(t, command(exitOK, "owner", "--token-file", fresh), "All hubs now take the token in ", "once more")
	require.Eventually(t, func() bool {
		status, _ := one.request(http.MethodGet, "/devices", "")
		return status == http.StatusUnauthorized
	}, time.Minute, time.Millisecond)
	require.Contains(t, command(exitFailed, "status", "--data", one.dir), "the owner has a new one")
	token := acptest.Must(os.ReadFile(fresh))
	require.NoError(t, os.WriteFile(filepath.Join(one.dir, "token"), token, 0o600))
	require.Contains(t, command(exitOK, "status", "--data", one.dir), "\nready     yes, but the owner has a new token: put it into this hub's token file\n")
	two := startHub(t, dir, "127.0.0.1:0", "--nats", n.ClientURL(), "--token-file", fresh)
	require.Contains(t, command(exitOK, "status", "--data", two.dir), "\nready     yes\n")

	require.Equal(t, exitUsage, run(t.Context(), []string{"owner", "--token-file", fresh}, io.Discard, io.Discard))
	require.Equal(t, exitUsage, run(t.Context(), []string{"owner", "--nats", n.ClientURL()}, io.Discard, io.Discard))
}
