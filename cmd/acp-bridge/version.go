package main

import (
	"io"
	"os"
	"runtime/debug"

	"github.com/charmbracelet/x/term"
)

// release is the version of a release, stamped by cmd/acp-bridge-release.
var release string

// version is that of the release, or the module's, or "devel" for a build from a
// checkout.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// isTerminal reports whether r is a terminal.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}
