package look

import (
	"fmt"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	// mostBlank is how many blank lines stand as they are, and mostSpaces how many
	// spaces: more of them could push out of sight what comes behind.
	mostBlank  = 2
	mostSpaces = 40
	// mostMarks is how many combining marks one letter has: hundreds make a line that
	// is wider than its letters, and taller.
	mostMarks = 8
)

var runs = regexp.MustCompile(fmt.Sprintf(`([\t\p{Zs}\x{2800}\x{3164}]{%d,})|\p{M}{%d,}`, mostSpaces+1, mostMarks+1))

// Text is text as it is: escaped, with stand-ins for what hides or turns text, and
// marks in the place of long blank runs. Only our stand-ins are set apart: the same
// letters written by a model are letters.
func Text(s string) template.HTML {
	var b strings.Builder
	for i, l := range split(s) {
		if i > 0 {
			b.WriteByte('\n')
		}
		l.write(&b)
	}
	return template.HTML(b.String())
}

// line is one of a text. Blank is how many blank lines it stands for.
type line struct {
	n     int // its number, from 1
	text  string
	blank int
}

// split returns the lines of a text, with one for each long run of blank lines.
func split(s string) (lines []line) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	blank := 0
	flush := func(n int) {
		if blank > mostBlank {
			lines = append(lines, line{n: n - blank, blank: blank})
		} else {
			for i := range blank {
				lines = append(lines, line{n: n - blank + i})
			}
		}
		blank = 0
	}
	n := 0
	for text := range strings.SplitSeq(s, "\n") {
		n++
		if Blank(text) {
			blank++
			continue
		}
		flush(n)
		lines = append(lines, line{n: n, text: text})
	}
	flush(n + 1)
	return lines
}

// Blank reports whether nothing of a line can be seen. What has a stand-in can.
func Blank(s string) bool {
	for i, r := range s {
		if !unicode.IsSpace(r) && !clean.Blank(string(r)) || standIn(r, utf8.RuneLen(r)) != "" || r == utf8.RuneError && s[i] != 0xef {
			return false
		}
	}
	return true
}

// rows is about how many rows of a screen the line takes.
func (l line) rows() int { return 1 + utf8.RuneCountInString(l.text)/100 }

// said is the line as text.
func (l line) said() string {
	if l.blank > 0 {
		return fmt.Sprintf("⋯ %d blank lines ⋯", l.blank)
	}
	return l.text
}

func (l line) write(b *strings.Builder) {
	if l.blank > 0 {
		mark(b, l.said())
		return
	}
	writeText(b, l.text)
}

// hyphened are words that begin with a hyphen and fit into a line. Browsers break them at
// their hyphens, and "-- --force" then reads as something else.
var hyphened = regexp.MustCompile(`(?:^|\s)(-\S{1,23})(?:\s|$)`)

// writeWords writes a line, and keeps such words together.
func (l line) writeWords(b *strings.Builder) {
	at := hyphened.FindStringSubmatchIndex(l.text)
	if at == nil {
		l.write(b)
		return
	}
	rest := l.text
	for ; at != nil; at = hyphened.FindStringSubmatchIndex(rest) {
		writeText(b, rest[:at[2]])
		b.WriteString(`<span class="w">`)
		writeText(b, rest[at[2]:at[3]])
		b.WriteString(`</span>`)
		rest = rest[at[3]:]
	}
	writeText(b, rest)
}

// writeText writes text that has no line breaks of its own.
func writeText(b *strings.Builder, s string) {
	last := 0
	for _, at := range runs.FindAllStringSubmatchIndex(s, -1) {
		writeVisible(b, s[last:at[0]])
		what := "spaces"
		if at[2] < 0 {
			what = "combining marks"
		}
		mark(b, fmt.Sprintf("⋯ %d %s ⋯", utf8.RuneCountInString(s[at[0]:at[1]]), what))
		last = at[1]
	}
	writeVisible(b, s[last:])
}

func writeVisible(b *strings.Builder, s string) {
	plain := 0 // from where nothing is written yet
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if shown := standIn(r, n); shown != "" {
			template.HTMLEscape(writer{b}, []byte(s[plain:i]))
			mark(b, shown)
			plain = i + n
		}
		i += n
	}
	template.HTMLEscape(writer{b}, []byte(s[plain:]))
}

// standIn is what is shown for a character, empty for itself.
func standIn(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return "�"
	case r == '\n' || r == '\t' || r >= 0x20 && r < 0x7f:
		return ""
	}
	if clean.Visible(string(r)) != string(r) {
		return fmt.Sprintf("U+%04X", r) // few fonts have pictures of control characters
	}
	return ""
}

// mark writes something of ours into a text.
func mark(b *strings.Builder, s string) {
	b.WriteString(`<span class="odd">`)
	template.HTMLEscape(writer{b}, []byte(s))
	b.WriteString(`</span>`)
}

// escape writes text of which nothing is to be looked for.
func escape(b *strings.Builder, s string) { template.HTMLEscape(writer{b}, []byte(s)) }

type writer struct{ b *strings.Builder }

func (w writer) Write(p []byte) (int, error) { return w.b.Write(p) }

func number(n int) string { return strconv.Itoa(n) }
