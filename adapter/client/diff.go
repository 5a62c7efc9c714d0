package client

import (
	"fmt"
	"strings"

	godiff "github.com/rogpeppe/go-internal/diff"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// maxDiff is how much text is compared line by line. More is counted as if all
// of it had changed.
const maxDiff = 4 << 20

// diff is a change of a file in short: how many lines came and went, and the
// first of them.
func diff(path string, old gjson.Result, text string) []string {
	var changed []string
	plus, minus := 0, 0
	for l := range strings.SplitSeq(compare(old.Str, text), "\n") {
		switch {
		case strings.HasPrefix(l, "+"):
			plus++
		case strings.HasPrefix(l, "-"):
			minus++
		default:
			continue
		}
		if len(changed) <= diffLines {
			changed = append(changed, l[:1]+" "+clean.Visible(l[1:]))
		}
	}
	name := clean.Line(path)
	if old.Type == gjson.Null {
		name += " (new)"
	}
	if len(changed) > diffLines {
		changed = append(changed[:diffLines], fmt.Sprintf("… %d more lines", plus+minus-diffLines))
	}
	return append([]string{fmt.Sprintf("%s +%d −%d", name, plus, minus)}, changed...)
}

// compare is the lines of a unified diff, without its head.
func compare(old, text string) string {
	if len(old)+len(text) > maxDiff {
		return sign("-", old) + sign("+", text)
	}
	d := string(godiff.Diff("old", ended(old), "new", ended(text)))
	for range 3 { // diff, ---, +++
		_, d, _ = strings.Cut(d, "\n")
	}
	return d
}

// ended is text whose last line has its line break, so that a missing one is
// no change.
func ended(text string) []byte {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text)
}

func sign(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark) + "\n"
}
