package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// sources calls f with every Go file of the repository.
func sources(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	files := acptest.Must(parsed())
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f(path, files[path])
	}
}

// parsed are all files, which several tests read.
var parsed = sync.OnceValues(func() (map[string]*ast.File, error) {
	const root = "../.."
	files := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		files[filepath.ToSlash(path)], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		return err
	})
	return files, err
})

// No program is a shell, and none gets a line to interpret: what a model, an
// editor or a user writes is an argument or input, never a command.
func TestNothingIsRunThroughAShell(t *testing.T) {
	t.Parallel()
	shells := regexp.MustCompile(`^["` + "`" + `](.*/)?(sh|bash|zsh|dash|cmd|cmd\.exe|powershell(\.exe)?|pwsh|env|-c|/c)["` + "`" + `]$`)
	calls := 0
	sources(t, func(path string, file *ast.File) {
		// The watcher of children is a script of our own, which reads numbers alone.
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "internal/proc/tie_unix.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || fun.Sel.Name != "Command" && fun.Sel.Name != "CommandContext" && fun.Sel.Name != "StartProcess" {
				return true
			}
			calls++
			for _, arg := range call.Args {
				if lit, ok := arg.(*ast.BasicLit); ok {
					require.NotRegexp(t, shells, lit.Value, path)
				}
			}
			return true
		})
	})
	require.Greater(t, calls, 3, "the programs that are started")

	b := startBridge(t, claudetest.Script{}, "--", "--append-system-prompt", "$(touch pwned); `touch pwned` && touch 'pwned'\n*")
	b.session()
	start := b.cli.Starts()[0]
	require.Equal(t, "$(touch pwned); `touch pwned` && touch 'pwned'\n*", start.Args[len(start.Args)-1])
	require.NoFileExists(t, filepath.Join(start.Dir, "pwned"))
	require.NoFileExists(t, "pwned")
}

// Every test that the package's security notes name is there. The README points to
// them.
func TestNotesNameSecurityTests(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(string(acptest.Must(os.ReadFile("doc.go"))), "\n//   ", "\n")
	_, notes, found := strings.Cut(text, "\n// # Security\n//\n")
	require.True(t, found)
	notes, _, _ = strings.Cut(notes, "\npackage main")
	notes = strings.TrimPrefix(strings.ReplaceAll(notes, "\n//\n", "\n\n"), "// ")
	require.Contains(t, string(acptest.Must(os.ReadFile("../../README.md"))), "go doc ./cmd/acp-bridge")
	there := map[string]bool{}
	sources(t, func(path string, file *ast.File) {
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				there[dir+" "+f.Name.Name] = true
			}
		}
	})
	named := regexp.MustCompile("`([a-z/-]+) (Test[A-Za-z]+)`").FindAllStringSubmatch(notes, -1)
	require.NotEmpty(t, named)
	for _, n := range named {
		require.True(t, there[n[1]+" "+n[2]], n[0])
	}
	for note := range strings.SplitSeq(strings.TrimSpace(notes), "\n- ") {
		if !strings.HasPrefix(note, "What") {
			require.Contains(t, note, " Test", "a note without a test")
		}
	}
}
