package client

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// maxPartial bounds the line that is kept until it ends. A longer one is
// broken there.
const maxPartial = 16 << 10

// text is a message or a thought that is being streamed.
type text struct {
	block   block // blockNone while there is none
	session string
	partial string
	started bool // a line that is not blank was written
	blank   bool // a blank line waits for another that is not
	marks   cells.Markdown
}

// chunk takes a piece of a message or thought.
func (s *screen) chunk(session string, b block, content gjson.Result) {
	if s.text.block != b || s.text.session != session {
		s.endText()
		s.text = text{block: b, session: session}
	}
	s.text.partial += contentText(content)
	for {
		line, rest, more := strings.Cut(s.text.partial, "\n")
		if !more && len(line) <= maxPartial {
			break
		}
		if !more {
			n := maxPartial
			for n > 0 && !utf8.RuneStart(line[n]) {
				n--
			}
			line, rest = line[:n], line[n:]
		}
		s.text.partial = rest
		s.textLine(line)
	}
	s.writeRows()
}

// contentText is a content block as text.
func contentText(c gjson.Result) string {
	switch kind := c.Get("type").Str; kind {
	case "text":
		return c.Get("text").Str
	case "resource_link":
		return "[" + clean.Line(cmp.Or(c.Get("title").Str, c.Get("name").Str)+" "+c.Get("uri").Str) + "]"
	case "resource":
		return "[" + clean.Line(c.Get("resource.uri").Str) + "]"
	case "":
		return ""
	default:
		return "[" + clean.Line(kind+" "+c.Get("mimeType").Str) + "]"
	}
}

// textLine finishes a line of text.
func (s *screen) textLine(raw string) {
	line := strings.TrimRightFunc(clean.Block(raw), unicode.IsSpace)
	if line == "" { // several are one, and blocks have their own distance
		s.text.blank = s.text.started
		return
	}
	for l := range strings.SplitSeq(line, "\n") { // what cleaning made a line break
		if rows := s.textRows(&s.text.marks, l); len(rows) > 0 {
			s.startRow()
			s.add(s.text.block, rows...)
		}
	}
}

// startRow comes before a row that is not blank.
func (s *screen) startRow() {
	if s.text.blank {
		s.add(s.text.block, "")
	}
	s.text.started, s.text.blank = true, false
}

// textRows is a line of text as it is shown. A fence of Markdown is not.
func (s *screen) textRows(m *cells.Markdown, line string) []string {
	switch {
	case s.text.block == blockThought:
		return s.each(s.wrap("· "+line), s.faint)
	case s.text.block == blockUser:
		return s.each(s.wrap("> "+line), s.strong)
	case s.Style:
		drawn, ok := m.Line(s.style(), line)
		if !ok {
			return nil
		}
		line = drawn
	}
	return s.wrap(line)
}

// writeRows finishes the rows of a long line that are full: what is still to
// come cannot change them. Where something was cleaned away it can, and where
// there is Markdown.
func (s *screen) writeRows() {
	p := s.text.partial
	if s.Width <= 0 || s.text.block != blockMessage || clean.Block(p) != p {
		return
	}
	if s.Style && (s.text.marks.InCode() || strings.ContainsAny(p, "`*#>~-+")) {
		return
	}
	rows := s.wrap(p)
	if len(rows) < 2 {
		return
	}
	full := rows[:len(rows)-1]
	s.startRow()
	s.add(s.text.block, full...)
	s.text.partial = after(p, full)
}

// after is what follows the rows in the text that they were wrapped from: the
// two differ in white space alone.
func after(p string, rows []string) string {
	n := 0
	for _, r := range strings.Join(rows, "") {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	for i, r := range p {
		if n == 0 && !unicode.IsSpace(r) {
			return p[i:]
		}
		if !unicode.IsSpace(r) {
			n--
		}
	}
	return ""
}

// view is the line that is being written.
func (t *text) view(s *screen) []string {
	if t.block == blockNone || strings.TrimSpace(t.partial) == "" {
		return nil
	}
	var rows []string
	if t.blank {
		rows = append(rows, "")
	}
	marks := t.marks // what is written does not open or close a block yet
	for l := range strings.SplitSeq(clean.Block(t.partial), "\n") {
		rows = append(rows, s.textRows(&marks, l)...)
	}
	return rows
}

// endText finishes the text that is being streamed.
func (s *screen) endText() {
	if strings.TrimSpace(s.text.partial) != "" {
		s.textLine(s.text.partial)
	}
	s.text = text{}
}
