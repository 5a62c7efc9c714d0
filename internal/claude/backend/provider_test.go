package backend_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

const providerSet = `{"providerId":"main","apiType":"anthropic","baseUrl":"http://127.0.0.1:1/v","headers":{"X-Editor":"key","A":"b"}}`

// An editor that the user trusts may say where the model is, for sessions that are
// opened from then on.
func TestProviders(t *testing.T) {
	cli := ct.New(t, ct.Script{})
	e := serve(t, backend.Options{Claude: cli.Path, TrustEditor: true, Env: []string{"HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=https://me:secret@example.com/v1?key=secret", "ANTHROPIC_API_KEY=secret"}})
	require.True(t, e.initialize(`{"plan":{}}`).Get("agentCapabilities.providers").IsObject())
	list := func(address string) {
		require.JSONEq(t, `{"providers":[{"providerId":"main","supported":["anthropic"],"required":false,"current":{"apiType":"anthropic","baseUrl":"`+address+`"}}]}`, e.call("providers/list", `{}`).Raw)
	}
	env := func() []string {
		e.open(t.TempDir())
		starts := cli.Starts()
		return starts[len(starts)-1].Env
	}
	list("https://example.com/v1")
	for params, want := range map[string]string{
		`{"providerId":"x"}`: "unknown provider",
		strings.Replace(providerSet, `"anthropic"`, `"openai"`, 1):                  "expected anthropic",
		strings.Replace(providerSet, "http:", "file:", 1):                           "http:// or https://",
		strings.Replace(providerSet, "http://127.0.0.1:1/v", "", 1):                 "http:// or https://",
		strings.Replace(providerSet, `"key"`, `"key\nAuthorization: x"`, 1):         "texts of one line",
		strings.Replace(providerSet, `"X-Editor":"key"`, `"X-Editor\nB":"key"`, 1):  "texts of one line",
		strings.Replace(providerSet, `"X-Editor":"key"`, `"X-Editor":["a","b"]`, 1): "texts of one line",
	} {
		_, err := e.try("providers/set", params)
		require.ErrorContains(t, err, want, params)
	}
	require.Contains(t, env(), "ANTHROPIC_API_KEY=secret")
	e.call("providers/set", providerSet)
	list("http://127.0.0.1:1/v")
	got := env()
	last := func(name string) string {
		i := slices.IndexFunc(got, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		require.GreaterOrEqual(t, i, 0, name)
		return got[i]
	}
	require.Equal(t, "ANTHROPIC_BASE_URL=http://127.0.0.1:1/v", last("ANTHROPIC_BASE_URL"))
	require.Equal(t, "ANTHROPIC_CUSTOM_HEADERS=A: b\nX-Editor: key", last("ANTHROPIC_CUSTOM_HEADERS"))
	require.NotContains(t, strings.Join(got, "\n"), "secret")
	e.call("providers/disable", `{"providerId":"other"}`)
	list("http://127.0.0.1:1/v")
	e.call("providers/disable", `{"providerId":"main"}`)
	list("https://example.com/v1")
	require.Contains(t, env(), "ANTHROPIC_API_KEY=secret")
}

// Without that trust the address is the user's to say.
func TestProvidersNeedTrust(t *testing.T) {
	e, _ := scripted(t, ct.Script{})
	require.False(t, e.initialize(`{"plan":{}}`).Get("agentCapabilities.providers").Exists())
	for _, method := range []string{"providers/list", "providers/set", "providers/disable"} {
		_, err := e.try(method, providerSet)
		require.ErrorContains(t, err, "--trust-editor")
	}
}

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
	e.initialize(`{"plan":{}}`)
	e.call("providers/set", `{"providerId":"main","apiType":"anthropic","baseUrl":"`+theirs.URL+`","headers":{"X-Editor":"key"}}`)
	e.prompt(e.open(t.TempDir()), "hi").ends(acp.StopReasonEndTurn)
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
