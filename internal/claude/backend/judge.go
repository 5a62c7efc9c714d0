package backend

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Of what an editor says about a session, only what narrows or tunes counts, unless
// the user trusts the editor: none of it lets Claude Code do more without asking
// than it would do for this user in a terminal, and none of it sends the user's own
// login elsewhere. What nobody has judged is left out, too. Folders and MCP servers
// count: the protocol itself lets an editor bring them, and choose the folder that
// Claude Code works in.

// judge keeps of a value what counts, nil if nothing does. left are the names of
// what does not count, each with path before it.
type judge func(path string, v any) (kept any, left []string)

// counts is for what can only narrow or tune.
func counts(_ string, v any) (any, []string) { return v, nil }

// never is for what can raise.
func never(path string, _ any) (any, []string) { return nil, []string{path} }

// oneOf is for a text that counts if it is one of these.
func oneOf(texts ...string) judge {
	return func(path string, v any) (any, []string) {
		if s, ok := v.(string); ok && slices.Contains(texts, s) {
			return v, nil
		}
		return never(path, v)
	}
}

// fields is for an object: each name has a judge, and other names do not count.
func fields(judges map[string]judge) judge {
	return each(func(name string) judge { return judges[name] })
}

// each is for an object whose fields are judged by their names.
func each(of func(name string) judge) judge {
	return func(path string, v any) (any, []string) {
		m, ok := v.(map[string]any)
		if !ok {
			return never(path, v)
		}
		kept, left := map[string]any{}, []string(nil)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			j := of(name)
			if j == nil {
				j = never
			}
			k, l := j(path+"."+name, m[name])
			if left = append(left, l...); k != nil {
				kept[name] = k
			}
		}
		return kept, left
	}
}

// asks are the modes in which Claude Code does nothing unasked that it would not
// do unasked in any other.
var asks = oneOf("default", "plan", "dontAsk")

// someSources reports whether a list of the settings that are read leaves some of
// the user's out: what they forbid is then missing.
func someSources(v gjson.Result) bool {
	list, _ := stringList(v)
	return slices.ContainsFunc([]string{"user", "project", "local"}, func(source string) bool { return !slices.Contains(list, source) })
}

// some reports whether there is anything in a list.
func some(v gjson.Result) bool { return len(v.Array()) > 0 }

var settingsJudge = fields(map[string]judge{
	"$schema": counts,

	"agent": counts, "alwaysThinkingEnabled": counts, "effortLevel": counts, "fastMode": counts, "language": counts,
	"model": counts, "outputStyle": counts, "ultracode": counts,

	"attribution": counts, "includeCoAuthoredBy": counts, "includeGitInstructions": counts,
	"prefersReducedMotion": counts, "promptSuggestionEnabled": counts, "showThinkingSummaries": counts, "showTurnDuration": counts,
	"spinnerTipsEnabled": counts, "spinnerTipsOverride": counts, "spinnerVerbs": counts, "terminalProgressBarEnabled": counts,

	"availableModels": counts, "deniedMcpServers": counts, "disabledMcpjsonServers": counts, "disableAutoMode": counts,

	"env": each(variable),
	"permissions": fields(map[string]judge{
		"additionalDirectories": counts, "ask": counts, "defaultMode": asks, "deny": counts,
		"disableAutoMode": counts, "disableBypassPermissionsMode": counts,
	}),
})

var agentJudge = fields(map[string]judge{
	"background": counts, "color": counts, "description": counts, "disallowedTools": counts, "effort": counts, "isolation": counts,
	"maxTurns": counts, "mcpServers": counts, "model": counts, "permissionMode": asks, "prompt": counts, "skills": counts, "tools": counts,
})

// variable judges a variable of the environment by its name. Most are read by some
// program that runs unasked: the CLI and its runtime, a shell, git, ripgrep.
func variable(name string) judge {
	if slices.Contains(variables, name) {
		return counts
	}
	return never
}

var variables = strings.Fields(`
	ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN
	ANTHROPIC_MODEL ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_DEFAULT_HAIKU_MODEL ANTHROPIC_DEFAULT_OPUS_MODEL
	ANTHROPIC_DEFAULT_SONNET_MODEL CLAUDE_CODE_SUBAGENT_MODEL CLAUDE_CODE_EFFORT_LEVEL MAX_THINKING_TOKENS
	API_TIMEOUT_MS BASH_DEFAULT_TIMEOUT_MS BASH_MAX_OUTPUT_LENGTH BASH_MAX_TIMEOUT_MS MCP_TIMEOUT MCP_TOOL_TIMEOUT
	CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS CLAUDE_CODE_MAX_OUTPUT_TOKENS MAX_MCP_OUTPUT_TOKENS
	DISABLE_AUTOUPDATER DISABLE_COST_WARNINGS DISABLE_ERROR_REPORTING DISABLE_TELEMETRY ENABLE_TOOL_SEARCH
	FORCE_COLOR NO_COLOR LANG LANGUAGE LC_ALL TZ
`)

// distrust leaves out what does not count of the environment, the settings and the
// sub-agents.
func (u *setup) distrust() {
	u.env = slices.DeleteFunc(u.env, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, left := variable(name)("env."+name, pair)
		u.left = append(u.left, left...)
		return left != nil
	})
	kept := u.distrustObject("settings", settingsJudge, clean.JSON(u.given))
	u.given = map[string]any{}
	_ = json.Unmarshal(kept, &u.given)
	if u.settingsFile != nil {
		u.settingsFile = u.distrustObject("settings", settingsJudge, u.settingsFile)
	}
	if agents, ok := u.opening["agents"].(json.RawMessage); ok {
		u.opening["agents"] = u.distrustObject("agents", each(func(string) judge { return agentJudge }), agents)
	}
}

// distrustObject is what counts of an object. What cannot be read does not.
func (u *setup) distrustObject(name string, j judge, object json.RawMessage) json.RawMessage {
	var value any
	_ = json.Unmarshal(object, &value)
	kept, left := j(name, value)
	u.left = append(u.left, left...)
	if kept == nil {
		return json.RawMessage("{}")
	}
	return clean.JSON(kept)
}

// maxTold is how many names are told.
const maxTold = 12

// leftOut tells a user what of the editor's options did not count.
func leftOut(names []string) string {
	told := make([]string, 0, maxTold)
	for _, name := range names[:min(len(names), maxTold)] {
		told = append(told, clean.Span(clean.Truncate(clean.Line(name), 80)))
	}
	more := ""
	if n := len(names) - len(told); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("Your editor sent options that could let Claude Code act without asking you. They are ignored: %s%s. "+
		"To allow them, start acp-bridge with %s.\n\n", strings.Join(told, ", "), more, clean.Span("--trust-editor"))
}

// tellLeft tells the user, once, in the first turn: before it some editors show
// nothing.
func (s *conversation) tellLeft() {
	if len(s.left) > 0 && !s.toldLeft {
		s.toldLeft = true
		s.out.Notice(true, "Options of your editor are not used: they could let Claude Code act without asking", leftOut(s.left))
	}
}
