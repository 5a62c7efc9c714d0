package hook

import (
	"encoding/json"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/about"
)

// Choice is an option of a permission, in an editor as at a hub, and what it does.
type Choice struct {
	// ID names it, Label and About say what it does, and Kind does so in ACP's words where
	// those have it; else it is [about.Edited].
	ID, Label, About, Kind string
	// Updates are what goes with a yes as updatedPermissions; nil for nothing.
	Updates json.RawMessage
	// Message is what Claude Code is told with a no without words.
	Message string
}

const (
	once   = "allow_once"
	always = "allow_always"

	reason = "a note is sent to Claude as the reason"
)

// Denies reports whether it is a no.
func (c Choice) Denies() bool { return about.Rejects(c.Kind) }

// Choices are what a person can say to a tool.
func Choices(suggestions json.RawMessage) []Choice {
	choices := []Choice{{ID: "allow", Label: "Allow", Kind: once}}
	for _, g := range Grants(suggestions) {
		c := Choice{ID: "allow_always", Label: g.Name, Kind: always, Updates: updates(g.Updates...)}
		if g.Mode {
			c.ID = "accept_edits"
		}
		choices = append(choices, c)
	}
	return append(choices, Choice{ID: "reject", Label: "Reject", About: reason, Kind: "reject_once", Message: "The user rejected this tool use"})
}

// PlanChoices are what a person can say to a plan: the modes in which to go on with it,
// those that there are. The narrowest is first: there are clients that take the first one
// and show none. The others are in the CLI's own order.
func PlanChoices(has func(mode string) bool) (choices []Choice) {
	for _, mode := range [][2]string{
		{"default", "Yes, and ask before edits"}, {"auto", "Yes, and use auto mode"},
		{"acceptEdits", "Yes, and accept all edits"}, {"bypassPermissions", "Yes, and do everything without asking"},
	} {
		if !has(mode[0]) {
			continue
		}
		c := Choice{ID: mode[0], Label: mode[1], Kind: always, Updates: updates(`{"type":"setMode","mode":"` + mode[0] + `","destination":"session"}`)}
		if len(choices) == 0 {
			c.Kind = once
		}
		choices = append(choices, c)
	}
	return append(choices, Choice{ID: "plan", Label: "No, keep planning", About: reason, Kind: "reject_once", Message: "The user wants you to keep planning"})
}

func updates(list ...string) json.RawMessage {
	return json.RawMessage("[" + strings.Join(list, ",") + "]")
}
