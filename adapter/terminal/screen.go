package terminal

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// screen draws frames in place, below what the terminal shows already, and
// knows where it left the cursor. It writes what changed, line by line.
//
// Bubble Tea's own renderer is not used: when a frame gets shorter, or a
// terminal reflows it on a resize, it leaves old lines behind
// (charmbracelet/ultraviolet issues 155 and 145).
type screen struct {
	w             io.Writer
	width, height int
	reflows       bool     // the terminal wraps lines anew when it gets narrower
	lines         []string // as drawn
	row, col      int      // of the cursor, in lines
	shown         bool     // the cursor is
}

const (
	hideCursor  = ansi.ResetModeTextCursorEnable
	showCursor  = ansi.SetModeTextCursorEnable
	noAutoWrap  = "\x1b[?7l" // a line that is wider than thought is cut, not wrapped
	autoWrap    = "\x1b[?7h"
	pasteOn     = ansi.SetModeBracketedPaste
	pasteOff    = ansi.ResetModeBracketedPaste
	eraseBelow  = ansi.EraseScreenBelow
	eraseToEnd  = ansi.EraseLineRight
	nextLine    = "\r\n"
	noAttribute = ansi.ResetStyle
)

// start prepares the terminal for frames.
func (s *screen) start() { s.write(hideCursor + pasteOn + "\r") }

// draw shows a frame of lines, cut to the terminal's size, with the cursor at
// row and column; a negative row hides it.
func (s *screen) draw(lines []string, row, col int) {
	if n := len(lines) - s.height; s.height > 0 && n > 0 {
		lines, row = lines[n:], row-n
	}
	lines = slices.Clone(lines)
	for i, l := range lines {
		if s.width > 0 && width(l) > s.width {
			lines[i] = cut(l, s.width)
		}
	}
	show := row >= 0 && row < len(lines)
	if slices.Equal(lines, s.lines) && show == s.shown && (!show || row == s.row && col == s.col) {
		return
	}
	var b strings.Builder
	if s.shown {
		b.WriteString(hideCursor)
	}
	b.WriteString(noAutoWrap)
	s.change(&b, lines)
	b.WriteString(autoWrap)
	if show {
		s.move(&b, row)
		s.col = min(col, max(0, s.width-1))
		if s.col > 0 {
			b.WriteString(ansi.CursorForward(s.col))
		}
		b.WriteString(showCursor)
	}
	s.shown = show
	s.write(b.String())
}

// change writes the lines that differ and erases those that are gone.
func (s *screen) change(b *strings.Builder, lines []string) {
	for i, l := range lines {
		switch {
		case i >= len(s.lines) && i > 0:
			s.move(b, i-1)
			b.WriteString(nextLine) // scrolls where the frame is at the bottom
			s.row = i
		case i < len(s.lines) && s.lines[i] == l:
			continue
		default:
			s.move(b, i)
		}
		if width(l) < s.width {
			b.WriteString(l + noAttribute + eraseToEnd)
		} else { // erasing after the last column would erase that column
			b.WriteString(eraseToEnd + l + noAttribute)
		}
	}
	if len(s.lines) > len(lines) {
		s.move(b, max(0, len(lines)-1))
		if len(lines) > 0 {
			b.WriteString(nextLine)
			s.row++
		}
		b.WriteString(eraseBelow)
	}
	s.lines = lines
}

// move goes to the first column of a row that has been drawn.
func (s *screen) move(b *strings.Builder, row int) {
	b.WriteByte('\r')
	switch {
	case row < s.row:
		b.WriteString(ansi.CursorUp(s.row - row))
	case row > s.row:
		b.WriteString(ansi.CursorDown(row - s.row))
	}
	s.row, s.col = row, 0
}

// resize takes the frame off the screen, so that the next one is drawn whole
// at the new size.
func (s *screen) resize(w, h int) {
	if w == s.width && h == s.height {
		return
	}
	if s.reflows && w > 0 && w < s.width {
		rows := 0
		for i, l := range s.lines {
			if i >= s.row {
				break
			}
			rows += max(1, (width(l)+w-1)/w)
		}
		s.row = rows + s.col/w
	}
	if s.height > 0 {
		s.row = min(s.row, h-1)
	}
	s.width, s.height = w, h
	s.erase()
}

// erase takes the frame off the screen and leaves the cursor where it began.
func (s *screen) erase() {
	var b strings.Builder
	s.move(&b, 0)
	b.WriteString(eraseBelow)
	s.lines, s.row, s.col = nil, 0, 0
	s.write(b.String())
}

// above writes lines that stay, above the frame, which is to be drawn again.
func (s *screen) above(text string) {
	s.erase()
	s.write(strings.ReplaceAll(text, "\n", nextLine) + nextLine)
}

// stop takes the frame off and puts the terminal back as it was.
func (s *screen) stop() {
	s.erase()
	s.write(noAttribute + autoWrap + pasteOff + showCursor)
}

// write ignores errors: a terminal that cannot be written to has hung up,
// which its reader notices.
func (s *screen) write(text string) { _, _ = io.WriteString(s.w, text) }
