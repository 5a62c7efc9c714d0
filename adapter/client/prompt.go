package client

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// promptRows is how many rows a prompt may have on the screen; it scrolls.
const promptRows = 8

// prompt is where the user types.
type prompt struct {
	area    textarea.Model
	history []string
	at      int    // in history; its length while something new is typed
	draft   string // what was typed before history was looked at
}

func newPrompt() *prompt {
	a := textarea.New()
	a.SetPromptFunc(2, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return "> "
		}
		return "  "
	})
	a.ShowLineNumbers = false
	a.SetVirtualCursor(false)
	a.SetStyles(textarea.Styles{})
	a.DynamicHeight, a.MinHeight, a.MaxHeight = true, 1, promptRows
	a.MaxContentHeight = 10_000
	a.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("ctrl+j", "alt+enter", "shift+enter"))
	a.KeyMap.Paste.SetEnabled(false) // it would run a program that reads the clipboard
	a.Focus()
	return &prompt{area: a}
}

func (p *prompt) empty() bool { return p.area.Value() == "" }

// take returns what was typed and starts anew.
func (p *prompt) take() string {
	words := p.area.Value()
	p.area.Reset()
	if strings.TrimSpace(words) != "" && (len(p.history) == 0 || p.history[len(p.history)-1] != words) {
		p.history = append(p.history, words)
	}
	p.at, p.draft = len(p.history), ""
	return words
}

func (p *prompt) clear() { p.area.Reset(); p.at, p.draft = len(p.history), "" }

// update takes a key or pasted text.
func (p *prompt) update(msg tea.Msg) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch {
		case k.Keystroke() == "up" && p.area.Line() == 0 && p.at > 0:
			p.recall(p.at - 1)
			return
		case k.Keystroke() == "down" && p.area.Line() == p.area.LineCount()-1 && p.at < len(p.history):
			p.recall(p.at + 1)
			return
		}
	}
	p.area, _ = p.area.Update(msg) // its commands blink and use the clipboard
}

// recall shows an earlier prompt.
func (p *prompt) recall(at int) {
	if p.at == len(p.history) {
		p.draft = p.area.Value()
	}
	p.at = at
	if at == len(p.history) {
		p.area.SetValue(p.draft)
		return
	}
	p.area.SetValue(p.history[at])
}

// view draws the prompt. The cursor counts from its first line.
func (p *prompt) view(width int) (lines []string, cursor *tea.Cursor) {
	if p.area.Width() != width-2 {
		p.area.SetWidth(width)
	}
	lines = strings.Split(p.area.View(), "\n")
	for i := range lines {
		// What is pasted is sent as it is, but must not turn the line around.
		lines[i] = strings.TrimRight(clean.Block(lines[i]), " ")
	}
	return lines, p.area.Cursor()
}
