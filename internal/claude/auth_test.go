package claude_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

func TestLoggedIn(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		ok     bool
		err    string
	}{
		"logged in":        {`echo '{"loggedIn":true,"authMethod":"api_key"}'`, true, ""},
		"logged out":       {`echo '{"loggedIn":false,"authMethod":"none"}'; exit 1`, false, ""},
		"an older version": {`echo "unknown command auth"; exit 1`, false, "has no auth command"},
		"no JSON":          {`echo '{"loggedIn":true} and more'`, false, "has no auth command"},
		"not what it was":  {`echo '{"loggedIn":"yes"}'`, false, "has no auth command"},
		"does not run":     {`exit 7`, false, "does not run: exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "claude")
			require.NoError(t, os.WriteFile(path+".tmp", []byte("#!/bin/sh\n"+test.script+"\n"), 0o755))
			require.NoError(t, os.Rename(path+".tmp", path))
			ok, _, err := claude.LoggedIn(t.Context(), path, nil)
			require.Equal(t, test.ok, ok)
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.err)
			}
		})
	}
	_, _, err := claude.LoggedIn(t.Context(), "/no/such/claude", nil)
	require.ErrorContains(t, err, "does not run")
}

func TestLogout(t *testing.T) {
	for script, want := range map[string]string{`[ "$1 $2" = "auth logout" ]`: "", `echo "no such account"; exit 3`: "exit status 3: no such account"} {
		path := filepath.Join(t.TempDir(), "claude")
		require.NoError(t, os.WriteFile(path+".tmp", []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		require.NoError(t, os.Rename(path+".tmp", path))
		err := claude.Logout(t.Context(), path, nil)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
