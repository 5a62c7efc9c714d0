package cli

import (
	"runtime/debug"
	"strings"
)

// Stamped by cmd/tools/release and by the hub's Containerfile.
var release, commit string

// Version is that of the release, or the module's, or "devel" for a build from a
// checkout.
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// Commit is the commit that was built, shortened, or "unknown". A checkout with
// changes of its own says so.
func Commit() string {
	found, changed := commit, false
	if info, ok := debug.ReadBuildInfo(); ok && found == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				found = s.Value
			case "vcs.modified":
				changed = s.Value == "true"
			}
		}
	}
	return short(found, changed)
}

func short(commit string, changed bool) string {
	if commit == "" {
		return "unknown"
	}
	commit = strings.ToLower(commit[:min(len(commit), 12)])
	if changed {
		commit += " with changes"
	}
	return commit
}
