package web_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// An older hub beside a newer one changes devices and logins, and keeps what it
// does not know.
func TestAccessOfANewerHub(t *testing.T) {
	const newer = `{"instance":"abcdefgh","mood":"calm","devices":[{"name":"phone","can":"answer","added":"2026-11-15T20:00:00Z","hash":"aGFzaA==","colour":"red"}],"sessions":[{"device":"phone","hash":"aGFzaA==","since":"2026-11-15T20:00:00Z","agent":"browser"}]}`
	name := filepath.Join(t.TempDir(), "access.json")
	require.NoError(t, os.WriteFile(name, []byte(newer), 0o600))
	acptest.Must(acptest.Must(web.OpenAccess(name, token)).Add("laptop", web.CanAsk))
	data := acptest.Must(os.ReadFile(name))
	for path, want := range map[string]string{
		"mood": "calm", "devices.0.name": "phone", "devices.0.colour": "red", "devices.1.name": "laptop", "sessions.0.agent": "browser",
	} {
		require.Equal(t, want, gjson.GetBytes(data, path).String(), path)
	}
	// A version that must not be passed over is left alone.
	const newest = `{"version":2,"instance":"abcdefgh"}`
	require.NoError(t, os.WriteFile(name, []byte(newest), 0o600))
	require.ErrorContains(t, acptest.Err(web.OpenAccess(name, token)), "expected version 1 at most, got 2: a newer hub wrote it")
	data = acptest.Must(os.ReadFile(name))
	require.Equal(t, newest, string(data))
}

// A hub that runs when a newer one has written what it cannot read goes on with
// what it knows, says so, and overwrites nothing.
func TestAccessBecomesNewer(t *testing.T) {
	t.Parallel()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	var log acptest.Written
	access := acptest.Must(web.OpenShared(t.Context(), store, token, slog.New(slog.NewTextHandler(&log, nil))))
	t.Cleanup(access.Close)
	acptest.Must(access.Add("phone", web.CanAnswer))
	e := acptest.Must(store.Get(t.Context(), "access"))
	acptest.Must(store.Update(t.Context(), "access", []byte(`{"version":2,"instance":"abcdefgh"}`), e.Revision))
	require.Eventually(t, func() bool { return log.Count("a newer hub wrote it") > 0 }, time.Minute, time.Millisecond)
	require.Len(t, access.List(), 1)
	require.ErrorContains(t, acptest.Err(access.Add("laptop", web.CanAsk)), "a newer hub wrote it")
	e = acptest.Must(store.Get(t.Context(), "access"))
	require.Equal(t, `{"version":2,"instance":"abcdefgh"}`, string(e.Value))
}
