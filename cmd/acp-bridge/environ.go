package main

import (
	"os"
	"os/user"
	"runtime"
)

// mendEnvironment makes up for what editors do to the environment that Claude Code
// gets from us. avante passes the PATH alone, and Claude Code has its login in the
// home. CodeCompanion sets a token to its own name where the user has none, and
// Claude Code prefers that to the login.
func mendEnvironment() {
	for _, name := range []string{"CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		if os.Getenv(name) == name {
			_ = os.Unsetenv(name)
		}
	}
	if runtime.GOOS == "windows" || os.Getenv("HOME") != "" {
		return
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		_ = os.Setenv("HOME", u.HomeDir)
	}
}
