package ask

import (
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

// shownText is the text of question q as the tool call shows it.
func shownText(c convert.Call, q int) string { return Behind(c, clean.Block(c.Questions[q].Text)) }
