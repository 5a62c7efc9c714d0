package web

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

const (
	// mostBlank is how many blank lines stand as they are, and mostSpaces how many
	// spaces: more of them could push out of sight what comes behind.
	mostBlank  = 2
	mostSpaces = 40
)

var spaces = regexp.MustCompile(fmt.Sprintf(`[\t\p{Zs}\x{2800}\x{3164}]{%d,}`, mostSpaces+1))

// fold says how many blank lines and spaces there are in place of many of them.
func fold(text string) string {
	lines := strings.Split(text, "\n")
	out := make([]string, 0, len(lines))
	blank := 0
	flush := func() {
		if blank > mostBlank {
			out = append(out, fmt.Sprintf("⋯ %d blank lines ⋯", blank))
		} else {
			out = append(out, make([]string, blank)...)
		}
		blank = 0
	}
	for _, line := range lines {
		if isBlank(line) {
			blank++
			continue
		}
		flush()
		out = append(out, spaces.ReplaceAllStringFunc(line, func(s string) string { return fmt.Sprintf(" ⋯ %d spaces ⋯ ", len([]rune(s))) }))
	}
	flush()
	return strings.Join(out, "\n")
}

// isBlank reports whether nothing of a line can be seen.
func isBlank(line string) bool {
	return strings.IndexFunc(line, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Mn, r) && r != '\u2800' && r != '\u3164' && r != '\u115f' && r != '\u1160' && r != '\uffa0'
	}) < 0
}
