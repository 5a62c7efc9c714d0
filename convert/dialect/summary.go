package dialect

import (
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// summary tells in sentences what was asked and answered, for a conversation
// that is summarised: The user was asked "Which database?" and chose SQLite.
func summary(c convert.Call, o convert.Outcome) string {
	var asked []string
	for i, q := range c.Questions {
		text := clean.Line(q.Text)
		if o.Status != convert.Answered {
			asked = append(asked, fmt.Sprintf("%q", text))
			continue
		}
		var a convert.Answer
		if i < len(o.Answers) {
			a = o.Answers[i]
		}
		asked = append(asked, fmt.Sprintf("The user was asked %q and %s.", text, summaryOf(a)))
	}
	if o.Status == convert.Answered {
		return strings.Join(asked, " ")
	}
	return fmt.Sprintf("The user was asked %s. %s.", strings.Join(asked, ", "), strings.TrimSuffix(clean.Line(o.Message()), "."))
}

func summaryOf(a convert.Answer) string {
	var said []string
	if len(a.Selected) > 0 {
		said = append(said, "chose "+clean.Line(strings.Join(a.Selected, ", ")))
	}
	if a.Text != "" {
		said = append(said, fmt.Sprintf("wrote %q", clean.Line(a.Text)))
	}
	if a.Note != "" {
		said = append(said, fmt.Sprintf("noted %q", clean.Line(a.Note)))
	}
	if said == nil {
		return "gave no answer"
	}
	return strings.Join(said, " and ")
}
