package display

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	godiff "github.com/rogpeppe/go-internal/diff"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Change is a file before and after. Old is nil for one that is not there yet, or
// that nobody has read.
type Change struct {
	Path string  `json:"path"`
	Old  *string `json:"old,omitempty"`
	New  string  `json:"new"`
}

// Line is a line of a text or of a change.
type Line struct {
	// N is its number from 1: in the new text or, of a line that goes, in the old one.
	N    int
	Text string
	// Sign is + or - in a change, a space for a line that stays there, and @ where lines
	// that stay are left out. It is 0 in any other text.
	Sign byte
	// Blank is how many blank lines it stands for, if it stands for several.
	Blank int
}

// maxDiff is how much text is compared line by line. More is as if all of it had changed.
const maxDiff = 2 << 20

// Part is the change with the lines that come and go, and some that stay around them. That
// the last line has no break, or that breaks are those of Windows, is no change beside
// another one. The path is the one beside dir.
func (c Change) Part(dir string) Part {
	p := Part{Kind: "diff", Label: clean.Line(clean.Visible(beside(c.Path, dir))), lines: []Line{}}
	if c.Old == nil { // all of it is new; whether the file is there already nobody has said
		all := signed('+', c.New)
		p.lines, p.Stat = folded(all), counted(len(all), "1 line", "lines")
		return p
	}
	all := compare(*c.Old, c.New)
	plus, minus := 0, 0
	for _, l := range all {
		switch l.Sign {
		case '+':
			plus++
		case '-':
			minus++
		}
	}
	p.lines, p.Stat = folded(all), fmt.Sprintf("+%d −%d", plus, minus)
	if *c.Old != c.New && strings.TrimSuffix(*c.Old, "\n") == strings.TrimSuffix(c.New, "\n") {
		p.lines = append(p.lines, Line{Sign: '@', Text: "(the line break at the end changes)"})
	}
	return p
}

func compare(old, text string) (lines []Line) {
	if len(old)+len(text) > maxDiff {
		return append(signed('-', old), signed('+', text)...)
	}
	if a, b := strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(text, "\r\n", "\n"); a != b {
		old, text = a, b
	}
	d := string(godiff.Diff("old", withBreak(old), "new", withBreak(text)))
	for range 3 { // diff, ---, +++
		_, d, _ = strings.Cut(d, "\n")
	}
	var gone, here int // the numbers of the next line of either text
	for l := range strings.SplitSeq(strings.TrimSuffix(d, "\n"), "\n") {
		switch {
		case l == "":
		case l[0] == '@':
			before, count := here, 0
			_, _ = fmt.Sscanf(l, "@@ -%d,%d +%d", &gone, &count, &here)
			if len(lines) > 0 {
				lines = append(lines, Line{Sign: '@', Text: "⋯ " + counted(here-before, "1 line", "lines") + " ⋯"})
			}
		case l[0] == '-':
			lines = append(lines, Line{N: gone, Text: l[1:], Sign: '-'})
			gone++
		default:
			lines = append(lines, Line{N: here, Text: l[1:], Sign: l[0]})
			if here++; l[0] == ' ' {
				gone++
			}
		}
	}
	return lines
}

func withBreak(text string) []byte {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text)
}

// signed are the lines of a text, without what follows its last break.
func signed(sign byte, text string) (lines []Line) {
	if text == "" {
		return nil
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n") {
		lines = append(lines, Line{N: len(lines) + 1, Text: l, Sign: sign})
	}
	return lines
}

// mostBlank is how many blank lines stand as they are: more of them could push out of
// sight what comes behind.
const mostBlank = 2

// folded has one line for each long run of blank ones.
func folded(lines []Line) []Line {
	out := make([]Line, 0, len(lines))
	for len(lines) > 0 {
		n := 0
		for n < len(lines) && lines[n].Sign == lines[0].Sign && lines[n].ShowsNothing() {
			n++
		}
		if n > mostBlank {
			out = append(out, Line{N: lines[0].N, Text: fmt.Sprintf("⋯ %d blank lines ⋯", n), Sign: lines[0].Sign, Blank: n})
		} else {
			n = max(n, 1)
			out = append(out, lines[:n]...)
		}
		lines = lines[n:]
	}
	return out
}

// ShowsNothing reports whether nothing of a line can be seen. What has a stand-in can.
func (l Line) ShowsNothing() bool {
	for i, r := range l.Text {
		if !unicode.IsSpace(r) && !clean.Blank(string(r)) || clean.Visible(string(r)) != string(r) || r == utf8.RuneError && l.Text[i] != 0xef {
			return false
		}
	}
	return true
}

func blank(text string) bool { return Line{Text: text}.ShowsNothing() }

func counted(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return strconv.Itoa(n) + " " + many
}
