package display_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

var update = flag.Bool("update", false, "rewrite what the golden cases expect")

// TestGolden walks testdata/golden/render. A case is a txtar file: prose, then
//
//	tool.json     the call: {"name", "input"}
//	cwd           the working directory, /src/app if left out
//	display.json  what Info says
//	result.json   the result, if the case has one: {"content", "is_error", "structured"}
//	update.json   what Ended says
func TestGolden(t *testing.T) {
	files := acptest.Must(filepath.Glob("../testdata/golden/render/*.txtar"))
	require.GreaterOrEqual(t, len(files), 30)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar := acptest.Must(txtar.ParseFile(file))
			require.NotEmpty(t, bytes.TrimSpace(ar.Comment), "a case says what it shows")
			cwd := "/src/app"
			var tool display.Tool
			var result *display.Result
			for _, f := range ar.Files {
				switch f.Name {
				case "tool.json":
					require.NoError(t, json.Unmarshal(f.Data, &tool))
				case "cwd":
					cwd = strings.TrimSpace(string(f.Data))
				case "result.json":
					require.NoError(t, json.Unmarshal(f.Data, &result))
				}
			}
			expect(t, ar, "display.json", tool.Info(cwd))
			if result != nil {
				expect(t, ar, "update.json", tool.Ended(*result, cwd))
			}
			if *update && !t.Failed() {
				require.NoError(t, os.WriteFile(file, txtar.Format(ar), 0o644))
			}
		})
	}
}

// readable undoes the HTML escapes that the SDK's types write, and spells out a
// character that would turn the file itself around. A backslash of the text is
// passed over as a pair.
var readable = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", "\u202e", `\u202e`)

// expect compares a section with got, or with -update puts got there.
func expect(t *testing.T, ar *txtar.Archive, name string, got any) {
	t.Helper()
	text := readable.Replace(string(acptest.Must(json.MarshalIndent(got, "", "  ")))) + "\n"
	for i := range ar.Files {
		if ar.Files[i].Name != name {
			continue
		}
		if *update {
			ar.Files[i].Data = []byte(text)
			return
		}
		assert.Equal(t, string(ar.Files[i].Data), text, name)
		return
	}
	if *update {
		ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(text)})
		return
	}
	t.Errorf("the case has no section %s", name)
}
