package about

import (
	"strings"

	godiff "github.com/rogpeppe/go-internal/diff"
)

// maxDiff is how much text is compared line by line. More is as if all of it had changed.
const maxDiff = 2 << 20

// DiffLine is a line of a change. Its sign is + or -, a space for a line that stays, and @
// where lines that stay are left out.
type DiffLine struct {
	Sign byte
	Text string
}

// Diff are the lines that come and go, with some that stay around them. That the last line
// has no break, or that breaks are those of Windows, is no change beside another one.
func Diff(old, text string) (lines []DiffLine) {
	if len(old)+len(text) > maxDiff {
		return append(signed('-', old), signed('+', text)...)
	}
	if a, b := strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(text, "\r\n", "\n"); a != b {
		old, text = a, b
	}
	d := string(godiff.Diff("old", ended(old), "new", ended(text)))
	for range 3 { // diff, ---, +++
		_, d, _ = strings.Cut(d, "\n")
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(d, "\n"), "\n") {
		switch {
		case l == "":
		case l[0] != '@':
			lines = append(lines, DiffLine{l[0], l[1:]})
		case len(lines) > 0:
			lines = append(lines, DiffLine{Sign: '@'})
		}
	}
	return lines
}

func ended(text string) []byte {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text)
}

func signed(sign byte, text string) (lines []DiffLine) {
	if text == "" {
		return nil
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n") {
		lines = append(lines, DiffLine{sign, l})
	}
	return lines
}
