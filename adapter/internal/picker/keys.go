package picker

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/internal/edit"
	"github.com/acp-bridge/acp-bridge/adapter/internal/tty"
	"github.com/acp-bridge/acp-bridge/convert"
)

// key handles one key press.
func (m *Picker) key(k tty.Key) {
	name := k.Name
	if name == "ctrl+c" {
		m.finish(convert.Cancelled, convert.CancelMessage)
		return
	}
	s := m.sheet()
	switch {
	case m.over != overlayNone:
		m.overlayKey(strings.ToLower(name))
	case s == nil:
		m.submitKey(name)
	case s.edit == editNothing:
		m.listKey(s, name)
	default:
		m.editKey(s, k)
	}
}

// paste inserts text where text can be typed. A list takes none: what is
// pasted there by accident must not pick anything.
func (m *Picker) paste(text string) {
	s := m.sheet()
	if s == nil || m.over != overlayNone {
		return
	}
	switch s.edit {
	case editText:
		s.answer.Insert(text)
	case editNote:
		s.note.Insert(text)
	case editFilter:
		s.filter.Insert(text)
		s.applyFilter()
	default:
		m.message = "Pasted text was ignored: choose Other to type an answer"
		if s.closed {
			m.message = "Pasted text was ignored"
		}
	}
}

func (m *Picker) overlayKey(name string) {
	over := m.over
	switch name {
	case "y", "shift+y":
	case "enter":
		// The answer that is in capitals: no to a discard, yes to a long text.
		if over == overlayDiscard {
			m.over = overlayNone
			return
		}
	case "n", "shift+n", "esc":
		m.over, m.submitting = overlayNone, false
		if over == overlayLong {
			m.sheet().edit = editText
		}
		return
	default:
		return
	}
	m.over = overlayNone
	if over == overlayDiscard {
		m.finish(convert.Cancelled, convert.CancelMessage)
		return
	}
	s := m.sheet()
	s.approved = s.result().Text
	if m.submitting {
		m.submit()
		return
	}
	m.confirm()
}

func (m *Picker) submitKey(name string) {
	switch name {
	case "enter":
		m.submit()
	case "esc":
		m.escape()
	case "tab", "right":
		m.switchTab(1)
	case "shift+tab", "left":
		m.switchTab(-1)
	case "down", "j":
		m.summaryTop++
	case "up", "k":
		m.summaryTop--
	}
}

func (m *Picker) listKey(s *sheet, name string) {
	switch name {
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "home", "g":
		s.jump(-len(s.rows) - 1)
	case "end", "shift+g", "G":
		s.jump(len(s.rows) + 1)
	case "pgup":
		s.jump(-longList + 1)
	case "pgdown":
		s.jump(longList - 1)
	case "tab", "right":
		m.switchTab(1)
	case "shift+tab", "left":
		m.switchTab(-1)
	case "enter":
		m.pick(s)
	case "space":
		if s.q.MultiSelect {
			m.toggle(s)
		}
	case "n":
		if !s.closed && s.focused() >= 0 && !s.isOther(s.focused()) {
			s.edit, s.oldNote = editNote, s.note.String()
		}
	case "/":
		if s.long() {
			s.edit = editFilter
		}
	case "esc":
		if !s.filter.Empty() {
			s.clearFilter()
			return
		}
		m.escape()
	default:
		if len(name) == 1 && name[0] >= '0' && name[0] <= '9' {
			m.digit(s, int(name[0]-'0'))
		}
	}
}

// long reports whether the list scrolls and can be filtered.
func (s *sheet) long() bool { return len(s.rows) > longList }

// digit picks the entry with that number; 0 is Other.
func (m *Picker) digit(s *sheet, n int) {
	entry := n - 1
	if n == 0 {
		if !s.other {
			return
		}
		entry = len(s.rows)
	}
	if !s.focusOn(entry) {
		return
	}
	if s.q.MultiSelect {
		m.toggle(s)
		return
	}
	m.pick(s)
}

// pick takes the entry in focus, or with several picks what is ticked.
func (m *Picker) pick(s *sheet) {
	entry := s.focused()
	switch {
	case entry < 0:
	case s.isOther(entry) && !s.ownWords:
		s.edit = editText
	case s.q.MultiSelect:
		if !s.answered() {
			m.message = "Nothing picked yet: Space picks the option in focus"
			return
		}
		m.confirm()
	default:
		s.chosen = entry
		m.confirm()
	}
}

func (m *Picker) toggle(s *sheet) {
	entry := s.focused()
	switch {
	case entry < 0:
	case !s.isOther(entry):
		s.picked[entry] = !s.picked[entry]
	case s.ownWords:
		s.ownWords = false
	default:
		s.edit = editText
	}
}

// editKey handles a key while text is typed.
func (m *Picker) editKey(s *sheet, k tty.Key) {
	f := s.field()
	name := k.Name
	switch {
	case name == "enter":
		m.accept(s)
	case name == "esc":
		m.leaveEdit(s)
	case name == "ctrl+d" && f.Empty():
		m.finish(convert.Cancelled, convert.CancelMessage)
	case name == "tab" && m.several():
		m.switchTab(1)
	case name == "shift+tab" && m.several():
		m.switchTab(-1)
	case s.free() && f.Empty() && name == "right":
		m.switchTab(1)
	case s.free() && f.Empty() && name == "left":
		m.switchTab(-1)
	case s.edit == editFilter && (name == "up" || name == "down"):
		m.listKey(s, name)
	default:
		f.Key(k, m.fieldWidth(s))
		if s.edit == editFilter {
			s.applyFilter()
		}
	}
}

// field is the one that is being typed in.
func (s *sheet) field() *edit.Field {
	switch s.edit {
	case editNote:
		return &s.note
	case editFilter:
		return &s.filter
	}
	return &s.answer
}

// accept is Enter while text is typed.
func (m *Picker) accept(s *sheet) {
	switch s.edit {
	case editNote:
		s.edit = editNothing
	case editFilter:
		s.edit = editNothing
		if s.single() && len(s.visible) > 0 {
			m.pick(s)
		}
	case editText:
		if s.answer.Value() == "" {
			m.message = "Type an answer first"
			return
		}
		s.keepText()
		if s.free() || s.single() {
			if !s.free() {
				s.edit = editNothing
			}
			m.confirm()
			return
		}
		s.edit = editNothing // there may be more to tick
	}
}

// leaveEdit is Esc while text is typed.
func (m *Picker) leaveEdit(s *sheet) {
	switch s.edit {
	case editNote:
		s.note.Set(s.oldNote)
	case editFilter:
		s.clearFilter()
		return
	case editText:
		if s.free() {
			m.escape()
			return
		}
		if s.answer.Value() == "" {
			s.keepText()
		}
	}
	s.edit = editNothing
}
