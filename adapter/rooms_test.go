package adapter_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/acp-bridge/acp-bridge/"

// rooms says what a package, or everything below one that ends in "/...", may
// know of this module beside the shapes and looks, which all rooms outside of
// convert and display may know. The first line that fits counts. A package that
// is not listed may know nothing.
var rooms = []struct {
	room string
	may  []string
}{
	{"display/clean", nil},
	{"display", []string{"display/clean"}},
	{"convert", []string{"convert/internal/...", "display/clean"}},
	{"convert/...", []string{"convert", "convert/...", "display/clean"}},

	// Rules that everybody shares, and nobody's wires.
	{"internal/life", nil},
	{"internal/about", nil},
	{"internal/session", []string{"internal/conn/rpccode", "internal/life", "internal/typed"}},
	{"internal/typed", nil},
	{"internal/seen", nil},
	{"internal/lane", nil},
	{"internal/grace", nil},
	{"internal/leaktest", nil},
	{"internal/child", []string{"internal/grace"}},
	{"internal/filelock", nil},
	{"internal/uuid", nil},
	{"internal/conn", []string{"internal/conn/...", "internal/grace", "internal/life", "internal/seen"}},
	{"internal/conn/wiretest", []string{"internal/conn/ndjson"}},
	{"internal/conn/...", nil},

	// Asking.
	{"adapter/desk", []string{"internal/about", "internal/life"}},
	{"adapter", []string{"adapter/desk", "internal/about", "internal/life", "internal/seen"}},
	{"internal/pending", []string{"adapter", "adapter/desk", "adapter/terminal", "internal/filelock", "internal/hub/hublink", "internal/life"}},

	// Towards editors. The front knows no agent.
	{"adapter/editor", []string{"adapter", "adapter/desk", "internal/conn", "internal/about", "internal/conn/...", "internal/lane", "internal/seen", "internal/session", "internal/typed", "internal/uuid"}},
	{"internal/scripted", []string{"adapter/editor"}},
	{"internal/clientcheck", []string{"adapter", "adapter/desk", "adapter/editor", "internal/conn/...", "internal/scripted"}},
	{"internal/demo", []string{"adapter/desk", "adapter/editor", "internal/scripted"}},

	// Towards agents.
	{"adapter/askuserquestion", []string{"adapter", "internal/terminal/lineask"}},
	{"adapter/askuserquestion/examples/...", []string{"adapter/askuserquestion"}},
	{"adapter/fantasy/askuserquestion", []string{"adapter/askuserquestion"}},
	{"adapter/mcp", []string{"adapter", "adapter/desk", "internal/conn/rpccode", "internal/life"}},
	{"adapter/pipe", []string{"adapter", "adapter/desk", "internal/conn/...", "internal/life"}},
	{"internal/pipeagent", []string{"adapter", "adapter/desk", "adapter/editor", "adapter/pipe", "internal/child", "internal/conn/...", "internal/seen", "internal/typed"}},
	{"adapter/proxy", []string{"internal/about", "adapter", "adapter/desk", "adapter/editor", "adapter/mcp", "internal/child", "internal/conn", "internal/conn/...", "internal/grace", "internal/lane", "internal/life", "internal/seen", "internal/session", "internal/typed", "internal/uuid"}},
	{"internal/claude", []string{"internal/child", "internal/conn/...", "internal/grace", "internal/uuid"}},
	{"internal/claude/backend", []string{"adapter", "adapter/desk", "adapter/editor", "internal/claude", "internal/claude/grant", "internal/claude/transcript", "internal/conn", "internal/conn/...", "internal/filelock", "internal/grace", "internal/lane", "internal/life", "internal/typed", "internal/uuid"}},
	{"internal/claude/grant", nil},
	{"internal/claude/hook", []string{"internal/claude/grant"}},
	{"internal/claude/claudetest/standin", []string{"internal/claude/claudetest"}},
	{"internal/claude/...", []string{"internal/claude", "internal/conn/..."}},
	{"internal/watch", []string{"adapter/desk", "internal/hub/hublink"}},
	{"internal/watch/watchtest", []string{"internal/claude/apitest", "internal/claude/hook", "internal/hub", "internal/hub/...", "internal/modeltest", "internal/realtest"}},
	{"internal/watch/...", []string{"adapter/desk", "internal/about", "internal/filelock", "internal/life", "internal/watch"}},
	{"internal/modeltest", nil},
	{"internal/realtest", []string{"internal/modeltest"}},

	// Towards a terminal.
	{"adapter/terminal", []string{"adapter", "internal/seen", "internal/terminal/..."}},
	{"internal/terminal/client", []string{"adapter", "adapter/desk", "adapter/terminal", "internal/about", "internal/child", "internal/conn", "internal/conn/...", "internal/life", "internal/seen", "internal/terminal/..."}},
	{"internal/terminal/...", []string{"internal/grace", "internal/seen", "internal/terminal/..."}},

	// Many processes, many people.
	{"internal/hub", []string{"internal/about", "internal/hub/hubstore", "internal/life"}},
	{"internal/hub/hublink", []string{"adapter/desk", "internal/about", "internal/grace", "internal/life"}},
	{"internal/hub/web", []string{"internal/about", "internal/claude/hook", "internal/hub", "internal/hub/...", "internal/life", "internal/seen"}},
	{"internal/hub/look", []string{"internal/about"}},
	{"internal/hub/...", nil},

	{"cmd/...", []string{"adapter", "adapter/...", "cmd/...", "internal/..."}},
}

