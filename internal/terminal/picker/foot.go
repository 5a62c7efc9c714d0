package picker

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// footLines draws what can be done next: a question about the answers, or the
// keys, with a message about the last one.
func (p *Picker) footLines(w int, d density) []string {
	room := max(1, w-indent)
	lead := strings.Repeat(" ", indent)
	var lines []string
	add := func(draw func(string) string, text []string) {
		for _, t := range text {
			lines = append(lines, lead+draw(t))
		}
	}
	switch {
	case p.guard != nil && p.guard.ask:
		add(p.style.Warn, cells.Wrap(guardText, room))
		return lines
	case p.over != overlayNone:
		add(p.style.Warn, cells.Wrap(p.overlayText(), room))
		return lines
	case p.message != "":
		add(p.style.Warn, cells.Wrap(p.message, room))
	}
	if !d.foot {
		return lines
	}
	keys, extra := p.help()
	add(p.style.Faint, bullets(keys, room))
	if d.extra {
		add(p.style.Faint, bullets(extra, room))
	}
	return lines
}

func (p *Picker) overlayText() string {
	if p.over == overlayDiscard {
		return lineask.Discard(p.answers()) + " [y/N]"
	}
	return lineask.Long(p.sheet().answer.Length())
}

// help lists the keys that work now, and those that are good to know.
func (p *Picker) help() (keys, extra []string) {
	s := p.sheet()
	switch {
	case s == nil && p.unanswered() >= 0:
		return []string{"Tab/←→ switch", "Enter answer the rest", "Esc cancel"}, []string{"v show all", allKeysHint}
	case s == nil:
		return []string{"Tab/←→ switch", "Enter submit", "Esc cancel"}, []string{"v show all", allKeysHint}
	case s.edit == editNothing:
		return p.listHelp(s)
	}
	return p.editHelp(s)
}

const allKeysHint = "? all keys"

// editHelp is help while text is typed.
func (p *Picker) editHelp(s *sheet) (keys, extra []string) {
	switch {
	case s.edit == editNote:
		return []string{"Enter to keep the " + s.noteWord(), "Esc to drop it"}, nil
	case s.edit == editFilter && s.single():
		return []string{"↑↓ navigate", "Enter to select", "Esc to leave the filter"}, nil
	case s.edit == editFilter:
		return []string{"↑↓ navigate", "Enter to keep the filter", "Esc to leave the filter"}, nil
	case s.free() && p.several():
		return []string{"Tab switch", "Enter confirm", "Esc cancel"}, []string{"Ctrl+J new line"}
	case s.free():
		return []string{"Enter to submit", "Esc to cancel"}, []string{"Ctrl+J new line"}
	case s.q.MultiSelect:
		return []string{"Enter to keep", "Esc to go back"}, []string{"Ctrl+J new line"}
	}
	return []string{"Enter to submit", "Esc to go back"}, []string{"Ctrl+J new line"}
}

// noteWord is what a note is called.
func (s *sheet) noteWord() string {
	if s.closed {
		return "reason"
	}
	return "note"
}

// listHelp is help in the list.
func (p *Picker) listHelp(s *sheet) (keys, extra []string) {
	if s.isOther(s.focused()) {
		return p.otherHelp(s), nil
	}
	if s.long() {
		extra = append(extra, "/ filter")
	}
	if s.numbers == numbersGo {
		extra = append(extra, "a number jumps there")
	}
	if s.long() && s.other && s.numbers != numbersNone {
		extra = append(extra, "0 Other")
	}
	if s.notable(s.focused()) {
		verb := "add a "
		if s.note.Value() != "" {
			verb = "edit the "
		}
		extra = append(extra, "n "+verb+s.noteWord())
	}
	extra = append(extra, allKeysHint)
	esc := "Esc to cancel"
	if !s.filter.Empty() {
		esc = "Esc to leave the filter"
	}
	switch {
	case p.several() && s.q.MultiSelect:
		return []string{"Tab/←→ switch", "Space toggle", "Enter confirm", strings.Replace(esc, " to", "", 1)}, extra
	case p.several():
		return []string{"Tab/←→ switch", "↑↓ select", "Enter confirm", strings.Replace(esc, " to", "", 1)}, extra
	case s.q.MultiSelect:
		return []string{"Space to toggle", "Enter to submit", esc}, extra
	case s.numbers != numbersPick:
		return []string{"↑↓ navigate", "Enter to select", esc}, extra
	}
	return []string{"↑↓ navigate", "1-9 quick select", "Enter to select", esc}, extra
}

// otherHelp is help on Other, where all text is the answer.
func (p *Picker) otherHelp(s *sheet) []string {
	switch {
	case s.ownWords && p.several():
		return []string{"Tab/←→ switch", "Space toggle", "Enter confirm", "type to change it"}
	case s.ownWords:
		return []string{"Space to toggle", "Enter to submit", "type to change it", "Esc to cancel"}
	case p.several():
		return []string{"Type your answer", "Tab/←→ switch", "↑↓ select", "Esc cancel"}
	}
	return []string{"Type your answer", "↑↓ navigate", "Esc to cancel"}
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
