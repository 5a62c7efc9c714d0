//go:build unix

package main

import (
	"os"
	"os/user"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMendEnvironment(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
	t.Setenv("ANTHROPIC_API_KEY", "a key")
	mendEnvironment()
	_, set := os.LookupEnv("CLAUDE_CODE_OAUTH_TOKEN")
	require.False(t, set, "a name is no token")
	require.Equal(t, "a key", os.Getenv("ANTHROPIC_API_KEY"))
	if u, err := user.Current(); err == nil {
		require.Equal(t, u.HomeDir, os.Getenv("HOME"))
	}
	t.Setenv("HOME", "/somewhere")
	mendEnvironment()
	require.Equal(t, "/somewhere", os.Getenv("HOME"))
}
