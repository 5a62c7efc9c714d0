package client

import (
	"fmt"
	"strings"

	godiff "github.com/rogpeppe/go-internal/diff"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/wording"
)

// maxDiff is how much text is compared line by line. More is counted as if all
// of it had changed.
const maxDiff = 4 << 20

// fileDiff is a change of a file.
type fileDiff struct {
	name  string // the file, and how many lines came and went
	lines []diffLine
}

// diffLine is a line of a diff as it is shown. Its sign is + or -, 0 for a line
// that stays.
type diffLine struct {
	text string
	sign byte
}

// newDiff reads an item of a tool call's content.
func newDiff(c gjson.Result) fileDiff {
	old := c.Get("oldText")
	var d fileDiff
	plus, minus := 0, 0
	for l := range strings.SplitSeq(strings.TrimSuffix(compare(old.Str, c.Get("newText").Str), "\n"), "\n") {
		if l == "" {
			continue
		}
		switch l[0] {
		case '+':
			plus++
		case '-':
			minus++
		case '@':
			if len(d.lines) > 0 {
				d.lines = append(d.lines, diffLine{"…", 0})
			}
			continue
		}
		d.lines = append(d.lines, diffLine{l[:1] + " " + clean.Visible(l[1:]), sign(l[0])})
	}
	d.name = clean.Line(c.Get("path").Str)
	if old.Type == gjson.Null {
		d.name += " (new)"
	}
	d.name += fmt.Sprintf(" +%d −%d", plus, minus)
	return d
}

func sign(b byte) byte {
	if b == '+' || b == '-' {
		return b
	}
	return 0
}

// short is the lines that came and went, n of them, and how many more there
// are.
func (d fileDiff) short(n int) (lines []diffLine) {
	more := 0
	for _, l := range d.lines {
		switch {
		case l.sign == 0:
		case len(lines) < n:
			lines = append(lines, l)
		default:
			more++
		}
	}
	if more > 0 {
		lines = append(lines, diffLine{"… " + wording.Counted(more, "more line", "more lines"), 0})
	}
	return lines
}

// compare is the lines of a unified diff, without its head.
func compare(old, text string) string {
	if len(old)+len(text) > maxDiff {
		return signed("-", old) + signed("+", text)
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

func signed(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark) + "\n"
}
