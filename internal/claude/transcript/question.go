package transcript

import (
	"encoding/json"
	"time"
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
)

// Question is a question call that got no answer.
type Question struct {
	ToolUseID string
	// Input is the call's input.
	Input json.RawMessage
	How   Ending
	Time  time.Time
}

// Questions returns the questions that the conversation ends with: calls that
// nobody answered and after which nothing was said. The CLI writes with a
// delay, so a question that was open for less than a second or two when the
// CLI was killed may be missing.
func (t *Transcript) Questions() []Question {
	results := map[string]string{} // how calls ended, by id
	i := len(t.marks) - 1
	for ; i >= 0 && len(t.marks)-i < maxTrail; i-- {
		m := t.marks[i]
		if m.flags&(isAssistant|isSynthetic) == isAssistant {
			break
		}
		if m.flags&isUser == 0 || m.flags&isMeta != 0 {
			continue
		}
		line, err := t.line(m)
		if err != nil {
			return nil
		}
		for _, e := range entries(line, m.flags, t.parent) {
			switch e.Kind {
			case Prompt:
				return nil
			case ToolResult:
				results[e.ToolUseID] = line.denial
			}
		}
	}
	if i < 0 || t.marks[i].flags&isAssistant == 0 {
		return nil
	}
	return t.asked(i, results)
}

// asked finds the unanswered question calls of the message that the line i
// belongs to.
func (t *Transcript) asked(i int, results map[string]string) []Question {
	message := t.marks[i].msg
	var open []Question
	for j := max(0, i-maxTrail); j <= i; j++ {
		m := t.marks[j]
		if m.flags&hasQuestion == 0 || j != i && (m.msg != message || message == 0) {
			continue
		}
		line, err := t.line(m)
		if err != nil {
			return nil
		}
		for _, b := range blocks(line.content) {
			id := b.Get("id").String()
			denial, done := results[id]
			ending, unanswered := endings[denial]
			if b.Get("name").Str != questionTool || id == "" || done && !unanswered {
				continue
			}
			open = append(open, Question{
				ToolUseID: id, Input: json.RawMessage(b.Get("input").Raw), How: ending, Time: line.time(),
			})
		}
	}
	return open
}

// endings are the CLI's words for how a call ended without an answer.
var endings = map[string]Ending{"interrupted": Lost, "user-rejected": Rejected}
