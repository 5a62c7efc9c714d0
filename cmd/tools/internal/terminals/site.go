package terminals

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// TokenFile is a file with the credential of a hub.
func TokenFile(t testing.TB, s *watchtest.Site) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(name, []byte(s.Token), 0o600))
	return name
}

// Away says at a hub that nobody sits at the terminal, or that somebody is back.
func Away(t testing.TB, s *watchtest.Site, away bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/away", strings.NewReader(fmt.Sprintf(`{"away":%t}`, away)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.Owner)
	req.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)
}
