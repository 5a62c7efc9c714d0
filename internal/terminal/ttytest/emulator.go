package ttytest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

// emulator is a terminal, as far as programs of this repository use one. What
// they do not use it does not know, and reports: a program that writes
// something else has let somebody else's text through.
type emulator struct {
	w, h    int
	reflows bool // lines are wrapped anew when the width changes

	rows    []row
	history []row // what has scrolled away
	x, y    int
	full    bool // the last column is written; the next character wraps

	cursor, autoWrap, paste bool

	held    []byte
	unknown []string
}

// row is a line of cells. A character that is two columns wide is followed by
// an empty cell.
type row struct {
	cells []string
	wraps bool // it goes on in the next row
}

func newEmulator(w, h int, reflows bool) *emulator {
	return &emulator{w: w, h: h, reflows: reflows, rows: make([]row, h), cursor: true, autoWrap: true}
}

func (e *emulator) Write(p []byte) (int, error) {
	e.held = append(e.held, p...)
	for len(e.held) > 0 {
		n := e.step(e.held)
		if n == 0 {
			break
		}
		e.held = e.held[n:]
	}
	return len(p), nil
}

// step takes one character or sequence, and says how long it is: 0 if its end
// has not come.
func (e *emulator) step(b []byte) int {
	switch c := b[0]; {
	case c == '\r':
		e.x, e.full = 0, false
		return 1
	case c == '\n':
		e.lineFeed()
		return 1
	case c == '\b':
		e.x, e.full = max(0, e.x-1), false
		return 1
	case c == 0x1b:
		return e.escape(b)
	case c < ' ' || c == 0x7f:
		e.unknown = append(e.unknown, strconv.QuoteToASCII(string(c)))
		return 1
	case !utf8.FullRune(b):
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if r >= 0x80 && r < 0xa0 || r == utf8.RuneError && n == 1 {
		e.unknown = append(e.unknown, strconv.QuoteToASCII(string(b[:n])))
		return n
	}
	e.print(string(r))
	return n
}

// escape takes a sequence that begins with an escape.
func (e *emulator) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != '[' {
		e.unknown = append(e.unknown, strconv.QuoteToASCII(string(b[:2])))
		return 2
	}
	i := 2
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x40 {
		i++
	}
	if i == len(b) {
		return 0
	}
	if !e.control(string(b[2:i]), b[i]) {
		e.unknown = append(e.unknown, strconv.QuoteToASCII(string(b[:i+1])))
	}
	return i + 1
}

// control does what a sequence says, and reports whether it knows it.
func (e *emulator) control(params string, final byte) bool {
	if mode, ok := strings.CutPrefix(params, "?"); ok && (final == 'h' || final == 'l') {
		flag := map[string]*bool{"25": &e.cursor, "7": &e.autoWrap, "2004": &e.paste}[mode]
		if flag == nil {
			return false
		}
		*flag = final == 'h'
		return true
	}
	if final == 'm' {
		return strings.Trim(params, "0123456789;") == "" // attributes are not kept
	}
	n := 1
	if params != "" {
		var err error
		if n, err = strconv.Atoi(params); err != nil || n < 1 {
			return false
		}
	}
	e.full = false
	switch final {
	case 'A':
		e.y = max(0, e.y-n)
	case 'B':
		e.y = min(e.h-1, e.y+n)
	case 'C':
		e.x = min(e.w-1, e.x+n)
	case 'K':
		e.eraseRight()
	case 'J':
		if e.reflows && e.x == 0 && e.y == 0 {
			e.keep()
		}
		e.eraseRight()
		clear(e.rows[e.y+1:])
	default:
		return false
	}
	return params == "" || final < 'J'
}

// keep moves what the screen shows to the history: tmux does so when all of it
// is erased.
func (e *emulator) keep() {
	n := len(e.rows)
	for n > 0 && len(e.rows[n-1].cells) == 0 {
		n--
	}
	e.history = append(e.history, e.rows[:n]...)
	e.rows = make([]row, e.h)
}

func (e *emulator) eraseRight() {
	r := &e.rows[e.y]
	r.cells, r.wraps = r.cells[:min(e.x, len(r.cells))], false
}

func (e *emulator) lineFeed() {
	e.full = false
	if e.y < e.h-1 {
		e.y++
		return
	}
	e.history = append(e.history, e.rows[0])
	e.rows = append(slices.Clone(e.rows[1:]), row{})
}

// print writes a character, or adds it to the one before, with which it may be
// one.
func (e *emulator) print(c string) {
	if e.join(c) {
		return
	}
	w := displaywidth.String(c)
	if w == 0 {
		return
	}
	if e.full && e.autoWrap || e.x+w > e.w && e.autoWrap {
		e.rows[e.y].wraps = true
		e.lineFeed()
		e.x = 0
	}
	if e.x = min(e.x, e.w-w); e.x < 0 {
		e.x = 0
		return
	}
	e.set(e.x, c, w)
	e.advance(w)
}

