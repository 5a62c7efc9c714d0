package hook

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Grant is something that Claude Code suggests to allow from now on, beyond the one use
// of a tool that it asks about.
type Grant struct {
	// Name says all of what it allows, where, and for how long.
	Name string
	// Updates are the suggestions behind it as they came: the CLI wants them back
	// as updatedPermissions.
	Updates []string
	// Mode tells a mode of the session from rules.
	Mode bool
}

// Grants reads suggestions, for an editor as for a hook: rules to add, then a mode to switch to. What its name
// would not say does not go along with one.
func Grants(suggestions json.RawMessage) (list []Grant) {
	var rules, mode Grant
	var names, dirs []string
	where := ""
	for _, s := range gjson.ParseBytes(suggestions).Array() {
		switch s.Get("type").Str {
		case "addRules":
			if s.Get("behavior").Str != "allow" || len(s.Get("rules").Array()) == 0 {
				continue
			}
			rules.Updates = append(rules.Updates, s.Raw)
			where = join(where, destination(s), " and ")
			for _, r := range s.Get("rules").Array() {
				names = append(names, ruleName(r))
			}
		case "addDirectories":
			mode.Updates = append(mode.Updates, s.Raw)
			for _, d := range s.Get("directories").Array() {
				dirs = append(dirs, shown(d.String()))
			}
		case "setMode":
			if s.Get("mode").Str == "acceptEdits" {
				mode.Updates = append(mode.Updates, s.Raw)
				mode.Name = "Accept all edits " + destination(s)
			}
		}
	}
	if len(rules.Updates) > 0 {
		rules.Name = "Always allow " + strings.Join(names, ", ") + " " + where
		list = append(list, rules)
	}
	if mode.Name != "" {
		if len(dirs) > 0 {
			mode.Name += ", also in " + strings.Join(dirs, ", ")
		}
		mode.Mode = true
		list = append(list, mode)
	}
	return list
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
