package look

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	// mostSpaces is how many spaces stand as they are: more of them could push out of sight
	// what comes behind.
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
	for i, l := range (display.Part{Text: s}).Lines() {
		if i > 0 {
			b.WriteByte('\n')
		}
		write(&b, l)
	}
	return template.HTML(b.String())
}

// rows is about how many rows of a screen a line takes.
func rows(l display.Line) int { return 1 + utf8.RuneCountInString(l.Text)/100 }

// write writes a line.
func write(b *strings.Builder, l display.Line) {
	if l.Blank > 0 {
		mark(b, l.Text)
		return
	}
	writeText(b, l.Text)
}

// hyphened are words that begin with a hyphen and fit into a line. Browsers break them at
// their hyphens, and "-- --force" then reads as something else.
var hyphened = regexp.MustCompile(`(?:^|\s)(-\S{1,23})(?:\s|$)`)

// writeWords writes a line, and keeps such words together.
func writeWords(b *strings.Builder, l display.Line) {
	for at := hyphened.FindStringSubmatchIndex(l.Text); l.Blank == 0 && at != nil; at = hyphened.FindStringSubmatchIndex(l.Text) {
		writeText(b, l.Text[:at[2]])
		b.WriteString(`<span class="w">`)
		writeText(b, l.Text[at[2]:at[3]])
		b.WriteString(`</span>`)
		l.Text = l.Text[at[3]:]
	}
	write(b, l)
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
