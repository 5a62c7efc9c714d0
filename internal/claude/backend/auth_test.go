package backend_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// TestAuthMethods says which client is offered a login in a terminal, and how.
func TestAuthMethods(t *testing.T) {
	const key = `{"id":"anthropic-api-key","name":"Anthropic API key","description":"Set ANTHROPIC_API_KEY in the environment of the editor"}`
	const alone = `[{"id":"claude-login","name":"Claude login","description":"Run ` + "`claude /login`" + ` in a terminal, then come back"},` + key + `]`
	const plan = `"id":"claude-ai-login","name":"Claude subscription","description":"Log in with a Claude plan, in a terminal"`
	const console = `"id":"console-login","name":"Anthropic Console","description":"Log in with an account that is billed for use, in a terminal"`
	meta := func(label string, more string) string {
		return `"_meta":{"terminal-auth":{"command":"/bin/bridge","args":["login","--claude","/bin/claude"` + more + `],"label":"` + label + `"}}`
	}
	typed := func(more string) string { return `"type":"terminal","args":["--login"` + more + `]` }
	login := &backend.Login{Command: "/bin/bridge", Args: []string{"login", "--claude", "/bin/claude"}, Append: []string{"--login"}}
	for name, test := range map[string]struct {
		login        *backend.Login
		capabilities string
		want         string
	}{
		"a client without terminals": {login, `{}`, alone},
		"one that says no":           {login, `{"auth":{"terminal":false},"_meta":{"terminal-auth":false}}`, alone},
		"no login to be had":         {nil, `{"auth":{"terminal":true},"_meta":{"terminal-auth":true}}`, alone},
		"by its capabilities": {login, `{"auth":{"terminal":true}}`,
			`[{` + plan + `,` + typed("") + `},{` + console + `,` + typed(`,"--console"`) + `},` + key + `]`},
		"by _meta": {login, `{"_meta":{"terminal-auth":true}}`,
			`[{` + plan + `,` + meta("Claude subscription", "") + `},{` + console + `,` + meta("Anthropic Console", `,"--console"`) + `},` + key + `]`},
		"by both": {login, `{"auth":{"terminal":true},"_meta":{"terminal-auth":true}}`,
			`[{` + plan + `,` + typed("") + `,` + meta("Claude subscription", "") + `},{` + console + `,` + typed(`,"--console"`) + `,` + meta("Anthropic Console", `,"--console"`) + `},` + key + `]`},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, backend.Options{Login: test.login})
			require.JSONEq(t, test.want, e.Initialize(test.capabilities).Get("authMethods").Raw)
		})
	}
}

// An editor that sends its user to an address is told when a server knows that they were
// there. Others are told nothing that they cannot know.
func TestAddressThatWasVisited(t *testing.T) {
	for caps, want := range map[string]bool{`{"elicitation":{"form":{},"url":{}}}`: true, `{"elicitation":{"form":{}}}`: false} {
		e, _ := scripted(t, turns(steps{
			ct.Raw(`{"type":"system","subtype":"elicitation_complete","elicitation_id":""}`, `{"type":"system","subtype":"elicitation_complete","elicitation_id":"x"}`),
			ct.Text("done"),
		}))
		e.Initialize(caps)
		e.Prompt(e.Open(t.TempDir()), "go").Ends(acp.StopReasonEndTurn)
		if want {
			require.Equal(t, "x", (<-e.Completed).Get("elicitationId").Str)
		}
		require.Empty(t, e.Completed)
	}
}

// states are those that the editor was told of by itself.
func (r *wireLog) states() (states []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if gjson.Get(line, "method").Str == "auth/status_update" {
			states = append(states, gjson.Get(line, "params.state").Str)
		}
	}
	return states
}

