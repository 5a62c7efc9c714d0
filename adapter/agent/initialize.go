package agent

import (
	"os"
	"path/filepath"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
)

const (
	loginMethod  = "claude-login"
	apiKeyMethod = "anthropic-api-key"
)

// initialize answers at once: the CLI is not needed for it.
func (a *Agent) initialize(r acp.InitializeRequest) (any, error) {
	a.mu.Lock()
	a.asker = a.newAsker(r)
	a.mu.Unlock()
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "acp-bridge", Title: acp.Ptr("Claude Code"), Version: a.opts.Version},
		AgentCapabilities: acp.AgentCapabilities{
			PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
			McpCapabilities:    acp.McpCapabilities{Http: true, Sse: true},
			SessionCapabilities: acp.SessionCapabilities{
				Close:                 &acp.SessionCloseCapabilities{},
				AdditionalDirectories: &acp.SessionAdditionalDirectoriesCapabilities{},
			},
		},
		AuthMethods: []acp.AuthMethod{
			{Agent: &acp.AuthMethodAgent{Id: loginMethod, Name: "Claude login",
				Description: acp.Ptr("Run `claude /login` in a terminal, then come back")}},
			{Agent: &acp.AuthMethodAgent{Id: apiKeyMethod, Name: "Anthropic API key",
				Description: acp.Ptr("Set ANTHROPIC_API_KEY in the environment of the editor")}},
		},
	}, nil
}

// newAsker makes the adapter for what the client says it can do.
func (a *Agent) newAsker(r acp.InitializeRequest) *adapter.Adapter {
	return adapter.New(&editor{a}, a.askOptions(r))
}

// authenticate cannot log in by itself: it checks that somebody did.
func (a *Agent) authenticate(r acp.AuthenticateRequest) (any, error) {
	switch r.MethodId {
	case loginMethod, apiKeyMethod:
	default:
		return nil, invalid("unknown authentication method %q: expected %s or %s", r.MethodId, loginMethod, apiKeyMethod)
	}
	if !a.hasCredentials() {
		return nil, authRequired(loginHelp)
	}
	return acp.AuthenticateResponse{}, nil
}

// credentialVariables are those that Claude Code takes credentials from.
var credentialVariables = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
}

func (a *Agent) hasCredentials() bool {
	for _, name := range credentialVariables {
		if a.getenv(name) != "" {
			return true
		}
	}
	dir := a.getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(a.getenv("HOME"), ".claude")
	}
	info, err := os.Stat(filepath.Join(dir, ".credentials.json"))
	return err == nil && info.Size() > 0
}

// getenv reads the environment that the CLI gets.
func (a *Agent) getenv(name string) string {
	if a.opts.Env == nil {
		return os.Getenv(name)
	}
	for i := len(a.opts.Env) - 1; i >= 0; i-- {
		if key, value, _ := cutEnv(a.opts.Env[i]); key == name {
			return value
		}
	}
	return ""
}

// logout is Claude Code's own to do: its credentials belong to all its users.
func (a *Agent) logout() error {
	return internal("To log out, run `claude /logout` in a terminal: the login belongs to Claude Code, not to this editor")
}
