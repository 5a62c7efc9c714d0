package child_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// starts are the ways to start a program that do not come by [child.Environ].
var starts = regexp.MustCompile(`\b(exec\.Command(Context)?|os\.StartProcess|syscall\.(ForkExec|StartProcess|Exec))\(`)

// Whoever starts a program takes its environment from here, except for tests,
// for the tools of this repository, and for the hub, which is acp-bridge itself.
func TestEveryChildHasItsEnvironmentFromHere(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, dir := range []string{"adapter", "internal", "cmd/acp-bridge", "cmd/acp-bridge-hub", "cmd/internal"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			switch slashed := filepath.ToSlash(name); {
			case strings.Contains(slashed, "test/"), strings.HasSuffix(slashed, "internal/child/tie_unix.go"), strings.HasSuffix(slashed, "cmd/acp-bridge/hub.go"):
				return nil
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			code := regexp.MustCompile(`(?m)^\s*//.*$`).ReplaceAllString(string(text), "")
			if starts.MatchString(code) {
				seen++
				require.Regexp(t, `\bEnviron\(`, code, "%s starts a program with an environment of its own", name)
			}
			return nil
		}))
	}
	require.GreaterOrEqual(t, seen, 4, "the walk saw too little")
}
