package backend_test

import (
	"os"
	"os/exec"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

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
			require.JSONEq(t, test.want, e.initialize(test.capabilities).Get("authMethods").Raw)
		})
	}
}

// TestRealLogin asks the real CLI for what `acp-bridge login` runs.
func TestRealLogin(t *testing.T) {
	t.Parallel()
	help := exec.Command(realClaude(t), "auth", "login", "--help")
	help.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := help.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "Usage: claude auth login")
	require.Contains(t, string(out), "--console")
	e, _ := real(t)
	e.initialize(`{"auth":{"terminal":true}}`)
	for _, id := range []string{"claude-ai-login", "console-login", "claude-login", "anthropic-api-key"} {
		e.call(acp.AgentMethodAuthenticate, `{"methodId":"`+id+`"}`)
	}
	_, err = e.try(acp.AgentMethodAuthenticate, `{"methodId":"pigeon"}`)
	require.ErrorContains(t, err, `expected one of claude-login, claude-ai-login, console-login, anthropic-api-key`)
}
