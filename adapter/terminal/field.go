package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// field is a line of text that is being typed, or several. The cursor moves by
// what a person takes for one character.
type field struct {
	cells  []string // grapheme clusters
	cursor int      // between cells
	lines  bool     // may hold line breaks
}

func (f *field) String() string { return strings.Join(f.cells, "") }

// value is what was typed, trimmed.
func (f *field) value() string { return strings.TrimSpace(f.String()) }

func (f *field) empty() bool { return len(f.cells) == 0 }

func (f *field) clear() { f.cells, f.cursor = nil, 0 }

// set replaces the text; the cursor is at its end.
func (f *field) set(s string) {
	f.clear()
	f.insert(s)
}

// insert puts s at the cursor. Control characters, escapes above all, are left
// out; line breaks become spaces where the field holds one line.
func (f *field) insert(s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029:
			if f.lines {
				return '\n'
			}
			return ' '
		case r == '\t':
			return r
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	// What is typed may join the characters beside it: an accent, an emoji's
	// second half.
	from, to := max(0, f.cursor-1), min(len(f.cells), f.cursor+1)
	before := strings.Join(f.cells[from:f.cursor], "") + s
	cells, cursor := split(before+strings.Join(f.cells[f.cursor:to], ""), len(before))
	f.cells = append(append(append([]string(nil), f.cells[:from]...), cells...), f.cells[to:]...)
	f.cursor = from + cursor
}

// split returns the grapheme clusters of s and how many of them end at or
// cover byte at.
func split(s string, at int) (cells []string, cursor int) {
	state, pos := -1, 0
	for s != "" {
		var c string
		c, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		if pos < at {
			cursor++
		}
		pos += len(c)
		cells = append(cells, c)
	}
	return cells, cursor
}

// length is the number of characters of the trimmed text.
func (f *field) length() int { return utf8.RuneCountInString(f.value()) }

// key edits the text and reports whether it took the key. width is the number
// of columns the text is shown in.
func (f *field) key(k tea.KeyPressMsg, width int) bool {
	switch k.Keystroke() {
	case "left", "ctrl+b":
		f.cursor = max(0, f.cursor-1)
	case "right", "ctrl+f":
		f.cursor = min(len(f.cells), f.cursor+1)
	case "alt+left", "ctrl+left", "alt+b":
		f.cursor = f.wordLeft()
	case "alt+right", "ctrl+right", "alt+f":
		f.cursor = f.wordRight()
	case "home", "ctrl+a":
		f.cursor = f.lineStart()
	case "end", "ctrl+e":
		f.cursor = f.lineEnd()
	case "up":
		f.vertical(-1, width)
	case "down":
		f.vertical(1, width)
	case "backspace", "ctrl+h", "shift+backspace":
		f.remove(f.cursor-1, f.cursor)
	case "delete", "ctrl+d":
		f.remove(f.cursor, f.cursor+1)
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		f.remove(f.wordLeft(), f.cursor)
	case "ctrl+u":
		f.remove(f.lineStart(), f.cursor)
	case "ctrl+k":
		f.remove(f.cursor, f.lineEnd())
	case "ctrl+j", "alt+enter", "shift+enter":
		if !f.lines {
			return false
		}
		f.insert("\n")
	default:
		if k.Text == "" || k.Mod.Contains(tea.ModCtrl) || k.Mod.Contains(tea.ModAlt) {
			return false
		}
		f.insert(k.Text)
	}
	return true
}

func (f *field) remove(from, to int) {
	from, to = max(0, from), min(len(f.cells), to)
	if from >= to {
		return
	}
	f.cells = append(append([]string(nil), f.cells[:from]...), f.cells[to:]...)
	f.cursor = from
}

func (f *field) wordLeft() int {
	i := f.cursor
	for i > 0 && blank(f.cells[i-1]) {
		i--
	}
	for i > 0 && !blank(f.cells[i-1]) {
		i--
	}
	return i
}

func (f *field) wordRight() int {
	i := f.cursor
	for i < len(f.cells) && blank(f.cells[i]) {
		i++
	}
	for i < len(f.cells) && !blank(f.cells[i]) {
		i++
	}
	return i
}

func blank(cell string) bool { return strings.TrimSpace(cell) == "" }

func (f *field) lineStart() int {
	i := f.cursor
	for i > 0 && f.cells[i-1] != "\n" {
		i--
	}
	return i
}

func (f *field) lineEnd() int {
	i := f.cursor
	for i < len(f.cells) && f.cells[i] != "\n" {
		i++
	}
	return i
}

// vertical moves the cursor by lines as they are shown.
func (f *field) vertical(by, width int) {
	lines, row, col := f.layout(width)
	row += by
	if row < 0 || row >= len(lines) {
		return
	}
	i, x := lines[row].from, 0
	for i < lines[row].to && x < col {
		x += cellWidth(f.cells[i])
		i++
	}
	f.cursor = i
}

// span is one line of a field as it is shown: the cells from, up to to.
type span struct{ from, to int }

// layout breaks the text into lines of at most w columns and says in which row
// and column the cursor stands. The cursor itself needs a column, so a full
// line breaks before it.
func (f *field) layout(w int) (lines []span, row, col int) {
	w = max(w, 1)
	at, x := 0, 0
	for i := 0; i <= len(f.cells); i++ {
		cw := 1 // the cursor's column at the end of the text
		if i < len(f.cells) {
			cw = cellWidth(f.cells[i])
		}
		if x > 0 && x+cw > w && (i < len(f.cells) || f.cursor == i) {
			lines = append(lines, span{at, i})
			at, x = i, 0
		}
		if i == f.cursor {
			row, col = len(lines), x
		}
		if i == len(f.cells) {
			break
		}
		if f.cells[i] == "\n" {
			lines = append(lines, span{at, i})
			at, x = i+1, 0
			continue
		}
		x += cw
	}
	return append(lines, span{at, len(f.cells)}), row, col
}

// show is how a cell is drawn; a value may hold what must not be.
func show(cell string) string {
	if ascii(cell) {
		return cell
	}
	return strings.ReplaceAll(tabs(clean.Block(cell)), "\n", "")
}

func cellWidth(cell string) int {
	switch {
	case ascii(cell):
		return 1
	case cell == "\n":
		return 0
	}
	return width(show(cell))
}

// ascii is the common case: one printable byte.
func ascii(cell string) bool { return len(cell) == 1 && cell[0] >= ' ' && cell[0] < 0x7f }

// draw returns the text as at most n lines of w columns around the cursor, and
// where in them the cursor is.
func (f *field) draw(w, n int) (out []string, row, col int) {
	lines, row, col := f.layout(w)
	from := 0
	if n = max(n, 1); len(lines) > n {
		from = min(max(0, row-n/2), len(lines)-n)
		lines = lines[from : from+n]
	}
	for _, l := range lines {
		var b strings.Builder
		for _, c := range f.cells[l.from:l.to] {
			b.WriteString(show(c))
		}
		out = append(out, b.String())
	}
	return out, row - from, col
}
