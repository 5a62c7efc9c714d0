package claude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrNotFound means that there is no Claude Code CLI where Find looked.
var ErrNotFound = errors.New("Claude Code not found")

// notFound is ErrNotFound with the places where it was looked for, a line each.
type notFound struct{ error }

func (e notFound) Unwrap() error { return e.error }

// InLines says so to whoever prints it.
func (notFound) InLines() {}

// Find returns the absolute path of the CLI: explicit (a flag of the user's)
// if it is not empty, else what ACP_BRIDGE_CLAUDE or CLAUDE_CODE_EXECUTABLE
// name, else the first on PATH, else the places where its installers put it.
// What a flag or a variable names must be there: nothing else is tried then.
func Find(explicit string, getenv func(string) string) (string, error) {
	named := []struct{ source, value string }{
		{"--claude", explicit},
		{"ACP_BRIDGE_CLAUDE", getenv("ACP_BRIDGE_CLAUDE")},
		{"CLAUDE_CODE_EXECUTABLE", getenv("CLAUDE_CODE_EXECUTABLE")},
	}
	for _, n := range named {
		if n.value != "" {
			return findNamed(n.source, n.value, getenv)
		}
	}
	looked, path := findOnPath("claude", getenv)
	if path != "" {
		return path, nil
	}
	if home := Home(getenv); home != "" {
		for _, rel := range []string{".claude/local", ".local/bin"} {
			for _, name := range programNames("claude") {
				file := filepath.Join(home, filepath.FromSlash(rel), name)
				err := checkProgram(file)
				if err == nil {
					return file, nil
				}
				looked = append(looked, file+": "+reason(err))
			}
		}
	}
	return "", notFound{fmt.Errorf("%w. Looked at:\n  %s\nInstall it with\n  npm install -g @anthropic-ai/claude-code\nor say where it is: --claude PATH, or ACP_BRIDGE_CLAUDE in the environment",
		ErrNotFound, strings.Join(looked, "\n  "))}
}

func findNamed(source, value string, getenv func(string) string) (string, error) {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if home := Home(getenv); home != "" {
			value = filepath.Join(home, rest)
		}
	}
	if !strings.ContainsRune(value, '/') && !strings.ContainsRune(value, filepath.Separator) {
		looked, path := findOnPath(value, getenv)
		if path == "" {
			return "", notFound{fmt.Errorf("%w: %s names %q, which is not on PATH. Looked at:\n  %s", ErrNotFound, source, value, strings.Join(looked, "\n  "))}
		}
		return path, nil
	}
	// The CLI is started in the session's directory: make it absolute now.
	path, err := filepath.Abs(value)
	if err == nil {
		err = checkProgram(path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s names %s: %s", ErrNotFound, source, value, reason(err))
	}
	return path, nil
}

// findOnPath returns the first program of that name on PATH, or where it
// looked.
func findOnPath(name string, getenv func(string) string) (looked []string, found string) {
	dirs := filepath.SplitList(getenv("PATH"))
	if len(dirs) == 0 {
		return []string{"PATH: empty"}, ""
	}
	var notes []string
	for _, dir := range dirs {
		for _, n := range programNames(name) {
			file := filepath.Join(dir, n)
			err := checkProgram(file)
			switch {
			case err == nil && filepath.IsAbs(dir):
				return nil, file
			case err == nil:
				notes = append(notes, fmt.Sprintf("PATH entry %q: has %s, but is relative, which could run a program of the project: make it absolute", dir, n))
			case !errors.Is(err, os.ErrNotExist):
				notes = append(notes, file+": "+reason(err))
			}
		}
	}
	return append([]string{fmt.Sprintf("PATH: no %s in %s", name, strings.Join(dirs, string(filepath.ListSeparator)))}, notes...), ""
}

func programNames(name string) []string {
	if runtime.GOOS == "windows" && filepath.Ext(name) == "" {
		return []string{name + ".exe", name + ".cmd"}
	}
	return []string{name}
}

var (
	errNotExecutable = errors.New("not executable (chmod +x it, or name another file)")
	errDirectory     = errors.New("a directory, not a program")
)

func checkProgram(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errDirectory
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return errNotExecutable
	}
	return nil
}

// reason is err without the path, which the caller has named.
func reason(err error) string {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		err = pe.Err
	}
	return err.Error()
}

// Home is the home of the user whose environment that is.
func Home(getenv func(string) string) string {
	if runtime.GOOS == "windows" {
		return getenv("USERPROFILE")
	}
	return getenv("HOME")
}
