package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// guardedNATS starts a server that knows its users by what an operator has
// signed, and returns a file with the credentials of one.
func guardedNATS(t *testing.T) (url, creds string) {
	t.Helper()
	pair := func(make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		p := acptest.Must(make())
		return p, acptest.Must(p.PublicKey())
	}
	operator, operatorKey := pair(nkeys.CreateOperator)
	account, accountKey := pair(nkeys.CreateAccount)
	_, systemKey := pair(nkeys.CreateAccount)
	user, userKey := pair(nkeys.CreateUser)
	resolver := &server.MemAccResolver{}
	for _, key := range []string{accountKey, systemKey} {
		claims := jwt.NewAccountClaims(key)
		if key == accountKey {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1}
		}
		require.NoError(t, resolver.Store(key, acptest.Must(claims.Encode(operator))))
	}
	signed := acptest.Must(jwt.NewUserClaims(userKey).Encode(account))
	data := acptest.Must(jwt.FormatUserConfig(signed, acptest.Must(user.Seed())))
	creds = filepath.Join(t.TempDir(), "hub.creds")
	require.NoError(t, os.WriteFile(creds, data, 0o600))
	s := acptest.Must(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		TrustedKeys: []string{operatorKey}, AccountResolver: resolver, SystemAccount: systemKey,
	}))
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(time.Minute))
	return s.ClientURL(), creds
}

// Hubs reach a NATS server that wants credentials, and with one --token-file they
// have one owner.
func TestCredentialsOfNATS(t *testing.T) {
	t.Parallel()
	url, creds := guardedNATS(t)
	var errOut bytes.Buffer
	require.Equal(t, exitFailed, run(t.Context(), []string{"--data", t.TempDir(), "--listen", "127.0.0.1:0", "--nats", url}, io.Discard, &errOut))
	require.Contains(t, errOut.String(), "Authorization Violation")
	token := filepath.Join(t.TempDir(), "owner.token")
	require.NoError(t, os.WriteFile(token, []byte("the-owner-of-all-hubs\n"), 0o600))
	flags := []string{"--nats", url, "--nats-creds", creds, "--token-file", token}
	start := func() *process {
		dir := t.TempDir()
		// Its own folder's token is not the one that counts.
		require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("a-token-of-this-folder\n"), 0o600))
		return startHub(t, dir, "127.0.0.1:0", flags...)
	}
	one, two := start(), start()
	require.Equal(t, http.StatusUnauthorized, one.post("/conversations/c/ask", askBody("toolu_1_x")))
	one.token, two.token = "the-owner-of-all-hubs", "the-owner-of-all-hubs"
	require.Equal(t, http.StatusAccepted, one.post("/conversations/c/ask", askBody("toolu_1_x")))
	require.Eventually(t, func() bool {
		return two.post("/conversations/c/respond", `{"answers":{"Go on?":"Yes"}}`) == http.StatusOK
	}, time.Minute, 5*time.Millisecond)
	errOut.Reset()
	require.Equal(t, exitOK, run(t.Context(), []string{"status", "--data", two.dir, "--token-file", token}, io.Discard, &errOut), errOut.String())
}
