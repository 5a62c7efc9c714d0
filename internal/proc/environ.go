package proc

import (
	"os"
	"slices"
	"strings"
	"unicode"
)

// ours are the variables that are for acp-bridge alone. With the first a child
// could answer its own questions, with the second another session's.
var ours = []string{"ACP_BRIDGE_HUB_TOKEN", "ACP_BRIDGE_TOOL"}

// Environ is the environment of a child: env, or that of this process if env is
// nil, without what is for acp-bridge alone. Whatever acp-bridge starts gets its
// environment from here.
func Environ(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(ours, func(own string) bool { return strings.EqualFold(name, own) })
	})
}

// ShellQuote is a word for a shell.
func ShellQuote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+:@%", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
