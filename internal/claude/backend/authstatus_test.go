package backend_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

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
		e.initialize(caps)
		s := e.open(t.TempDir())
		for i, want := range [][]string{nil, {"unauthenticated"}, {"unauthenticated"}, {"unauthenticated", "authenticated"}, {"unauthenticated", "authenticated"}} {
			turn := e.prompt(s, "hi")
			<-turn.done
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
	e.initialize(`{"plan":{}}`)
	status := func() string { return e.call("auth/status", `{}`).Get("state").Str }
	require.Equal(t, "unauthenticated", status())
	_, err := e.try(acp.AgentMethodAuthenticate, `{"methodId":"claude-login"}`)
	require.ErrorContains(t, err, "not logged in")
	require.Empty(t, r.states(), "it knows")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in"), nil, 0o600))
	e.call(acp.AgentMethodAuthenticate, `{"methodId":"claude-login"}`)
	require.Equal(t, "authenticated", status())
	e.call(acp.AgentMethodLogout, `{}`)
	require.Equal(t, "authenticated unauthenticated", strings.Join(r.states(), " "))
}

// A CLI that does not say whether it is still logged in has not said that it is not.
func TestLogoutWithoutAStatus(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "claude")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\ntest $2 = logout\n"), 0o755))
	e := serve(t, backend.Options{Claude: path, Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=key"}})
	e.initialize(`{}`)
	_, err := e.try(acp.AgentMethodLogout, `{}`)
	require.ErrorContains(t, err, "credentials in the environment")
}
