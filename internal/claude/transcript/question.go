package transcript

import (
	"encoding/json"
	"slices"
)

const questionTool = "AskUserQuestion"

// maxTrail bounds how many lines after a question are looked at.
const maxTrail = 1000

// Ending tells how a question ended that nobody answered.
type Ending int

const (
	// Unanswered: the call has no result. The CLI was killed while the question
	// was open, or still runs.
	Unanswered Ending = iota
	// Lost: the session was resumed since, and the CLI noted for the model that
	// the call had been cut off.
	Lost
	// Rejected: the turn was stopped. The user dismissed the question, or the
	// CLI was closed in an orderly way while it was open; the file does not
	// tell which.
	Rejected
	// Refused: the CLI refused the call, or somebody did on behalf of it, and the
	// agent may have gone on since. With older CLIs that is also what becomes of a
	// question when the program is killed that was to ask it.
	Refused
	// Abandoned: the program was killed that was to ask it, and the agent may have gone
	// on since.
	Abandoned
)

// Question is a question call that got no answer.
type Question struct {
	ToolUseID string
	// Input is the call's input.
	Input json.RawMessage
	How   Ending
}

// Questions returns the questions since the last prompt that nobody answered. After
// them nothing was said, but for those that were refused or abandoned. The CLI writes
// with a delay, so a question that was open for less than a second or two when the
// CLI was killed may be missing.
func (t *Transcript) Questions() []Question {
	var open []Question
	results := map[string]string{} // how calls ended, by id
	last := -1                     // of what the agent said
	for i, first := len(t.marks)-1, t.firstQuestion(); i >= first; i-- {
		m := t.marks[i]
		agent := m.flags&(isAssistant|isSynthetic) == isAssistant
		if agent && last < 0 {
			last = i
		}
		if agent && m.flags&hasQuestion == 0 || !agent && (m.flags&isUser == 0 || m.flags&isMeta != 0) {
			continue
		}
		line, err := t.line(m)
		if err != nil {
			return nil
		}
		if agent {
			ends := i == last || m.msg != 0 && m.msg == t.marks[last].msg
			open = append(asked(line, results, ends), open...)
			continue
		}
		for _, e := range entries(line, m.flags, t.parent) {
			switch e.Kind {
			case Prompt:
				return open
			case ToolResult:
				results[e.ToolUseID] = line.denial
				if line.unanswered {
					results[e.ToolUseID] = abandoned
				}
			}
		}
	}
	return open
}

// firstQuestion is the first line with a question, of the last maxTrail.
func (t *Transcript) firstQuestion() int {
	from := max(0, len(t.marks)-maxTrail)
	i := slices.IndexFunc(t.marks[from:], func(m mark) bool { return m.flags&hasQuestion != 0 })
	if i < 0 {
		return len(t.marks)
	}
	return from + i
}

// asked are the unanswered question calls of a line. If it does not belong to what the
// conversation ends with, these are the ones that the agent can have gone on without.
func asked(line row, results map[string]string, ends bool) (open []Question) {
	for _, b := range blocks(line.content) {
		id := b.Get("id").String()
		if b.Get("name").Str != questionTool || id == "" {
			continue
		}
		how := Unanswered
		if denial, done := results[id]; done {
			if denial == "" {
				continue
			}
			known := false
			if how, known = endings[denial]; !known {
				how = Refused
			}
		}
		if ends || how == Refused || how == Abandoned {
			open = append(open, Question{ToolUseID: id, Input: json.RawMessage(b.Get("input").Raw), How: how})
		}
	}
	return open
}

// abandoned stands for what the CLI says of a call beside those words.
const abandoned = "unanswered"

// endings are the CLI's words for how a call ended without an answer.
var endings = map[string]Ending{"interrupted": Lost, "user-rejected": Rejected, abandoned: Abandoned}
