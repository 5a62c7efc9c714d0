package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrOutside is returned for a path that is no session file of the projects
// folder.
var ErrOutside = errors.New("not a session file of the projects folder")

// aside are the folders beside projects in which the CLI keeps something for
// each session, in a folder named by its id.
var aside = []string{"tasks", "session-env", "file-history"}

// Delete removes a session: its file, as Find returns it, and what the CLI
// keeps for it elsewhere. It removes nothing else: the path must be a session
// file directly in a folder of projects, and a symbolic link on the way is
// never followed out of it. A session that is in use must be ended first.
func Delete(configDir, path string) error {
	return inProjects(configDir, path, "delete", func(root *os.Root, rel, id string) error {
		info, err := root.Lstat(rel)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return ErrOutside
		}
		if err := root.Remove(rel); err != nil {
			return err
		}
		// The session is gone; what else there is of it goes with it.
		errs := []error{root.RemoveAll(filepath.Join(filepath.Dir(rel), id))}
		for _, name := range aside {
			errs = append(errs, removeAside(filepath.Join(configDir, name), id))
		}
		return errors.Join(errs...)
	})
}

// inProjects has a function do something to a session file, which it names by its path within
// the projects folder, and its id.
func inProjects(configDir, path, what string, do func(root *os.Root, rel, id string) error) error {
	id, ok := sessionID(path)
	rel, err := filepath.Rel(projectsDir(configDir), path)
	if configDir == "" || !ok || err != nil || !filepath.IsLocal(rel) || filepath.Dir(filepath.Dir(rel)) != "." || filepath.Dir(rel) == "." {
		err = ErrOutside
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(projectsDir(configDir))
	}
	if err == nil {
		defer root.Close()
		err = do(root, rel, id)
	}
	if err != nil {
		return fmt.Errorf("transcript: %s %q: %w", what, path, err)
	}
	return nil
}

func removeAside(dir, id string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(id)
}
