//go:build unix

package backend_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// The real CLI talks to the editor's provider, and takes nothing of the user's there:
// no key of the environment, of the settings, of the login.
func TestRealProvider(t *testing.T) {
	t.Parallel()
	path, api, home := realClaude(t), apitest.New(t), t.TempDir()
	api.Script(apitest.Say("hello"))
	var mu sync.Mutex
	var seen []http.Header
	to, err := url.Parse(api.URL)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	theirs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Clone())
		mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	defer theirs.Close()
	own := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the user's own provider was asked") }))
	defer own.Close()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".claude"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".claude", "settings.json"),
		[]byte(`{"env":{"ANTHROPIC_BASE_URL":"`+own.URL+`","ANTHROPIC_API_KEY":"user-secret","ANTHROPIC_AUTH_TOKEN":"user-secret"},"apiKeyHelper":"echo user-secret"}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".claude", ".credentials.json"),
		[]byte(`{"claudeAiOauth":{"accessToken":"user-secret","refreshToken":"user-secret","expiresAt":4102444800000,"scopes":["user:inference"]}}`), 0o600))
	e := serve(t, backend.Options{Claude: path, TrustEditor: true, Env: append(apitest.EnvNoKey(api, home), "ANTHROPIC_API_KEY=user-secret", "ANTHROPIC_BASE_URL="+own.URL)})
	e.Initialize(`{"plan":{}}`)
	e.Call("providers/set", `{"providerId":"main","apiType":"anthropic","baseUrl":"`+theirs.URL+`","headers":{"X-Editor":"key"}}`)
	e.Prompt(e.Open(t.TempDir()), "hi").Ends(acp.StopReasonEndTurn)
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, seen)
	for _, h := range seen {
		require.Equal(t, "key", h.Get("X-Editor"))
		for name, values := range h {
			require.NotContains(t, strings.Join(values, " "), "user-secret", name)
		}
	}
}
