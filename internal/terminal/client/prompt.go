package client

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// promptRows is how many rows a prompt may have on the screen; it scrolls.
const promptRows = 8

// promptMark stands before what is typed.
const promptMark = "> "

// prompt is where the user types.
type prompt struct {
	field   picker.Field
	history []string
	at      int    // in history; its length while something new is typed
	draft   string // what was typed before history was looked at
}

func newPrompt() *prompt { return &prompt{field: picker.Field{Lines: true}} }

func (p *prompt) empty() bool { return p.field.Empty() }

// take returns what was typed and starts anew.
func (p *prompt) take() string {
	words := p.field.String()
	p.remember(words)
	p.clear()
	return words
}

// remember adds a prompt to those that can be recalled.
func (p *prompt) remember(words string) {
	if strings.TrimSpace(words) != "" && (len(p.history) == 0 || p.history[len(p.history)-1] != words) {
		p.history = append(p.history, words)
		p.at = len(p.history)
	}
}

func (p *prompt) clear() {
	p.field.Clear()
	p.at, p.draft = len(p.history), ""
}

// key takes a key, of a prompt that is shown in so many columns.
func (p *prompt) key(k tty.Key, width int) {
	if p.field.Key(k, width-len(promptMark)) {
		return
	}
	switch { // there is no line above or below
	case k.Name == "up" && p.at > 0:
		p.recall(p.at - 1)
	case k.Name == "down" && p.at < len(p.history):
		p.recall(p.at + 1)
	}
}

// recall shows an earlier prompt.
func (p *prompt) recall(at int) {
	if p.at == len(p.history) {
		p.draft = p.field.String()
	}
	p.at = at
	if at == len(p.history) {
		p.field.Set(p.draft)
		return
	}
	p.field.Set(p.history[at])
}

// view draws the prompt. The cursor counts from its first line.
func (p *prompt) view(width int) (lines []string, row, col int) {
	lines, row, col = p.field.Draw(width-len(promptMark), promptRows)
	for i, l := range lines {
		mark := promptMark
		if i > 0 {
			mark = strings.Repeat(" ", len(promptMark))
		}
		lines[i] = strings.TrimRight(mark+l, " ")
	}
	return lines, row, col + len(promptMark)
}
