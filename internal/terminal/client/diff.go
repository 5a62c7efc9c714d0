package client

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

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
	for _, l := range about.Diff(old.Str, c.Get("newText").Str) {
		switch l.Sign {
		case '+':
			plus++
		case '-':
			minus++
		case '@':
			d.lines = append(d.lines, diffLine{"…", 0})
			continue
		default:
			d.lines = append(d.lines, diffLine{"  " + clean.Visible(l.Text), 0})
			continue
		}
		d.lines = append(d.lines, diffLine{string(l.Sign) + " " + clean.Visible(l.Text), l.Sign})
	}
	d.name = clean.Line(c.Get("path").Str)
	if old.Type == gjson.Null {
		d.name += " (new)"
	}
	d.name += fmt.Sprintf(" +%d −%d", plus, minus)
	return d
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
		lines = append(lines, diffLine{"… " + lineask.Counted(more, "more line", "more lines"), 0})
	}
	return lines
}
