package hubstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A store whose files are gone or empty says so, once.
func TestLostFilesAreTold(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(name string) error{
		"gone":  os.Remove,
		"empty": func(name string) error { return os.Truncate(name, 0) },
	} {
		dir, _ := storeOf(t, 9)
		files := acptest.Must(filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "KV_questions", "msgs", "*.blk")))
		require.NotEmpty(t, files)
		for _, f := range files {
			require.NoError(t, lose(f))
		}
		for _, want := range []string{"THE STORE WAS DAMAGED: all of ", ""} {
			values, reported, err := readStore(t.Context(), dir)
			require.NoError(t, err, what)
			require.Empty(t, values)
			require.True(t, strings.HasPrefix(reported, want) && (reported == "") == (want == ""), what)
		}
	}
}
