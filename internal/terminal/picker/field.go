package picker

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// Field is a line of text that is being typed, or several: where the cursor is in it,
// and how it is drawn. The cursor moves by what a person takes for one character. The
// zero value is empty and holds one line.
type Field struct {
	// Lines says that the text may hold line breaks.
	Lines bool
	// Hidden draws dots in place of what was typed.
	Hidden bool

	cells  []string // grapheme clusters
	cursor int      // between cells
	laid   laid
}

// laid is the text broken into lines, for as long as nothing changes.
type laid struct {
	width, cursor int
	lines         []span
	row, col      int
}

// String is what was typed.
func (f *Field) String() string { return strings.Join(f.cells, "") }

// Value is what was typed, trimmed.
func (f *Field) Value() string { return strings.TrimSpace(f.String()) }

// Empty reports whether nothing was typed.
func (f *Field) Empty() bool { return len(f.cells) == 0 }

// Clear takes the text away.
func (f *Field) Clear() { f.cells, f.cursor, f.laid = nil, 0, laid{} }

// Set replaces the text; the cursor is at its end.
func (f *Field) Set(s string) {
	f.Clear()
	f.Insert(s)
}

// Insert puts s at the cursor. Control characters, escapes above all, are left
// out; line breaks become spaces where the field holds one line.
func (f *Field) Insert(s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029:
			if f.Lines {
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
	parts, cursor := split(before+strings.Join(f.cells[f.cursor:to], ""), len(before))
	f.cells = append(append(append([]string(nil), f.cells[:from]...), parts...), f.cells[to:]...)
	f.cursor, f.laid = from+cursor, laid{}
}

// split returns the grapheme clusters of s and how many of them end at or
// cover byte at.
func split(s string, at int) (parts []string, cursor int) {
	for it := graphemes.FromString(s); it.Next(); {
		if it.Start() < at {
			cursor++
		}
		parts = append(parts, it.Value())
	}
	return parts, cursor
}

// Length is the number of characters of the trimmed text.
func (f *Field) Length() int { return utf8.RuneCountInString(f.Value()) }

// Key edits the text and reports whether it took the key. width is the number
// of columns the text is shown in.
func (f *Field) Key(k tty.Key, width int) bool {
	switch k.Name {
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
		return f.vertical(-1, width)
	case "down":
		return f.vertical(1, width)
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
		if !f.Lines {
			return false
		}
		f.Insert("\n")
	default:
		if k.Text == "" {
			return false
		}
		f.Insert(k.Text)
	}
	return true
}

func (f *Field) remove(from, to int) {
	from, to = max(0, from), min(len(f.cells), to)
	if from >= to {
		return
	}
	f.cells = append(append([]string(nil), f.cells[:from]...), f.cells[to:]...)
	f.cursor, f.laid = from, laid{}
}

// back is the start of the run of such cells that ends at i, ahead the end of the one
// that starts there.
func (f *Field) back(i int, such func(cell string) bool) int {
	for i > 0 && such(f.cells[i-1]) {
		i--
	}
	return i
}

func (f *Field) ahead(i int, such func(cell string) bool) int {
	for i < len(f.cells) && such(f.cells[i]) {
		i++
	}
	return i
}

func (f *Field) wordLeft() int  { return f.back(f.back(f.cursor, blank), inWord) }
func (f *Field) wordRight() int { return f.ahead(f.ahead(f.cursor, blank), inWord) }
func (f *Field) lineStart() int { return f.back(f.cursor, inLine) }
func (f *Field) lineEnd() int   { return f.ahead(f.cursor, inLine) }

func blank(cell string) bool  { return strings.TrimSpace(cell) == "" }
func inWord(cell string) bool { return !blank(cell) }
func inLine(cell string) bool { return cell != "\n" }

// vertical moves the cursor by lines as they are shown, if there is one.
func (f *Field) vertical(by, width int) bool {
	lines, row, col := f.layout(width)
	row += by
	if row < 0 || row >= len(lines) {
		return false
	}
	i, x := lines[row].from, 0
	for i < lines[row].to && x < col {
		x += cellWidth(f.cells[i])
		i++
	}
	f.cursor = i
	return true
}

// span is one line of a field as it is shown: the cells from, up to to.
type span struct{ from, to int }

// layout breaks the text into lines of at most w columns, between words where
// it can, and says in which row and column the cursor stands. The cursor itself
// needs a column, so a full line breaks before it.
func (f *Field) layout(w int) (lines []span, row, col int) {
	w = max(w, 1)
	if l := f.laid; l.lines != nil && l.width == w && l.cursor == f.cursor {
		return l.lines, l.row, l.col
	}
	lines, row, col = f.breaks(w)
	f.laid = laid{w, f.cursor, lines, row, col}
	return lines, row, col
}

func (f *Field) breaks(w int) (lines []span, row, col int) {
	at, x, word := 0, 0, 0 // where the line begins, its width, and where its last word begins
	end := func(i int) {
		lines = append(lines, span{at, i})
		at, word = i, i
	}
	for i := 0; i <= len(f.cells); i++ {
		cw := 0
		switch {
		case i < len(f.cells) && f.cells[i] != "\n":
			cw = cellWidth(f.cells[i])
		case f.cursor == i:
			cw = 1 // the cursor's column at the end of a line
		}
		for cw > 0 && x > 0 && x+cw > w {
			if i < len(f.cells) && blank(f.cells[i]) && f.cursor != i {
				break // it stays behind its word, out of sight
			}
			if word == at || f.cursor == i && i < len(f.cells) && blank(f.cells[i]) {
				word = i
			}
			end(word)
			x = f.width(at, i)
		}
		if i == len(f.cells) {
			break
		}
		if f.cells[i] == "\n" {
			end(i)
			at, word, x = i+1, i+1, 0
			continue
		}
		if x += cw; blank(f.cells[i]) {
			word = i + 1
		}
	}
	lines = append(lines, span{at, len(f.cells)})
	for row = len(lines) - 1; row > 0 && lines[row].from > f.cursor; row-- {
	}
	return lines, row, f.width(lines[row].from, f.cursor)
}

// width is the number of columns of the cells from, up to to.
func (f *Field) width(from, to int) (n int) {
	for _, c := range f.cells[from:to] {
		n += cellWidth(c)
	}
	return n
}

// show is how a cell is drawn; a value may hold what must not be.
func show(cell string) string {
	if ascii(cell) {
		return cell
	}
	return strings.ReplaceAll(cells.Tabs(clean.Block(cell)), "\n", "")
}

func cellWidth(cell string) int {
	switch {
	case ascii(cell):
		return 1
	case cell == "\n":
		return 0
	}
	return cells.Width(show(cell))
}

// ascii is the common case: one printable byte.
func ascii(cell string) bool { return len(cell) == 1 && cell[0] >= ' ' && cell[0] < 0x7f }

// Draw returns the text as at most n lines of w columns around the cursor, and
// where in them the cursor is.
func (f *Field) Draw(w, n int) (out []string, row, col int) {
	if f.Hidden {
		dots := Field{cells: slices.Repeat([]string{"•"}, len(f.cells)), cursor: f.cursor}
		return dots.Draw(w, n)
	}
	w = max(w, 1)
	lines, row, col := f.layout(w)
	from := 0
	if n = max(n, 1); len(lines) > n {
		from = min(max(0, row-n/2), len(lines)-n)
		lines = lines[from : from+n]
	}
	for _, l := range lines {
		var b strings.Builder
		x := 0
		for _, c := range f.cells[l.from:l.to] {
			if x += cellWidth(c); x > w && blank(c) {
				break
			}
			b.WriteString(show(c))
		}
		out = append(out, b.String())
	}
	return out, row - from, col
}
