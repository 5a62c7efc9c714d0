package backend

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Login is how an editor lets its user log in in a terminal: it runs a command
// there and waits for its end.
type Login struct {
	// Command and Args are the whole command.
	Command string
	Args    []string
	// Append makes it of the command line by which the editor started this
	// agent.
	Append []string
}

const (
	loginMethod   = "claude-login" // where no terminal can be opened
	planMethod    = "claude-ai-login"
	consoleMethod = "console-login"
	apiKeyMethod  = "anthropic-api-key"
)

var authMethodIDs = []string{loginMethod, planMethod, consoleMethod, apiKeyMethod}

// authMethods are the ways to log in for a client. Only one that says that it
// opens terminals gets those which need one: by its capabilities, or in the way
// that was there before them.
func (a *backend) authMethods(client acp.ClientCapabilities) []acp.AuthMethod {
	apiKey := acp.AuthMethod{Agent: &acp.AuthMethodAgent{Id: apiKeyMethod, Name: "Anthropic API key",
		Description: acp.Ptr("Set ANTHROPIC_API_KEY in the environment of the editor")}}
	byMeta, _ := client.Meta[terminalAuth].(bool)
	if a.opts.Login == nil || !byMeta && !client.Auth.Terminal {
		return []acp.AuthMethod{{Agent: &acp.AuthMethodAgent{Id: loginMethod, Name: "Claude login",
			Description: acp.Ptr("Run `claude /login` in a terminal, then come back")}}, apiKey}
	}
	method := func(id, name, description string, args ...string) acp.AuthMethod {
		var meta map[string]any
		if byMeta {
			meta = map[string]any{terminalAuth: map[string]any{
				"command": a.opts.Login.Command, "args": slices.Concat(a.opts.Login.Args, args), "label": name,
			}}
		}
		if !client.Auth.Terminal {
			return acp.AuthMethod{Agent: &acp.AuthMethodAgent{Id: id, Name: name, Description: &description, Meta: meta}}
		}
		return acp.AuthMethod{Terminal: &acp.AuthMethodTerminalInline{Id: id, Name: name, Description: &description,
			Args: slices.Concat(a.opts.Login.Append, args), Meta: meta}}
	}
	return []acp.AuthMethod{
		method(planMethod, "Claude subscription", "Log in with a Claude plan, in a terminal"),
		method(consoleMethod, "Anthropic Console", "Log in with an account that is billed for use, in a terminal", "--console"),
		apiKey,
	}
}

// terminalAuth is the key in _meta by which a client says that it opens a
// terminal for a login, and by which it is told the command.
const terminalAuth = "terminal-auth"

// authTime bounds how long the CLI may take to say whether it is logged in, or to log out.
const authTime = time.Minute

// authenticate cannot log in by itself: it checks that somebody did.
func (a *backend) authenticate(ctx context.Context, r acp.AuthenticateRequest) (any, error) {
	if !slices.Contains(authMethodIDs, r.MethodId) {
		return nil, conn.Invalid("unknown authentication method %q: expected one of %s", r.MethodId, strings.Join(authMethodIDs, ", "))
	}
	ok, err := a.loggedIn(ctx)
	switch {
	case err != nil:
		return nil, processError(err)
	case !ok:
		a.authIs(authMissing)
		return nil, authRequired(loginHelp)
	}
	a.authIs(authKnown)
	return acp.AuthenticateResponse{}, nil
}

// logout makes Claude Code forget its login.
func (a *backend) logout(ctx context.Context) (any, error) {
	path, err := a.claudePath()
	if err != nil {
		return nil, processError(err)
	}
	forgets, cancel := proc.Context(ctx, authTime)
	defer cancel()
	if err := claude.Logout(forgets, path, a.opts.Env); err != nil {
		return nil, processError(err)
	}
	a.provider.Store(nil)
	ok, err := a.loggedIn(ctx)
	if err != nil { // it does not tell, and that is no "no"
		ok = a.hasCredentials()
	}
	if ok {
		a.authIs(authKnown)
		return nil, conn.Internal("Claude Code forgot its login, but credentials in the environment, such as ANTHROPIC_API_KEY, still count")
	}
	a.authIs(authMissing)
	return acp.LogoutResponse{}, nil
}

func (a *backend) loggedIn(ctx context.Context) (bool, error) {
	path, err := a.claudePath()
	if err != nil {
		return false, err
	}
	ctx, cancel := proc.Context(ctx, authTime)
	defer cancel()
	ok, _, err := claude.LoggedIn(ctx, path, a.cliEnv(nil))
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
func (a *backend) hasCredentials() bool {
	for _, name := range credentialVariables {
		if a.environ(nil)(name) != "" {
			return true
		}
	}
	info, err := os.Stat(filepath.Join(a.configDir(nil), ".credentials.json"))
	return err == nil && info.Size() > 0
}

// environ reads the environment that the CLI gets, with more on top of it.
func (a *backend) environ(more []string) func(name string) string {
	return func(name string) string {
		if value, ok := lookup(more, name); ok {
			return value
		}
		if a.opts.Env == nil {
			return os.Getenv(name)
		}
		value, _ := lookup(a.opts.Env, name)
		return value
	}
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
