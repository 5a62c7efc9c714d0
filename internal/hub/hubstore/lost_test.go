package hubstore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A store whose files are gone or empty says so, once, and has another name from then on:
// what was numbered before means nothing there.
func TestLostFilesAreTold(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(name string) error{
		"gone":  os.Remove,
		"empty": func(name string) error { return os.Truncate(name, 0) },
	} {
		dir, _ := storeOf(t, 9)
		nameOf := func() (name, reported string) {
			s := acptest.Must(Open(t.Context(), Options{Dir: dir, Report: func(problem string) { reported += problem }}))
			defer s.Close()
			return s.Name(), reported
		}
		name, reported := nameOf()
		require.Empty(t, reported)
		files := acptest.Must(filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "KV_questions", "msgs", "*.blk")))
		require.NotEmpty(t, files)
		for _, f := range files {
			require.NoError(t, lose(f))
		}
		values, reported, err := readStore(t.Context(), dir)
		require.NoError(t, err, what)
		require.Empty(t, values)
		require.Contains(t, reported, "THE STORE WAS DAMAGED: all of ", what)
		next, reported := nameOf()
		require.Empty(t, reported, what)
		require.NotEqual(t, name, next, what)
	}
}
