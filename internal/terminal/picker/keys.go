package picker

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// key handles one key press.
func (p *Picker) key(k tty.Key) {
	if k.Name == "ctrl+c" {
		p.finish(convert.Cancelled, convert.CancelMessage)
		return
	}
	s := p.sheet()
	switch {
	case p.pager != nil:
		if p.pager.Key(k.Name) {
			p.pager = nil
		}
	case p.over != overlayNone:
		p.overlayKey(strings.ToLower(k.Name))
	case k.Name == "ctrl+o":
		p.openAll()
	case s == nil:
		p.submitKey(k.Name)
	case s.edit == editNothing:
		p.listKey(s, k)
	default:
		p.editKey(s, k)
	}
}

// paste inserts text where text can be typed. A list takes none: what is
// pasted there by accident must not pick anything.
func (p *Picker) paste(text string) {
	s := p.sheet()
	switch {
	case p.typing():
		s.field().Insert(text)
		if s.edit == editFilter {
			s.applyFilter()
		}
	case s != nil && s.other:
		p.message = "Pasted text was ignored: choose Other to type an answer"
	default:
		p.message = "Pasted text was ignored"
	}
}

func (p *Picker) overlayKey(name string) {
	over := p.over
	switch name {
	case "y":
	case "enter":
		// The answer that is in capitals: no to a discard, yes to a long text.
		if over == overlayDiscard {
			p.over = overlayNone
			return
		}
	case "n", "esc":
		p.over, p.submitting = overlayNone, false
		if over == overlayLong {
			p.sheet().edit = editText
		}
		return
	default:
		return
	}
	p.over = overlayNone
	if over == overlayDiscard {
		p.finish(convert.Cancelled, convert.CancelMessage)
		return
	}
	s := p.sheet()
	s.approved = s.result().Text
	if p.submitting {
		p.submit()
		return
	}
	p.confirm()
}

func (p *Picker) submitKey(name string) {
	switch name {
	case "enter":
		p.submit()
	case "esc":
		p.escape()
	case "tab", "right":
		p.switchTab(1)
	case "shift+tab", "left":
		p.switchTab(-1)
	case "down", "j":
		p.reviewTop++
	case "up", "k":
		p.reviewTop--
	case "v":
		p.openAll()
	case "?":
		p.openKeys()
	}
}

func (p *Picker) listKey(s *sheet, k tty.Key) {
	typed := s.typed
	s.typed = ""
	if k.Text != "" && s.isOther(s.focused()) && !(s.ownWords && k.Name == "space") {
		s.editOther() // whoever types on Other has begun with the answer
		if k.Name != "space" {
			s.answer.Insert(k.Text)
		}
		return
	}
	switch k.Name {
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "home", "g":
		s.jump(-len(s.rows) - 1)
	case "end", "G":
		s.jump(len(s.rows) + 1)
	case "pgup":
		s.jump(-s.page)
	case "pgdown":
		s.jump(s.page)
	case "tab", "right":
		p.switchTab(1)
	case "shift+tab", "left":
		p.switchTab(-1)
	case "enter":
		p.pick(s)
	case "space":
		if s.q.MultiSelect {
			p.toggle(s)
		}
	case "n":
		if s.notable(s.focused()) {
			s.edit, s.oldNote = editNote, s.note.String()
		}
	case "/":
		if s.long() {
			s.edit = editFilter
		}
	case "v":
		p.openAll()
	case "?":
		p.openKeys()
	case "esc":
		if !s.filter.Empty() {
			s.clearFilter()
			return
		}
		p.escape()
	default:
		if len(k.Name) == 1 && k.Name[0] >= '0' && k.Name[0] <= '9' {
			s.typed = typed
			p.digit(s, k.Name)
		}
	}
}

// pick takes the entry in focus, or with several picks what is ticked.
func (p *Picker) pick(s *sheet) {
	entry := s.focused()
	switch {
	case entry < 0:
	case s.isOther(entry) && !s.ownWords:
		s.editOther()
	case s.q.MultiSelect:
		if !s.answered() {
			p.message = "Nothing picked yet: Space picks the option in focus"
			return
		}
		p.confirm()
	default:
		s.chosen = entry
		p.confirm()
	}
}

// toggle ticks the entry in focus, or takes the tick away. An option that
// stands alone takes all others away, and goes when another is ticked.
func (p *Picker) toggle(s *sheet) {
	entry := s.focused()
	switch {
	case entry < 0:
	case s.isOther(entry) && s.ownWords:
		s.ownWords = false
	case s.isOther(entry):
		s.editOther()
	default:
		s.picked[entry] = !s.picked[entry]
		if s.picked[entry] {
			s.standAlone(entry)
		}
	}
}

// editKey handles a key while text is typed.
func (p *Picker) editKey(s *sheet, k tty.Key) {
	f := s.field()
	switch {
	case k.Name == "enter":
		p.accept(s)
	case k.Name == "esc":
		p.leaveEdit(s)
	case k.Name == "ctrl+d" && f.Empty():
		p.escape()
	case k.Name == "tab" && p.several():
		p.switchTab(1)
	case k.Name == "shift+tab" && p.several():
		p.switchTab(-1)
	case s.free() && f.Empty() && k.Name == "right":
		p.switchTab(1)
	case s.free() && f.Empty() && k.Name == "left":
		p.switchTab(-1)
	case s.edit == editFilter && (k.Name == "up" || k.Name == "down"):
		p.listKey(s, k)
	default:
		f.Key(k, p.fieldWidth(s))
		if s.edit == editFilter {
			s.applyFilter()
		}
	}
}

// field is the one that is being typed in.
func (s *sheet) field() *Field {
	switch s.edit {
	case editNote:
		return &s.note
	case editFilter:
		return &s.filter
	}
	return &s.answer
}

// accept is Enter while text is typed.
func (p *Picker) accept(s *sheet) {
	switch s.edit {
	case editNote:
		s.edit = editNothing
	case editFilter:
		s.edit = editNothing
		if s.single() && len(s.visible) > 0 {
			p.pick(s)
		}
	case editText:
		if s.answer.Value() == "" {
			p.message = "Type an answer first"
			return
		}
		s.keepText()
		if s.free() || s.single() {
			if !s.free() {
				s.edit = editNothing
			}
			p.confirm()
			return
		}
		s.edit = editNothing // there may be more to tick
	}
}

// leaveEdit is Esc while text is typed.
func (p *Picker) leaveEdit(s *sheet) {
	switch s.edit {
	case editNote:
		s.note.Set(s.oldNote)
	case editFilter:
		s.clearFilter()
		return
	case editText:
		if s.free() {
			p.escape()
			return
		}
		switch { // a text that counted counts as it was, unless it was taken away
		case s.answer.Value() == "":
			s.keepText()
		case s.ownWords || s.isOther(s.chosen):
			s.answer.Set(s.oldText)
		}
	}
	s.edit = editNothing
}
