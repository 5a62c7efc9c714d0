package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// ErrNoAuthCommand means that this version of the CLI cannot say whether
// somebody is logged in.
var ErrNoAuthCommand = errors.New("this version of Claude Code has no auth command")

// LoggedIn asks the CLI whether it has credentials, and of what kind. It runs
// a process of its own and ends with ctx.
func LoggedIn(ctx context.Context, path string, env []string) (loggedIn bool, method string, err error) {
	out, err := authCommand(ctx, path, env, "status")
	if ctx.Err() != nil {
		return false, "", context.Cause(ctx)
	}
	status := gjson.Parse(out)
	if !json.Valid([]byte(out)) || !status.Get("loggedIn").IsBool() {
		if err != nil && out == "" { // it did not run, or had nothing to say
			return false, "", fmt.Errorf("Claude Code does not run: %w", err)
		}
		return false, "", ErrNoAuthCommand
	}
	return status.Get("loggedIn").Bool(), status.Get("authMethod").String(), nil
}

// Logout makes the CLI forget its login. Credentials in the environment stay.
func Logout(ctx context.Context, path string, env []string) error {
	if out, err := authCommand(ctx, path, env, "logout"); err != nil {
		return fmt.Errorf("claude auth logout: %w: %s", err, clean.Truncate(clean.Line(out), stderrWidth))
	}
	return nil
}

func authCommand(ctx context.Context, path string, env []string, what string) (string, error) {
	cmd := exec.CommandContext(ctx, path, "auth", what)
	cmd.Env = proc.Environ(env)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// CommandTime is how long Claude Code may take to say something of itself, or to change
// its settings.
var CommandTime = time.Minute

// Run runs a command of Claude Code that changes its settings.
func Run(ctx context.Context, path string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, CommandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = proc.Environ(nil)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("claude %s: %w: %s", strings.Join(args, " "), err, clean.Truncate(clean.Line(string(out)), 400))
	}
	return nil
}
