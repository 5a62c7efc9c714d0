package hook

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
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
		return "allow_edited"
	case len(c.updates) > 0:
		return "allow_always"
	}
	return "allow_once"
}

// choicesFor are what a person can say to a tool. What "always" would allow is
// written out, and nothing goes along that is not.
func choicesFor(suggestions json.RawMessage) []choice {
	choices := []choice{{label: "Allow"}}
	rules, mode := choice{}, choice{}
	var names, dirs []string
	where := ""
	for _, s := range gjson.ParseBytes(suggestions).Array() {
		switch s.Get("type").Str {
		case "addRules":
			if s.Get("behavior").Str != "allow" || len(s.Get("rules").Array()) == 0 {
				continue
			}
			rules.updates = append(rules.updates, s.Raw)
			where = join(where, destination(s), " and ")
			for _, r := range s.Get("rules").Array() {
				names = append(names, ruleName(r))
			}
		case "addDirectories":
			mode.updates = append(mode.updates, s.Raw)
			for _, d := range s.Get("directories").Array() {
				dirs = append(dirs, shown(d.String()))
			}
		case "setMode":
			if s.Get("mode").Str == "acceptEdits" {
				mode.updates = append(mode.updates, s.Raw)
				mode.label = "Accept all edits " + destination(s)
			}
		}
	}
	if len(rules.updates) > 0 {
		rules.label = strings.TrimSpace("Always allow " + strings.Join(names, ", ") + " " + where)
		choices = append(choices, rules)
	}
	if mode.label != "" {
		if len(dirs) > 0 {
			mode.label += ", also in " + strings.Join(dirs, ", ")
		}
		choices = append(choices, mode)
	}
	return append(choices, choice{label: "Reject", about: "a note is sent to Claude as the reason", deny: true, message: "The user rejected this tool use"})
}

// planChoices are what a person can say to a plan.
func planChoices() []choice {
	return []choice{
		{label: "Yes, and accept all edits", updates: []string{`{"type":"setMode","mode":"acceptEdits","destination":"session"}`}},
		{label: "Yes, and ask before edits"},
		{label: "Yes, but with the plan in the note", about: "write the whole plan as you want it", edited: true},
		{label: "No, keep planning", about: "a note is sent to Claude as the reason", deny: true, message: "The user wants you to keep planning"},
	}
}

func ruleName(r gjson.Result) string {
	name := r.Get("toolName").String()
	if content := r.Get("ruleContent").String(); content != "" {
		name += "(" + content + ")"
	}
	return shown(name)
}

// destination says where a suggestion is kept, and so for how long.
func destination(s gjson.Result) string {
	switch d := s.Get("destination").Str; d {
	case "session":
		return "in this session"
	case "localSettings":
		return "in this project"
	case "projectSettings":
		return "in this project, for everybody who works on it"
	case "userSettings":
		return "in all projects"
	default:
		return "(" + shown(d) + ")"
	}
}

func shown(s string) string { return clean.Line(clean.Visible(s)) }

func join(a, b, with string) string {
	if a == "" || a == b {
		return b
	}
	return a + with + b
}