// computes reports whether a room does nothing but compute.
func computes(pkg string) bool {
	return strings.HasPrefix(pkg, "convert") || strings.HasPrefix(pkg, "display") || pkg == "internal/life" || pkg == "internal/session" || pkg == "internal/typed" || pkg == "internal/claude/hook" || pkg == "internal/claude/grant"
}

// impure is what such a room does not import.
var impure = map[string]bool{
	"net": true, "net/http": true, "os": true, "os/exec": true, "os/signal": true, "syscall": true, "log": true, "log/slog": true,
}

// Nothing is imported upward: shapes and looks know nobody who talks, the front
// knows no agent, and nobody knows a command.
func TestRooms(t *testing.T) {
	files := token.NewFileSet()
	seen := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != ".." {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel("..", name)
		require.NoError(t, err)
		pkg := path.Dir(filepath.ToSlash(rel))
		f, err := parser.ParseFile(files, name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			seen++
			if computes(pkg) {
				require.False(t, impure[imported], "%s imports %s: this room only computes", rel, imported)
			}
			if ours, ok := strings.CutPrefix(imported, module); ok {
				require.True(t, mayKnow(pkg, ours), "%s imports %s: rooms does not allow it", rel, ours)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, seen, 500, "the walk saw too little")
}

func mayKnow(pkg, imported string) bool {
	for _, r := range rooms {
		if inRoom(r.room, pkg) {
			return slices.ContainsFunc(append(r.may, shapes(pkg)...), func(may string) bool { return inRoom(may, imported) })
		}
	}
	return false
}

// shapes are what every room may know that has nothing to do with them itself.
func shapes(pkg string) []string {
	if strings.HasPrefix(pkg, "convert") || strings.HasPrefix(pkg, "display") {
		return nil
	}
	return []string{"convert", "convert/ask", "convert/dialect", "display", "display/clean"}
}

// inRoom reports whether a package is a room, or below one.
func inRoom(room, pkg string) bool {
	if parent, ok := strings.CutSuffix(room, "/..."); ok {
		return strings.HasPrefix(pkg, parent+"/")
	}
	return room == pkg
}

// What a Go host can import is small enough to be kept: everything else is
// internal.
func TestExportedNames(t *testing.T) {
	names := map[string]int{}
	require.NoError(t, filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "internal" || d.Name() == "cmd" || d.Name() == "testdata" || d.Name() == "fantasy"): // a module of its own
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		if f.Name.Name != "main" {
			names[path.Dir(filepath.ToSlash(name))] += exported(f)
		}
		return nil
	}))
	total := 0
	for _, n := range names {
		total += n
	}
	require.LessOrEqual(t, total, 300, "%v", names)
	require.Greater(t, total, 100, "the walk saw too little")
}

// exported counts the names that a file exports, methods and fields apart.
func exported(f *ast.File) (n int) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				n++
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						n++
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() {
							n++
						}
					}
				}
			}
		}
	}
	return n
}
