package picker_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestGolden walks testdata: keys, and the screens they lead to.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			require.NoError(t, err)
			if *update {
				ttytest.Rewrite(t, ar)
				require.NoError(t, os.WriteFile(file, txtar.Format(ar), 0o644))
			}
			g := ttytest.Parse(t, ar)
			for _, size := range g.Sizes {
				t.Run(size, func(t *testing.T) { g.View(t, size) })
			}
		})
	}
}
