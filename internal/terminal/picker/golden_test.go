package picker_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestGolden walks testdata: keys, and the screens they lead to.
func TestGolden(t *testing.T) {
	files := acptest.Must(filepath.Glob("testdata/*.txtar"))
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar := acptest.Must(txtar.ParseFile(file))
			want := string(txtar.Format(ar))
			rewrite(t, ar)
			if *update {
				require.NoError(t, os.WriteFile(file, txtar.Format(ar), 0o644))
				return
			}
			require.Equal(t, want, string(txtar.Format(ar)))
		})
	}
}

// rewrite draws all screens anew.
func rewrite(t testing.TB, ar *txtar.Archive) {
	t.Helper()
	models := map[string]*picker.Picker{}
	g := ttytest.Parse(t, ar)
	for _, size := range g.Sizes {
		models[size] = g.Model(t, size)
	}
	last := models[g.Sizes[0]]
	for i, f := range ar.Files {
		switch {
		case f.Name == "keys":
			for _, m := range models {
				ttytest.Press(t, m, string(f.Data))
			}
		case f.Name == "outcome.json":
			ar.Files[i].Data = outcomeJSON(t, last)
		case strings.HasPrefix(f.Name, "left "):
			ar.Files[i].Data = []byte(left(models[strings.TrimPrefix(f.Name, "left ")]))
		case models[f.Name] != nil:
			ar.Files[i].Data = []byte(ttytest.Drawn(models[f.Name]))
		}
	}
}

func outcomeJSON(t testing.TB, m *picker.Picker) []byte {
	t.Helper()
	o, done := m.Done()
	require.True(t, done, "the keys do not finish the picker")
	return append(acptest.Must(json.MarshalIndent(o, "", "  ")), '\n')
}

func left(m *picker.Picker) string { return strings.Join(m.Record(), "\n") + "\n" }
