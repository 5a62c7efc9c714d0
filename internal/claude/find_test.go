package claude_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	program := func(path string, mode os.FileMode) string {
		file := filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"), mode))
		return file
	}
	onPath := program("bin/claude", 0o755)
	mine := program("mine/claude", 0o755)
	dull := program("dull/claude", 0o644)
	local := program("home1/.claude/local/claude", 0o755)
	bin := program("home2/.local/bin/claude", 0o755)
	t.Chdir(dir)

	cases := map[string]struct {
		explicit string
		env      map[string]string
		want     string
		errs     []string
	}{
		"the flag wins":                {explicit: mine, env: map[string]string{"ACP_BRIDGE_CLAUDE": onPath}, want: mine},
		"a relative flag is absolute":  {explicit: "mine/claude", want: mine},
		"a bare flag is looked up":     {explicit: "claude", env: map[string]string{"PATH": filepath.Dir(onPath)}, want: onPath},
		"our variable":                 {env: map[string]string{"ACP_BRIDGE_CLAUDE": mine, "CLAUDE_CODE_EXECUTABLE": onPath}, want: mine},
		"a home in the variable":       {env: map[string]string{"ACP_BRIDGE_CLAUDE": "~/.claude/local/claude", "HOME": filepath.Join(dir, "home1")}, want: local},
		"the CLI's variable":           {env: map[string]string{"CLAUDE_CODE_EXECUTABLE": mine, "PATH": filepath.Dir(onPath)}, want: mine},
		"PATH":                         {env: map[string]string{"PATH": "/nowhere:" + filepath.Dir(dull) + ":" + filepath.Dir(onPath)}, want: onPath},
		"the old place":                {env: map[string]string{"PATH": "/nowhere", "HOME": filepath.Join(dir, "home1")}, want: local},
		"the new place":                {env: map[string]string{"HOME": filepath.Join(dir, "home2")}, want: bin},
		"a flag that is wrong":         {explicit: "/nowhere/claude", env: map[string]string{"PATH": filepath.Dir(onPath)}, errs: []string{"--claude names /nowhere/claude", "no such file"}},
		"a flag that names a folder":   {explicit: dir, errs: []string{"a directory"}},
		"a flag that cannot be run":    {explicit: dull, errs: []string{"--claude", "not executable", "chmod +x"}},
		"a variable that is wrong":     {env: map[string]string{"ACP_BRIDGE_CLAUDE": "nope", "PATH": filepath.Dir(onPath)}, errs: []string{"ACP_BRIDGE_CLAUDE names \"nope\"", "not on PATH"}},
		"PATH that cannot be run":      {env: map[string]string{"PATH": filepath.Dir(dull)}, errs: []string{dull + ": not executable"}},
		"a relative PATH is not taken": {env: map[string]string{"PATH": "bin"}, errs: []string{`PATH entry "bin"`, "relative"}},
		"nothing anywhere": {env: map[string]string{"PATH": "/nowhere", "HOME": "/nobody"}, errs: []string{
			"PATH: no claude in /nowhere", "/nobody/.claude/local/claude", "/nobody/.local/bin/claude",
			"npm install -g @anthropic-ai/claude-code", "--claude PATH", "ACP_BRIDGE_CLAUDE",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := claude.Find(c.explicit, func(k string) string { return c.env[k] })
			require.Equal(t, c.want, got)
			if c.errs == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, claude.ErrNotFound)
			for _, e := range c.errs {
				require.ErrorContains(t, err, e)
			}
		})
	}
}

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
