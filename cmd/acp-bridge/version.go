package main

import (
	"os"
	"path/filepath"

	"github.com/charmbracelet/x/term"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

var version = cli.Version

// facts are what the version says besides the version.
func facts() []cli.Example {
	list := []cli.Example{{Line: "commit", What: cli.Commit()}}
	if dir, err := hublink.DataDir(); err == nil {
		list = append(list, cli.Example{Line: "data", What: filepath.Dir(dir)})
	}
	return list
}

// isTerminal reports whether r is a terminal.
func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}
