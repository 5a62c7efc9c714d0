package hublink

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBranch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("repo/.git/HEAD", "ref: refs/heads/feature/login\n")
	write("repo/a/b/file", "")
	write("repo/.git/worktrees/w/HEAD", "0123456789abcdef0123456789abcdef01234567\n")
	write("w/.git", "gitdir: ../repo/.git/worktrees/w\n")
	write("bad/.git", "nothing of the kind")
	for at, want := range map[string]string{"repo": "feature/login", "repo/a/b": "feature/login", "w": "0123456789", "bad": ""} {
		require.Equal(t, want, BranchOf(filepath.Join(dir, at)), at)
	}
	require.Empty(t, BranchOf("relative"))
	require.Empty(t, BranchOf(""))
}

// What was named and is answered already is not another question whose id begins so.
func TestAnIDIsNotAbbreviatedByAnother(t *testing.T) {
	for _, c := range []struct {
		name, id string
		want     bool
	}{
		{"toolu_01Ab", "toolu_01AbCdEf", true},
		{"0199a1b2", "0199a1b2-0000-7000-8000-00000000abcd", true},
		{"q1", "q10", false},
		{"t1", "t1-staging-in-europe", false},
		{"production", "production-eu", false},
		{"toolu_02Ab", "toolu_01AbCdEf", false},
		{"", "toolu_01AbCdEf", false},
	} {
		require.Equal(t, c.want, abbreviates(c.name, c.id), "%s %s", c.name, c.id)
	}
}
