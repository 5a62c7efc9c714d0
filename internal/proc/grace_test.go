package proc_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var never chan struct{}
		require.False(t, proc.Within(never, 3*time.Second))
		require.Equal(t, 3*time.Second, time.Since(begin))
		done := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(done) })
		begin = time.Now()
		require.True(t, proc.Within(done, 3*time.Second))
		require.Equal(t, time.Second, time.Since(begin))
		require.True(t, proc.Within(done, -1), "it was there before")
		require.False(t, proc.Within(never, -1))
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := proc.Context(t.Context(), 2*time.Second)
		<-ctx.Done()
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
		cancel()
		ctx, cancel = proc.Context(t.Context(), time.Hour)
		cancel()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		synctest.Wait()
	})
}

// starts are the ways to start a program that do not come by [proc.Environ].
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
			case strings.Contains(slashed, "test/"), strings.HasSuffix(slashed, "internal/proc/tie_unix.go"), strings.HasSuffix(slashed, "cmd/acp-bridge/hub.go"):
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