// A client of drafts is told when the login is missing, or there again, once.
func TestAuthStatusUpdate(t *testing.T) {
	for caps, drafts := range map[string]bool{`{"plan":{}}`: true, `{}`: false} {
		var r wireLog
		bad := ct.Turn{Result: ct.APIError(401, "invalid_request", "Login expired · Please run /login")}
		cli := ct.New(t, ct.Script{Turns: []ct.Turn{{}, bad, bad, {}, {}}})
		e := serve(t, backend.Options{Claude: cli.Path, Env: []string{"HOME=" + t.TempDir()}, Trace: r.trace})
		e.Initialize(caps)
		s := e.Open(t.TempDir())
		for i, want := range [][]string{nil, {"unauthenticated"}, {"unauthenticated"}, {"unauthenticated", "authenticated"}, {"unauthenticated", "authenticated"}} {
			turn := e.Prompt(s, "hi")
			<-turn.Done
			if !drafts {
				want = nil
			}
			require.Equal(t, want, r.states(), "turn %d", i)
		}
	}
}

func TestAuthStatusOfTheCLI(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "claude")
	require.NoError(t, os.WriteFile(path, []byte(`#!/bin/sh
case "$2" in
status) test -e `+dir+`/in && echo '{"loggedIn":true}' || echo '{"loggedIn":false}' ;;
logout) rm `+dir+`/in ;;
esac
`), 0o755))
	var r wireLog
	e := serve(t, backend.Options{Claude: path, Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, Trace: r.trace})
	e.Initialize(`{"plan":{}}`)
	status := func() string { return e.Call("auth/status", `{}`).Get("state").Str }
	require.Equal(t, "unauthenticated", status())
	_, err := e.Try(acp.AgentMethodAuthenticate, `{"methodId":"claude-login"}`)
	require.ErrorContains(t, err, "not logged in")
	require.Empty(t, r.states(), "it knows")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in"), nil, 0o600))
	e.Call(acp.AgentMethodAuthenticate, `{"methodId":"claude-login"}`)
	require.Equal(t, "authenticated", status())
	e.Call(acp.AgentMethodLogout, `{}`)
	require.Equal(t, "authenticated unauthenticated", strings.Join(r.states(), " "))
}

// A CLI that does not say whether it is still logged in has not said that it is not.
func TestLogoutWithoutAStatus(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "claude")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\ntest $2 = logout\n"), 0o755))
	e := serve(t, backend.Options{Claude: path, Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=key"}})
	e.Initialize(`{}`)
	_, err := e.Try(acp.AgentMethodLogout, `{}`)
	require.ErrorContains(t, err, "credentials in the environment")
}

const providerSet = `{"providerId":"main","apiType":"anthropic","baseUrl":"http://127.0.0.1:1/v","headers":{"X-Editor":"key","A":"b"}}`

// An editor that the user trusts may say where the model is, for sessions that are
// opened from then on.
func TestProviders(t *testing.T) {
	cli := ct.New(t, ct.Script{})
	e := serve(t, backend.Options{Claude: cli.Path, TrustEditor: true, Env: []string{"HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=https://me:secret@example.com/v1?key=secret", "ANTHROPIC_API_KEY=secret"}})
	require.True(t, e.Initialize(`{"plan":{}}`).Get("agentCapabilities.providers").IsObject())
	list := func(address string) {
		require.JSONEq(t, `{"providers":[{"providerId":"main","supported":["anthropic"],"required":false,"current":{"apiType":"anthropic","baseUrl":"`+address+`"}}]}`, e.Call("providers/list", `{}`).Raw)
	}
	env := func() []string {
		e.Open(t.TempDir())
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
		_, err := e.Try("providers/set", params)
		require.ErrorContains(t, err, want, params)
	}
	require.Contains(t, env(), "ANTHROPIC_API_KEY=secret")
	e.Call("providers/set", providerSet)
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
	e.Call("providers/disable", `{"providerId":"other"}`)
	list("http://127.0.0.1:1/v")
	e.Call("providers/disable", `{"providerId":"main"}`)
	list("https://example.com/v1")
	require.Contains(t, env(), "ANTHROPIC_API_KEY=secret")
}
