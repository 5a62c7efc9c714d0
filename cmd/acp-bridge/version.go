package main

import (
	"context"
	"fmt"
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

func versionCommand(fs *flagSet) runner {
	return func(_ context.Context, args []string, s streams) error {
		if err := fs.parseFlags(args, ""); err != nil {
			return err
		}
		_, err := fmt.Fprintln(s.out, "acp-bridge", version())
		return err
	}
}

// isTerminal reports whether r is a terminal.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}
