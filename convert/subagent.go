package convert

import "github.com/acp-bridge/acp-bridge/display/clean"

// maxTask bounds what a title says of a sub-agent's work.
const maxTask = 40

// Whose names the sub-agent, for people: `sub-agent "explore"`. It is empty for the zero
// value: the agent itself asks.
func (s SubAgent) Whose() string {
	if s == (SubAgent{}) {
		return ""
	}
	task := clean.Truncate(clean.Line(s.Task), maxTask)
	if clean.Blank(task) {
		return "sub-agent"
	}
	return `sub-agent "` + task + `"`
}

// Behind puts a text behind a sentence that says which sub-agent asks, if one
// does.
func (s SubAgent) Behind(text string) string {
	if who := s.Whose(); who != "" {
		return "The " + who + " asks:\n\n" + text
	}
	return text
}
