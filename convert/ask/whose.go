package ask

import (
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// maxTask bounds what a title says of a sub-agent's work.
const maxTask = 40

// Whose names the sub-agent that asks, for people: `sub-agent "explore"`. It is
// empty where the agent itself asks.
func Whose(c convert.Call) string {
	if c.SubAgent == (convert.SubAgent{}) {
		return ""
	}
	task := clean.Truncate(clean.Line(c.SubAgent.Task), maxTask)
	if clean.Blank(task) {
		return "sub-agent"
	}
	return `sub-agent "` + task + `"`
}

// Behind puts a text behind a sentence that says which sub-agent asks, if one
// does.
func Behind(c convert.Call, text string) string {
	if who := Whose(c); who != "" {
		return "The " + who + " asks:\n\n" + text
	}
	return text
}

// shownText is the text of question q as the tool call shows it: with its place
// among the others, and with the previews of its options, which few clients show
// otherwise.
func shownText(c convert.Call, q int) string {
	text := Behind(c, clean.Block(c.Questions[q].Text))
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
		fence := "```"
		for strings.Contains(preview, fence) {
			fence += "`"
		}
		b.WriteString("\n\n" + clean.Line(q.Options[i].Label) + ":\n\n" + fence + "\n" + preview + "\n" + fence)
	}
	return b.String()
}
