package picker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/internal/cells"
)

// footLines draws what can be done next: a question about the answers, or the
// keys, with a message about the last one.
func (m *Picker) footLines(w int, d density) []string {
	room := max(1, w-indent)
	lead := strings.Repeat(" ", indent)
	var lines []string
	add := func(draw func(string) string, text []string) {
		for _, t := range text {
			lines = append(lines, lead+draw(t))
		}
	}
	switch {
	case m.guard != nil && m.guard.ask:
		add(m.style.Warn, cells.Wrap(guardText, room))
		return lines
	case m.over != overlayNone:
		add(m.style.Warn, cells.Wrap(m.overlayText(), room))
		return lines
	case m.message != "":
		add(m.style.Warn, cells.Wrap(m.message, room))
	}
	if !d.foot {
		return lines
	}
	keys, extra := m.help()
	add(m.style.Faint, bullets(keys, room))
	if d.extra {
		add(m.style.Faint, bullets(extra, room))
	}
	return lines
}

func (m *Picker) overlayText() string {
	if m.over == overlayDiscard {
		return DiscardText(m.answers()) + " [y/N]"
	}
	return LongText(m.sheet().answer.Length())
}

// DiscardText asks whether that many answers are to be thrown away.
func DiscardText(n int) string {
	if n == 1 {
		return "Discard 1 answer?"
	}
	return fmt.Sprintf("Discard %d answers?", n)
}

// LongText asks whether an answer of that many characters is meant.
func LongText(n int) string {
	return fmt.Sprintf("Answer is long (%s chars). Continue anyway? [Y/n]", thousands(n))
}

// thousands writes n as people do: 2,847.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// help lists the keys that work now, and those that are good to know.
func (m *Picker) help() (keys, extra []string) {
	s := m.sheet()
	switch {
	case s == nil && m.unanswered() >= 0:
		return []string{"Tab/←→ switch", "Enter answer the rest", "Esc cancel"}, nil
	case s == nil:
		return []string{"Tab/←→ switch", "Enter submit", "Esc cancel"}, nil
	case s.edit == editNote:
		return []string{"Enter to keep the note", "Esc to drop it"}, nil
	case s.edit == editFilter && s.single():
		return []string{"↑↓ navigate", "Enter to select", "Esc to leave the filter"}, nil
	case s.edit == editFilter:
		return []string{"↑↓ navigate", "Enter to keep the filter", "Esc to leave the filter"}, nil
	case s.free() && m.several():
		return []string{"Tab switch", "Enter confirm", "Esc cancel"}, []string{"Ctrl+J new line"}
	case s.free():
		return []string{"Enter to submit", "Esc to cancel"}, []string{"Ctrl+J new line"}
	case s.edit == editText && s.q.MultiSelect:
		return []string{"Enter to keep", "Esc to go back"}, []string{"Ctrl+J new line"}
	case s.edit == editText:
		return []string{"Enter to submit", "Esc to go back"}, []string{"Ctrl+J new line"}
	}
	if s.long() {
		extra = append(extra, "/ filter")
		if s.other {
			extra = append(extra, "0 Other")
		}
	}
	if !s.closed {
		extra = append(extra, "n add a note")
	}
	esc := "Esc to cancel"
	if !s.filter.Empty() {
		esc = "Esc to leave the filter"
	}
	switch {
	case m.several() && s.q.MultiSelect:
		return []string{"Tab/←→ switch", "Space toggle", "Enter confirm", strings.Replace(esc, " to", "", 1)}, extra
	case m.several():
		return []string{"Tab/←→ switch", "↑↓ select", "Enter confirm", strings.Replace(esc, " to", "", 1)}, extra
	case s.q.MultiSelect:
		return []string{"Space to toggle", "Enter to submit", esc}, extra
	}
	return []string{"↑↓ navigate", "1-9 quick select", "Enter to select", esc}, extra
}

// bullets joins items with bullets into lines of at most w columns.
func bullets(items []string, w int) (lines []string) {
	for _, item := range items {
		item = cells.Cut(item, w)
		if n := len(lines); n > 0 && cells.Width(lines[n-1])+3+cells.Width(item) <= w {
			lines[n-1] += " • " + item
			continue
		}
		lines = append(lines, item)
	}
	return lines
}
