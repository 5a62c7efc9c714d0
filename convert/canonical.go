package convert

import "strings"

// cancelledText stands for the answers of a call that the user cancelled,
// where the result is text.
const cancelledText = "[cancelled by user]"

// Format renders answers as the canonical result text of the tool: each
// question followed by its answer, blocks apart by a blank line.
//
//   - A typed text stands verbatim and replaces picks.
//   - A single-select pick is the bare label.
//   - Multi-select picks are lines that begin with "- ".
//   - A note stands behind its pick as " (note: text)".
//   - Answers belong to questions by position; a question without an answer
//     is left out.
func Format(c Call, answers []Answer) string {
	var blocks []string
	for i, q := range c.Questions {
		if i >= len(answers) || answers[i].Empty() {
			continue
		}
		blocks = append(blocks, q.Text+"\n"+formatAnswer(q, answers[i]))
	}
	return strings.Join(blocks, "\n\n")
}

func formatAnswer(q Question, a Answer) string {
	switch {
	case a.Text != "":
		return WithNote(a.Text, a.Note)
	case !q.MultiSelect:
		return WithNote(a.Selected[0], a.Note)
	}
	return WithNote("- "+strings.Join(a.Selected, "\n- "), a.Note)
}

// WithNote puts a note behind an answer, for results that have no place of
// their own for it.
func WithNote(answer, note string) string {
	if note == "" {
		return answer
	}
	return answer + " (note: " + note + ")"
}

// TextResult is the whole outcome of a call as text: the answers as [Format]
// renders them, "[cancelled by user]" when the user did not want to answer, or what
// went wrong, with a flag that marks it as an error.
func TextResult(c Call, o Outcome) (text string, isError bool) {
	switch o.Status {
	case Answered:
		return Format(c, o.Answers), false
	case Cancelled, Declined:
		return cancelledText, false
	}
	return o.Message(), true
}

// AnswerText is one answer as Claude Code reads it: the label or the text; for
// a multi-select question its items joined by [Join].
func (q Question) AnswerText(a Answer) string {
	if q.MultiSelect {
		return Join(a.Items())
	}
	return strings.Join(a.Items(), separator)
}
