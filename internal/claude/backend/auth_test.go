package backend_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
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
	require.ErrorContains(t, acptest.Err(e.Try(acp.AgentMethodAuthenticate, `{"methodId":"claude-login"}`)), "not logged in")
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
	require.ErrorContains(t, acptest.Err(e.Try(acp.AgentMethodLogout, `{}`)), "credentials in the environment")
}