func (e *emulator) advance(w int) {
	e.x += w
	if e.full = e.x >= e.w; e.full {
		e.x = e.w - 1
	}
}

func (e *emulator) set(x int, c string, w int) {
	r := &e.rows[e.y]
	for len(r.cells) < x+w {
		r.cells = append(r.cells, " ")
	}
	if r.cells[x] == "" && x > 0 { // the second half of a wide character
		r.cells[x-1] = " "
	}
	if x+w < len(r.cells) && r.cells[x+w] == "" {
		r.cells[x+w] = " "
	}
	r.cells[x] = c
	if w == 2 {
		r.cells[x+1] = ""
	}
}

// join adds a character to the one before the cursor, if the two are one.
func (e *emulator) join(c string) bool {
	x, cells := e.x, e.rows[e.y].cells
	if !e.full {
		x--
	}
	if x >= 0 && x < len(cells) && cells[x] == "" {
		x--
	}
	if x < 0 || x >= len(cells) || c < "\u0300" {
		return false
	}
	both := cells[x] + c
	it := graphemes.FromString(both)
	if it.First() != both {
		return false
	}
	if displaywidth.String(both) == 2 && displaywidth.String(cells[x]) == 1 && x+1 < e.w {
		e.set(x, both, 2)
		e.advance(1)
		return true
	}
	cells[x] = both
	return true
}

// resize changes the size as terminals do. The line of the cursor stays in
// view: when the height shrinks, what is below it goes first, then the top
// goes to the history. A terminal that reflows wraps all lines anew, as tmux
// does, and takes lines back from the history when it grows.
func (e *emulator) resize(w, h int) {
	if e.reflows && w != e.w {
		e.reflow(w)
	}
	e.w = w
	if below := e.h - 1 - e.y; h < e.h {
		e.rows = e.rows[:e.h-min(below, e.h-h)]
		if n := len(e.rows) - h; n > 0 {
			e.history = append(e.history, e.rows[:n]...)
			e.rows, e.y = e.rows[n:], e.y-n
		}
	}
	for len(e.rows) < h && e.reflows && len(e.history) > 0 {
		last := len(e.history) - 1
		e.rows = append([]row{e.history[last]}, e.rows...)
		e.history, e.y = e.history[:last], e.y+1
	}
	e.rows = append(slices.Clone(e.rows), make([]row, max(0, h-len(e.rows)))...)
	for i := range e.rows {
		if c := e.rows[i].cells; len(c) > w {
			e.rows[i].cells = c[:w]
		}
	}
	e.h, e.x, e.full = h, min(e.x, w-1), false
}

// reflow wraps all lines to another width. The screen is the last of them.
func (e *emulator) reflow(w int) {
	all := slices.Concat(e.history, e.rows)
	at, x, y := len(e.history)+e.y, e.x, 0
	var out []row
	for i := 0; i < len(all); i++ {
		line := slices.Clone(all[i].cells)
		offset := 0
		from := i
		for all[i].wraps && i+1 < len(all) {
			for len(line) < (i-from+1)*e.w {
				line = append(line, " ")
			}
			i++
			line = append(line, all[i].cells...)
		}
		if at >= from && at <= i {
			offset = (at-from)*e.w + e.x
			y, x = len(out)+offset/w, offset%w
		}
		out = append(out, wrapRow(line, w, offset)...)
	}
	n := max(0, len(out)-e.h)
	e.history, e.rows = slices.Clone(out[:n]), slices.Clone(out[n:])
	if e.x, e.y = x, y-n; e.y < 0 {
		e.x, e.y = 0, 0
	}
}

// wrapRow breaks a line into rows, as many as hold the cell at offset too.
func wrapRow(line []string, w, offset int) (out []row) {
	for len(line) > w {
		n := w
		if line[n] == "" && n > 1 {
			n--
		}
		out = append(out, row{cells: line[:n:n], wraps: true})
		line = line[n:]
	}
	out = append(out, row{cells: line})
	for len(out) <= offset/w {
		out[len(out)-1].wraps = true
		out = append(out, row{})
	}
	return out
}

// text is rows as text, the cursor as a block if it is to be marked.
func (e *emulator) text(rows []row, mark bool) string {
	var b strings.Builder
	for y, r := range rows {
		cells := r.cells
		if mark && y == e.y {
			cells = slices.Clone(cells)
			for len(cells) <= e.x {
				cells = append(cells, " ")
			}
			cells[e.x] = "█"
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, ""), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// problem names what was written that a terminal should not get.
func (e *emulator) problem() string {
	if len(e.unknown) == 0 {
		return ""
	}
	return fmt.Sprintf("the terminal got %s", strings.Join(e.unknown, ", "))
}
