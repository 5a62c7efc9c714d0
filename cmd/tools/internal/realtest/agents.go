// Package realtest starts real ACP agents offline: each from its npm package,
// with a fresh home, and with a stand-in for its model.
//
//	agent, err := realtest.Find("grok")
//	start, err := agent.Prepare(t.TempDir(), model.URL)
//	cmd := exec.Command(start.Args[0], start.Args[1:]...)
//	cmd.Env, cmd.Dir = start.Env, start.Dir
//
// The packages are not installed here: [Folder] says where they are, and
// [Agent].Packages what to install there.
package realtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is the environment variable that names the folder with the agents:
// each in a folder of its own name, as npm install --prefix leaves it.
const Folder = "ACP_BRIDGE_REAL_AGENTS"

// Longer is the environment variable that asks for the longer run.
const Longer = Folder + "_LONGER"

// ErrMissing means that an agent is not installed.
var ErrMissing = errors.New("not installed")

// Agent is a real agent.
type Agent struct {
	Name string
	// Packages are what npm installs, with versions.
	Packages []string
	// program is relative to the agent's folder.
	program string
	// setUp returns arguments and environment, and writes configuration into a
	// home.
	setUp func(s *setting) (args, env []string)
	// Long is set for agents of the longer run alone.
	Long bool
}

// Start is how to start an agent.
type Start struct {
	Args []string
	Env  []string
	// Dir is an empty folder to work in, Home that of the agent's settings.
	Dir, Home string
}

// Find returns the agent with this name. It is [ErrMissing] if the agent is not
// installed.
func Find(name string) (Agent, error) {
	for _, a := range Agents() {
		if a.Name == name {
			_, err := a.path()
			return a, err
		}
	}
	return Agent{}, fmt.Errorf("%q is no agent that is known here", name)
}

func (a Agent) path() (string, error) {
	folder := os.Getenv(Folder)
	if folder == "" {
		return "", fmt.Errorf("%s: %w: %s is not set", a.Name, ErrMissing, Folder)
	}
	path := filepath.Join(folder, a.Name, "node_modules", a.program)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s: %w: %w", a.Name, ErrMissing, err)
	}
	return filepath.Abs(path)
}

// Prepare makes a home for the agent in dir, in which its model is at url.
func (a Agent) Prepare(dir, url string) (Start, error) {
	path, err := a.path()
	if err != nil {
		return Start{}, err
	}
	s := &setting{home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work"), url: url}
	for _, d := range []string{s.home, s.work} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return Start{}, err
		}
	}
	args, env := a.setUp(s)
	return Start{
		Args: append([]string{path}, args...),
		Env:  append([]string{"PATH=" + nodePath(), "HOME=" + s.home, "TMPDIR=" + os.TempDir(), "NO_COLOR=1"}, env...),
		Dir:  s.work, Home: s.home,
	}, s.err
}

// nodePath is the PATH with a node of the agents' own before it, if there is
// one: some need a newer one than the system has.
func nodePath() string {
	return filepath.Join(os.Getenv(Folder), Node, "node_modules", ".bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// Node is the name of the folder, and of the npm package, with a node for the
// agents.
const Node = "node"

// NodePackage is what npm installs in that folder.
const NodePackage = "node@22.23.3"

// setting is where an agent runs.
type setting struct {
	home, work, url string
	err             error
}

// write puts a file into the home.
func (s *setting) write(name, text string) { s.put(filepath.Join(s.home, name), text) }

func (s *setting) put(path, text string) {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), fs.FileMode(0o600))
	}
	s.err = errors.Join(s.err, err)
}
