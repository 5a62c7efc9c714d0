package hook

import (
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/internal/about"
)

// choice is an option of a permission and what it does.
type choice struct {
	label, about string
	updates      []string // for updatedPermissions, as Claude Code suggested them
	deny         bool
	message      string // of a no without words
	edited       bool   // the note is the plan
}

// kind is what the choice does, in ACP's words where it has them.
func (c choice) kind() string {
	switch {
	case c.deny:
		return "reject_once"
	case c.edited:
		return about.Edited
	case len(c.updates) > 0:
		return "allow_always"
	}
	return "allow_once"
}

// choicesFor are what a person can say to a tool.
func choicesFor(suggestions json.RawMessage) []choice {
	choices := []choice{{label: "Allow"}}
	for _, g := range Grants(suggestions) {
		choices = append(choices, choice{label: g.Name, updates: g.Updates})
	}
	return append(choices, choice{label: "Reject", about: "a note is sent to Claude as the reason", deny: true, message: "The user rejected this tool use"})
}

// planChoices are what a person can say to a plan, the narrowest yes first; one without text
// has nothing to edit.
func planChoices(text bool) []choice {
	choices := []choice{
		{label: "Yes, and ask before edits"},
		{label: "Yes, and accept all edits", updates: []string{`{"type":"setMode","mode":"acceptEdits","destination":"session"}`}},
	}
	if text {
		choices = append(choices, choice{label: "Yes, but with the plan in the note", about: "write the whole plan as you want it", edited: true})
	}
	return append(choices, choice{label: "No, keep planning", about: "a note is sent to Claude as the reason", deny: true, message: "The user wants you to keep planning"})
}
