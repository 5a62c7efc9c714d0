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
	rel, id, err := sessionFile(configDir, path)
	if err != nil {
		return fmt.Errorf("transcript: delete %q: %w", path, err)
	}
	root, err := os.OpenRoot(projectsDir(configDir))
	if err != nil {
		return fmt.Errorf("transcript: delete session %s: %w", id, err)
	}
	defer root.Close()
	info, err := root.Lstat(rel)
	if err != nil {
		return fmt.Errorf("transcript: delete session %s: %w", id, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("transcript: delete %q: %w", path, ErrOutside)
	}
	if err := root.Remove(rel); err != nil {
		return fmt.Errorf("transcript: delete session %s: %w", id, err)
	}
	// The session is gone; what else there is of it goes with it.
	errs := []error{root.RemoveAll(filepath.Join(filepath.Dir(rel), id))}
	for _, name := range aside {
		errs = append(errs, removeAside(filepath.Join(configDir, name), id))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("transcript: delete the rest of session %s: %w", id, err)
	}
	return nil
}

// sessionFile is the path of a session file within the projects folder, and its id.
func sessionFile(configDir, path string) (rel, id string, err error) {
	id, ok := sessionID(path)
	rel, err = filepath.Rel(projectsDir(configDir), path)
	if configDir == "" || !ok || err != nil || !filepath.IsLocal(rel) || filepath.Dir(filepath.Dir(rel)) != "." || filepath.Dir(rel) == "." {
		return "", "", ErrOutside
	}
	return rel, id, nil
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
