package adapter_test

import (
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

	"github.com/acp-bridge/acp-bridge/internal/acptest"
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
	{"internal/session", []string{"internal/life", "internal/seen", "internal/typed"}},
	{"internal/typed", nil},
	{"internal/seen", nil},
	{"internal/leaktest", nil},
	{"internal/acptest", []string{"internal/conn", "internal/conn/...", "internal/proc"}},
	{"internal/proc", nil},
	{"internal/conn", []string{"internal/conn/...", "internal/proc", "internal/life", "internal/seen"}},
	{"internal/conn/...", nil},

	// Asking.
	{"adapter/desk", []string{"internal/about", "internal/life"}},
	{"adapter", []string{"adapter/desk", "internal/about", "internal/life", "internal/seen"}},
	{"internal/pending", []string{"adapter", "adapter/desk", "adapter/terminal", "internal/proc", "internal/hub/hublink", "internal/life"}},

	// Towards editors. The front knows no agent.
	{"adapter/editor", []string{"adapter", "adapter/desk", "internal/about", "internal/conn", "internal/conn/...", "internal/life", "internal/seen", "internal/session", "internal/typed"}},
	{"internal/scripted", []string{"adapter", "adapter/desk", "adapter/editor", "internal/conn", "internal/conn/...", "internal/typed", "internal/proc"}},

	// Towards agents.
	{"adapter/askuserquestion", []string{"adapter", "internal/terminal/lineask"}},
	{"adapter/askuserquestion/examples/...", []string{"adapter/askuserquestion"}},
	{"adapter/fantasy/askuserquestion", []string{"adapter/askuserquestion"}},
	{"adapter/mcp", []string{"adapter", "adapter/desk", "internal/conn/ndjson", "internal/life", "internal/seen"}},
	{"adapter/pipe", []string{"adapter", "adapter/desk", "internal/conn/...", "internal/life", "internal/proc"}},
	{"internal/pipeagent", []string{"adapter", "adapter/desk", "adapter/editor", "adapter/pipe", "internal/proc", "internal/conn", "internal/conn/...", "internal/scripted"}},
	{"adapter/proxy", []string{"internal/about", "adapter", "adapter/desk", "adapter/editor", "adapter/mcp", "internal/proc", "internal/conn", "internal/conn/...", "internal/life", "internal/seen", "internal/session", "internal/typed"}},
	{"internal/claude", []string{"internal/proc", "internal/conn", "internal/conn/...", "internal/life"}},
	{"internal/claude/backend", []string{"adapter", "adapter/desk", "adapter/editor", "internal/about", "internal/claude", "internal/claude/hook", "internal/claude/transcript", "internal/conn", "internal/conn/...", "internal/proc", "internal/life", "internal/typed"}},
	{"internal/claude/hook", []string{"internal/about"}},
	{"internal/claude/claudetest/standin", []string{"internal/claude/claudetest"}},
	{"internal/claude/...", []string{"internal/claude", "internal/conn/...", "internal/proc"}},
	{"internal/watch", []string{"adapter/desk", "internal/about", "internal/claude", "internal/claude/hook", "internal/claude/transcript", "internal/hub/hublink", "internal/life", "internal/proc"}},
	{"internal/watch/watchtest", []string{"internal/hub", "internal/hub/..."}},
	{"internal/watch/...", []string{"adapter/desk", "internal/about", "internal/proc", "internal/life", "internal/watch"}},

	// Towards a terminal.
	{"adapter/terminal", []string{"adapter", "internal/seen", "internal/terminal/..."}},
	{"internal/terminal/client", []string{"adapter", "adapter/desk", "adapter/terminal", "internal/about", "internal/proc", "internal/conn", "internal/conn/...", "internal/life", "internal/seen", "internal/terminal/..."}},
	{"internal/terminal/...", []string{"internal/proc", "internal/seen", "internal/terminal/..."}},

	// Many processes, many people.
	{"internal/hub", []string{"internal/about", "internal/hub/hubstore", "internal/life", "internal/proc"}},
	{"internal/hub/hublink", []string{"adapter/desk", "internal/about", "internal/proc", "internal/life"}},
	{"internal/hub/web", []string{"internal/about", "internal/claude/hook", "internal/hub", "internal/hub/...", "internal/life", "internal/seen"}},
	{"internal/hub/look", nil},
	{"internal/hub/...", []string{"internal/proc"}},

	{"cmd/...", []string{"adapter", "adapter/...", "cmd/...", "internal/..."}},
}

// computes reports whether a room does nothing but compute.
func computes(pkg string) bool {
	return strings.HasPrefix(pkg, "convert") || strings.HasPrefix(pkg, "display") || pkg == "internal/life" || pkg == "internal/session" || pkg == "internal/typed" || pkg == "internal/claude/hook"
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
	require.NoError(t, filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != ".." {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel := acptest.Must(filepath.Rel("..", name))
		pkg := path.Dir(filepath.ToSlash(rel))
		for _, spec := range acptest.Must(parser.ParseFile(files, name, nil, parser.ImportsOnly)).Imports {
			imported := acptest.Must(strconv.Unquote(spec.Path.Value))
			seen++
			if computes(pkg) {
				require.False(t, impure[imported], "%s imports %s: this room only computes", rel, imported)
			}
			if ours, ok := strings.CutPrefix(imported, module); ok {
				require.True(t, mayKnow(pkg, ours), "%s imports %s: rooms does not allow it", rel, ours)
			}
		}
		return nil
	}))
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
