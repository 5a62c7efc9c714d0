package tty

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// screen draws frames in place, below what the terminal shows already, and
// knows where it left the cursor. It writes what changed, line by line.
//
// A cursor that is not shown stands at the beginning of the frame. There it
// survives a resize, however the terminal treats the lines that no longer fit:
// those that are kept in view are the ones around the cursor, and a terminal
// that wraps its lines anew moves the cursor with its line.
type screen struct {
	w             io.Writer
	width, height int
	reflows       bool     // the terminal wraps lines anew when it gets narrower
	lines         []string // as drawn
	row, col      int      // of the cursor, in lines
	shown         bool     // the cursor is
}

// What is written to a terminal beside text and its attributes.
const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	noAutoWrap  = "\x1b[?7l" // a line that is wider than thought is cut, not wrapped
	autoWrap    = "\x1b[?7h"
	pasteOn     = "\x1b[?2004h"
	pasteOff    = "\x1b[?2004l"
	eraseToEnd  = "\x1b[K"
	nextLine    = "\r\n"
	noAttribute = "\x1b[m"

	// eraseAll erases from the first column of a row to the end of the screen
	// and leaves the cursor there. It does not erase from the first column at
	// once: in the first row that is all of the screen, which tmux then keeps in
	// its history.
	eraseAll = "\r\x1b[K\x1b[C\x1b[J\r"
)

// by is the sequence that moves the cursor: up (A), down (B), to the right (C).
func by(n int, direction string) string { return "\x1b[" + strconv.Itoa(n) + direction }

// start prepares the terminal for frames.
func (s *screen) start() { s.write(hideCursor + pasteOn + "\r") }

// restart prepares the terminal again after others have written to it.
func (s *screen) restart() {
	s.lines, s.row, s.col, s.shown = nil, 0, 0, false
	s.start()
}

// draw shows a frame of lines, cut to the terminal's size, with the cursor at
// row and column; a negative row hides it.
func (s *screen) draw(lines []string, row, col int) {
	if n := len(lines) - s.height; s.height > 0 && n > 0 {
		lines, row = lines[n:], row-n
	}
	lines = slices.Clone(lines)
	for i, l := range lines {
		if s.width > 0 && cells.Width(l) > s.width {
			lines[i] = cells.Cut(l, s.width)
		}
	}
	show := row >= 0 && row < len(lines)
	if !show {
		row, col = 0, 0
	}
	col = min(col, max(0, s.width-1))
	if slices.Equal(lines, s.lines) && show == s.shown && row == s.row && col == s.col {
		return
	}
	var b strings.Builder
	if s.shown {
		b.WriteString(hideCursor)
	}
	b.WriteString(noAutoWrap)
	s.change(&b, lines)
	b.WriteString(autoWrap)
	s.move(&b, row)
	if s.col = col; col > 0 {
		b.WriteString(by(col, "C"))
	}
	if s.shown = show; show {
		b.WriteString(showCursor)
	}
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
		if cells.Width(l) < s.width {
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
		b.WriteString(eraseAll)
	}
	s.lines = lines
}

// move goes to the first column of a row that has been drawn.
func (s *screen) move(b *strings.Builder, row int) {
	b.WriteByte('\r')
	switch {
	case row < s.row:
		b.WriteString(by(s.row-row, "A"))
	case row > s.row:
		b.WriteString(by(row-s.row, "B"))
	}
	s.row, s.col = row, 0
}

// resize takes the frame off the screen, so that the next one is drawn whole
// at the new size.
func (s *screen) resize(w, h int) {
	if s.shown && s.reflows && w > 0 && w < s.width {
		rows := 0
		for _, l := range s.lines[:min(s.row, len(s.lines))] {
			rows += max(1, (cells.Width(l)+w-1)/w)
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
	b.WriteString(eraseAll)
	s.lines, s.row, s.col = nil, 0, 0
	s.write(b.String())
}

// above writes lines that stay, above the frame, which is to be drawn again.
func (s *screen) above(lines []string) {
	s.erase()
	s.write(strings.Join(lines, nextLine) + nextLine)
}

// stop takes the frame off and puts the terminal back as it was.
func (s *screen) stop() {
	s.erase()
	s.write(noAttribute + autoWrap + pasteOff + showCursor)
}

// write ignores errors: a terminal that cannot be written to has hung up,
// which its reader notices.
func (s *screen) write(text string) { _, _ = io.WriteString(s.w, text) }
