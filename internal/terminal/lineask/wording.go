package lineask

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// LongAnswer is the number of characters beyond which typed text is sent only
// after asking.
const LongAnswer = 2000

// Withdrawn comes before the reason why a question was taken from a user who
// had not answered it.
const Withdrawn = "withdrawn: "

// Head is what a question is headed, never empty.
func Head(questions []convert.Question, i int) string {
	switch head := clean.Line(questions[i].Header); {
	case head != "":
		return head
	case len(questions) > 1:
		return fmt.Sprintf("Q%d", i+1)
	}
	return "Question"
}

// Label is an option's label as it is shown: one line, never empty.
func Label(o convert.Option) string { return cmp.Or(clean.Line(o.Label), "(no label)") }

// Paragraph returns text as clean lines, without blank ones around it.
func Paragraph(s string) []string {
	lines := strings.Split(strings.Trim(strings.ReplaceAll(clean.Block(s), "\t", "    "), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return lines
}

// Discard asks whether that many answers are to be thrown away.
func Discard(n int) string { return "Discard " + Counted(n, "answer", "answers") + "?" }

// Long asks whether an answer of that many characters is meant.
func Long(n int) string {
	return fmt.Sprintf("Answer is long (%s chars). Continue anyway? [Y/n]", thousands(n))
}

// Counted is a number of things.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Ago is when something was, as people say it.
func Ago(at, now time.Time) string {
	switch d := now.Sub(at); {
	case at.IsZero():
		return "at an unknown time"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return at.Local().Format("2 Jan 2006, 15:04")
}

// thousands writes n as people do: 2,847.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
