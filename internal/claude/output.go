package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// errNoOutput means that the output of a task cannot be followed.
var errNoOutput = errors.New("there is no output to follow")

// OpenOutput opens the file that the CLI writes the output of a running command
// to, for reading. getenv is the CLI's environment, sessions the ids that it may
// have filed the task under. The file is gone when the command has ended, but
// what was opened stays readable.
//
// A task's id comes from the CLI, yet it is data: it names a file in the task
// folder of one of the sessions and nothing else, and a link is not followed.
func OpenOutput(getenv func(string) string, sessions []string, task string) (*os.File, error) {
	if !plainName(task) {
		return nil, fmt.Errorf("%w: %q is not the id of a task", errNoOutput, task)
	}
	dir := outputDir(getenv)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !ownedBy(info, os.Getuid()) {
		return nil, fmt.Errorf("%w: %s is not a folder of this user", errNoOutput, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoOutput, err)
	}
	defer root.Close()
	// The first level is the project's folder in a spelling of the CLI's own.
	projects, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoOutput, err)
	}
	for _, session := range sessions {
		if !plainName(session) {
			continue
		}
		for _, project := range projects {
			if f := openOwn(root, filepath.Join(project.Name(), session, "tasks", task+".output"), os.Getuid(), func() {}); f != nil {
				return f, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: no file for task %s in %s", errNoOutput, task, dir)
}

// outputDir is where the CLI keeps the files of running tasks.
func outputDir(getenv func(string) string) string {
	tmp := "/tmp"
	for _, name := range []string{"CLAUDE_CODE_TMPDIR", "TMPDIR", "TMP", "TEMP"} {
		if v := getenv(name); v != "" {
			tmp = v
			break
		}
	}
	return filepath.Join(tmp, "claude-"+strconv.Itoa(max(0, os.Getuid())))
}

// openOwn opens a regular file of a user, and nothing else.
func openOwn(root *os.Root, name string, uid int, checked func()) *os.File {
	f, err := OpenRegular(root, name, checked)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !ownedBy(info, uid) {
		f.Close()
		return nil
	}
	return f
}

// OpenRegular opens a regular file and follows no link, also if one takes its place
// between the check and the opening, which is when checked is called.
func OpenRegular(root *os.Root, name string, checked func()) (*os.File, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Join(root.Name(), name))
	}
	checked()
	f, err := root.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		f.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened", filepath.Join(root.Name(), name))
	}
	return f, nil
}

// plainName reports whether a name is letters, digits, dashes and underscores.
func plainName(name string) bool {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return name != "" && len(name) <= 100 && strings.Trim(name, plain) == ""
}
