package main

import (
	"os"

	"github.com/charmbracelet/x/term"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

var version = cli.Version

// isTerminal reports whether r is a terminal.
func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}
