package dialect

import (
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// summary tells in sentences what was asked and answered, for a conversation
// that is summarised: The user was asked "Which database?" and chose SQLite.
func summary(c convert.Call, answers []convert.Answer) string {
	var asked []string
	for i, q := range c.Questions {
		var a convert.Answer
		if i < len(answers) {
			a = answers[i]
		}
		asked = append(asked, fmt.Sprintf("The user was asked %q and %s.", clean.Line(q.Text), summaryOf(a)))
	}
	return strings.Join(asked, " ")
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
