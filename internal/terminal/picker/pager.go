package picker

import (
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// openAll shows all of what one is on: the question, and the option in focus;
// or all answers.
func (p *Picker) openAll() {
	if s := p.sheet(); s != nil {
		p.pager = &cells.Pager{Title: s.head, Text: cells.Text{Lines: s.all(), Paint: s.text.Paint}}
		return
	}
	var lines []string
	for _, s := range p.sheets {
		lines = append(append(lines, s.text.Lines...), "→ "+p.reviewed(s), "")
	}
	p.pager = &cells.Pager{Title: reviewTitle, Text: cells.Text{Lines: lines}}
}

// all is the question and the option in focus, nothing left out.
func (s *sheet) all() []string {
	lines := append([]string(nil), s.text.Lines...)
	entry := s.focused()
	if entry < 0 || s.isOther(entry) || entry >= len(s.rows) {
		return lines
	}
	r := s.rows[entry]
	if r.description == "" && len(r.preview) == 0 {
		return lines
	}
	lines = append(lines, "", "── "+r.label+" ──")
	if r.description != "" {
		lines = append(lines, r.description)
	}
	return append(lines, r.preview...)
}

// openKeys shows all keys that work here.
func (p *Picker) openKeys() {
	p.pager = &cells.Pager{Title: "Keys", Text: cells.Text{Lines: p.allKeys()}}
}

// allKeys lists the keys of the question one is on, or of the review.
func (p *Picker) allKeys() []string {
	var lines []string
	add := func(when bool, keys, what string) {
		if !when {
			return
		}
		const column = 16
		for i, l := range cells.Wrap(what, p.width-indent-column) {
			if i > 0 {
				keys = ""
			}
			lines = append(lines, cells.Pad(keys, column)+l)
		}
	}
	s := p.sheet()
	list := s != nil
	if !list {
		add(true, "Enter", "send the answers")
		add(true, "↑↓ j k", "scroll")
	} else {
		add(true, "↑↓ j k", "the entry above or below")
		add(true, "Home End g G", "the first or last entry")
		add(true, "PgUp PgDn", "a page up or down")
		add(s.single(), "Enter", "pick the entry in focus")
		add(s.q.MultiSelect, "Space", "pick the entry in focus, or unpick it")
		add(s.q.MultiSelect, "Enter", "done with picking")
		add(s.numbers == numbersPick && s.single(), "1-9", "pick the entry with that number")
		add(s.numbers == numbersPick && s.q.MultiSelect, "1-9", "pick the entry with that number, or unpick it")
		add(s.numbers == numbersGo, "a number", "go to the entry with that number")
		add(s.other, "0", "answer in your own words")
		add(s.other, "any text", "on Other: begin with your own words")
		add(!s.closed, "n", "add a note to your pick")
		add(len(s.reasons) > 0, "n", "add a reason when you say no")
		add(s.long(), "/", "filter the list")
	}
	add(true, "v Ctrl+O", "show the question and the entry in focus in full")
	add(p.several(), "Tab ← →", "another question")
	add(true, "Esc", "cancel")
	add(true, "Ctrl+C", "cancel at once")
	add(true, "Ctrl+Z", "suspend")
	if list && s.other || list && !s.closed {
		lines = append(lines, "", "While you type:")
		add(true, "Enter", "keep the text")
		add(true, "Ctrl+J", "a new line, in an answer")
		add(true, "Ctrl+A Ctrl+E", "the beginning or end of the line")
		add(true, "Ctrl+U Ctrl+K", "delete to the beginning or end of the line")
		add(true, "Ctrl+W", "delete a word")
		add(true, "Esc", "go back to the list")
	}
	return lines
}
