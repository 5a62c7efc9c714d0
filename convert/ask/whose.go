package ask

import (
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// shownText is the text of question q as the tool call shows it: with its place
// among the others, and with the previews of its options, which few clients show
// otherwise.
func shownText(c convert.Call, q int) string {
	text := c.SubAgent.Behind(clean.Block(c.Questions[q].Text))
	if place := placeOf(c, q); place != "" {
		text += "\n\n" + place
	}
	return text + previews(&c.Questions[q])
}

// placeOf says which one of several questions it is. Forms of servers say so themselves.
func placeOf(c convert.Call, q int) string {
	if n := len(c.Questions); n > 1 && c.Server == "" {
		return "Question " + strconv.Itoa(q+1) + " of " + strconv.Itoa(n) + "."
	}
	return ""
}

// previews are those of a question's options, each in a block of its own.
func previews(q *convert.Question) string {
	var b strings.Builder
	for i := range q.Options {
		preview := strings.Trim(clean.Block(q.Options[i].Preview), "\n")
		if clean.Blank(preview) {
			continue
		}
		b.WriteString("\n\n" + clean.Line(q.Options[i].Label) + ":\n\n" + clean.Fence("", preview))
	}
	return b.String()
}
