package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
)

const (
	loginMethod  = "claude-login"
	apiKeyMethod = "anthropic-api-key"
)

var authMethods = []acp.AuthMethod{
	{Agent: &acp.AuthMethodAgent{Id: loginMethod, Name: "Claude login",
		Description: acp.Ptr("Run `claude /login` in a terminal, then come back")}},
	{Agent: &acp.AuthMethodAgent{Id: apiKeyMethod, Name: "Anthropic API key",
		Description: acp.Ptr("Set ANTHROPIC_API_KEY in the environment of the editor")}},
}

// authTime bounds how long the CLI may take to say whether it is logged in.
const authTime = 20 * time.Second

// authenticate cannot log in by itself: it checks that somebody did.
func (a *Agent) authenticate(ctx context.Context, r acp.AuthenticateRequest) (any, error) {
	switch r.MethodId {
	case loginMethod, apiKeyMethod:
	default:
		return nil, invalid("unknown authentication method %q: expected %s or %s", r.MethodId, loginMethod, apiKeyMethod)
	}
	ok, err := a.loggedIn(ctx)
	switch {
	case err != nil:
		return nil, processError(err)
	case !ok:
		return nil, authRequired(loginHelp)
	}
	return acp.AuthenticateResponse{}, nil
}

// logout makes Claude Code forget its login.
func (a *Agent) logout(ctx context.Context) (any, error) {
	path, err := a.claudePath()
	if err != nil {
		return nil, processError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, authTime)
	defer cancel()
	if err := claude.Logout(ctx, path, a.opts.Env); err != nil {
		return nil, processError(err)
	}
	if ok, err := a.loggedIn(ctx); err == nil && ok {
		return nil, internal("Claude Code forgot its login, but credentials in the environment, such as ANTHROPIC_API_KEY, still count")
	}
	return acp.LogoutResponse{}, nil
}

func (a *Agent) loggedIn(ctx context.Context) (bool, error) {
	path, err := a.claudePath()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, authTime)
	defer cancel()
	ok, _, err := claude.LoggedIn(ctx, path, a.opts.Env)
	if errors.Is(err, claude.ErrNoAuthCommand) {
		return a.hasCredentials(), nil
	}
	return ok, err
}

// credentialVariables are those that Claude Code takes credentials from.
var credentialVariables = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
}

// hasCredentials looks where Claude Code would, for a version of it that does
// not tell.
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
	value, _ := lookup(a.opts.Env, name)
	return value
}

// lookup finds a variable in an environment, where the last one counts.
func lookup(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if key, value, _ := strings.Cut(env[i], "="); key == name {
			return value, true
		}
	}
	return "", false
}
