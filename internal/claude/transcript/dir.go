package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// maxName is the longest folder name that the CLI derives from a path alone.
// A longer one is cut there and gets a hash of the path.
const maxName = 200

// ConfigDir is where the CLI keeps its files: $CLAUDE_CONFIG_DIR, else .claude
// in the user's home. It is empty if there is no home either. getenv must look
// into the environment that the CLI is started with.
func ConfigDir(getenv func(string) string) string {
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	if home := claude.Home(getenv); home != "" {
		return filepath.Join(home, ".claude")
	}
	return ""
}

// Dir is the folder in which the CLI keeps the sessions of a working
// directory whose path is no longer than maxName. It need not exist. Different
// directories may share a folder: /a.b and /a-b do.
func Dir(configDir, cwd string) string {
	return filepath.Join(projectsDir(configDir), dashed(realPath(cwd)))
}

func projectsDir(configDir string) string { return filepath.Join(configDir, "projects") }

// realPath is the path as the CLI sees it: getcwd knows no symbolic links.
func realPath(cwd string) string {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	if abs, err := filepath.Abs(cwd); err == nil {
		cwd = abs
	}
	return cwd
}

// dashed is the CLI's rule for a folder's name: every UTF-16 unit that is no ASCII
// letter or digit becomes a dash. Of a longer one than maxName it cuts the rest.
func dashed(path string) string {
	var name []byte
	for _, unit := range utf16.Encode([]rune(path)) {
		if strings.ContainsRune(alphanumeric, rune(unit)) {
			name = append(name, byte(unit))
		} else {
			name = append(name, '-')
		}
	}
	return string(name)
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// folder is a place where sessions of a working directory may be.
type folder struct {
	path string
	// strict is set where the name alone does not tell: only sessions that
	// name the very directory count.
	strict bool
}

// folders are the places that exist for a working directory, the likeliest
// first, or for all of them if it is empty. Versions of the CLI differ in the hash of
// long names, so whatever begins like one is looked at.
func folders(configDir, cwd string) (found []folder, err error) {
	seen := map[string]bool{}
	add := func(path string, strict bool) {
		if info, err := os.Stat(path); err == nil && info.IsDir() && !seen[path] {
			seen[path] = true
			found = append(found, folder{path, strict})
		}
	}
	projects := projectsDir(configDir)
	addAll := func(prefix string, strict bool) error {
		entries, err := os.ReadDir(projects)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), prefix) {
				add(filepath.Join(projects, e.Name()), strict)
			}
		}
		return err
	}
	if cwd == "" {
		if err := addAll("", false); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		return found, nil
	}
	for _, path := range []string{realPath(cwd), filepath.Clean(cwd)} {
		if name := dashed(path); len(name) <= maxName {
			add(filepath.Join(projects, name), false)
		} else {
			_ = addAll(name[:maxName]+"-", true)
		}
	}
	return found, nil
}
