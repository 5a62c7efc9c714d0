package adapter_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/acp-bridge/acp-bridge/"

// rooms says what a package, or everything below one that ends in "/...", may
// know of this module. Packages that are not listed may know everything but
// commands. The first line that fits counts.
var rooms = []struct {
	room string
	may  []string
}{
	{"display/clean", nil},
	{"display/...", []string{"display/clean"}},
	{"convert", []string{"convert/internal/...", "display/clean"}},
	{"convert/...", []string{"convert", "convert/...", "display/clean"}},
	{"adapter", []string{"adapter/desk", "convert", "convert/ask", "display/clean"}},
	{"internal/life", []string{"convert"}},
	{"adapter/desk", []string{"internal/life", "convert"}},
	{"adapter/desk/...", []string{"adapter/desk", "internal/life", "convert", "convert/dialect", "display/clean"}},
	{"internal/conn/...", []string{"internal/conn/...", "display/clean"}},
	{"internal/conn", []string{"internal/conn/...", "display/clean"}},
	{"internal/claude/backend", []string{"adapter", "internal/claude/...", "internal/claude", "internal/conn", "internal/conn/...", "adapter/desk", "adapter/editor", "convert", "convert/...", "display", "display/..."}},
	{"internal/claude", []string{"internal/conn/...", "internal/drain", "display/clean"}},
	{"internal/claude/...", []string{"internal/claude", "internal/conn/...", "display/clean"}},
	// The machine of a session knows nobody who drives it.
	{"internal/session", []string{"convert"}},
	// The front knows no agent.
	{"adapter/editor", []string{"adapter", "internal/conn", "internal/conn/...", "adapter/desk", "internal/session", "convert", "convert/ask", "display/clean"}},
	{"internal/scripted", []string{"adapter/editor", "convert"}},
	{"adapter/terminal", []string{"adapter", "internal/terminal/...", "internal/drain", "internal/group", "internal/child", "convert", "convert/ask", "display/clean"}},
	{"internal/terminal/client", []string{"adapter", "internal/conn", "internal/conn/...", "adapter/desk", "adapter/terminal", "internal/terminal/...", "internal/drain", "internal/group", "internal/child", "convert", "convert/ask", "display", "display/clean"}},
}

// pure rooms do nothing but compute.
var pure = map[string]bool{
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
			if strings.HasPrefix(pkg, "convert") || strings.HasPrefix(pkg, "display") || pkg == "internal/life" {
				require.False(t, pure[imported], "%s imports %s: what is in convert, display and life is pure", rel, imported)
			}
			if ours, ok := strings.CutPrefix(imported, module); ok {
				require.True(t, mayKnow(pkg, ours), "%s imports %s: see house rules in rooms", rel, ours)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, seen, 500, "the walk saw too little")
}

func mayKnow(pkg, imported string) bool {
	if strings.HasPrefix(imported, "cmd/") {
		return strings.HasPrefix(pkg, "cmd/")
	}
	for _, r := range rooms {
		if !inRoom(r.room, pkg) {
			continue
		}
		for _, may := range r.may {
			if inRoom(may, imported) {
				return true
			}
		}
		return false
	}
	return true
}

// inRoom reports whether a package is a room, or below one.
func inRoom(room, pkg string) bool {
	if parent, ok := strings.CutSuffix(room, "/..."); ok {
		return strings.HasPrefix(pkg, parent+"/")
	}
	return room == pkg
}
