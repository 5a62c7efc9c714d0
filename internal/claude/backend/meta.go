package backend

import (
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// extras are what an editor may say in the _meta of a request that opens a
// session, under the names that claude-agent-acp gave them.
type extras struct {
	args    []string                   // of the command line
	opening map[string]any             // of the initialize request
	env     []string                   // on top of the bridge's own
	servers map[string]json.RawMessage // in the CLI's own form
	given   map[string]any             // settings that hold from the start
	// settingsFile are the settings of a file that the editor named, as they stood in it.
	settingsFile json.RawMessage
	model        string
	effort       string
	// asksNothing names what would choose the mode that asks for nothing.
	asksNothing string
	// left are the names of what does not count because the editor is not trusted.
	left []string
}

// metaOption is one entry of _meta.claudeCode.options: what it takes, and what it
// does if it gets that.
type metaOption struct {
	takes string
	set   func(u *setup, v gjson.Result) bool
	// raises, if set, says of an argument whether it counts only of a trusted editor.
	raises func(v gjson.Result) bool
}

// metaOptions are the entries that have a place in the CLI. Each flag and its
// value are one argument, so that no value can pass for a flag.
var metaOptions = map[string]metaOption{
	"model":                 {takes: "a string", set: func(u *setup, v gjson.Result) bool { u.model = v.Str; return v.Type == gjson.String }},
	"effort":                {takes: "a string", set: func(u *setup, v gjson.Result) bool { u.effort = v.Str; return v.Type == gjson.String }},
	"agent":                 stringFlag("--agent"),
	"fallbackModel":         stringFlag("--fallback-model"),
	"allowedTools":          listFlag("--allowedTools").raising(some),
	"disallowedTools":       listFlag("--disallowedTools"),
	"betas":                 listFlag("--betas"),
	"settingSources":        listFlag("--setting-sources").raising(someSources),
	"maxTurns":              numberFlag("--max-turns"),
	"maxThinkingTokens":     numberFlag("--max-thinking-tokens"),
	"maxBudgetUsd":          numberFlag("--max-budget-usd"),
	"strictMcpConfig":       {takes: "true or false", set: setStrict},
	"tools":                 {takes: "a list of names, or a preset", set: setTools},
	"additionalDirectories": {takes: "a list of paths", set: setDirs},
	"env":                   {takes: "an object of strings", set: setEnv},
	"mcpServers":            {takes: "an object of servers", set: setServers},
	"plugins":               {takes: `a list of {"type": "local", "path": …}`, set: setPlugins, raises: some},
	"settings":              {takes: "an object, JSON, or the path of a file with it", set: setSettings},
	"systemPrompt":          {takes: "a string, or an object with append", set: setSystemPrompt},
	"agents":                {takes: "an object", set: setAgents},
}

// newSetup reads what an editor says about a session. Of an editor that is not
// trusted, what raises is left out.
func newSetup(cwd string, dirs []string, mcp []acp.McpServer, meta map[string]any, trusted bool, log *slog.Logger) (setup, error) {
	u := setup{cwd: cwd, dirs: dirs, mcp: mcp}
	u.opening, u.given = map[string]any{}, map[string]any{}
	if len(meta) == 0 {
		return u, nil
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return u, conn.Invalid("_meta: %s", err)
	}
	m := gjson.ParseBytes(raw)
	if v := m.Get("systemPrompt"); v.Type != gjson.Null && !setSystemPrompt(&u, v) {
		return u, conn.Invalid("_meta.systemPrompt: expected %s", metaOptions["systemPrompt"].takes)
	}
	if v := m.Get("additionalRoots"); len(dirs) == 0 && v.Type != gjson.Null && !setDirs(&u, v) {
		return u, conn.Invalid("_meta.additionalRoots: expected %s", metaOptions["additionalDirectories"].takes)
	}
	for _, path := range []string{"claudeCode", "claudeCode.options"} {
		if v := m.Get(path); v.Type != gjson.Null && !v.IsObject() {
			return u, conn.Invalid("_meta.%s: expected an object", path)
		}
	}
	if v := m.Get("disableBuiltInTools"); v.Type != gjson.Null && !v.IsBool() {
		return u, conn.Invalid("_meta.disableBuiltInTools: expected true or false")
	}
	options := m.Get("claudeCode.options").Map()
	if _, given := options["tools"]; !given && m.Get("disableBuiltInTools").Bool() {
		u.args = append(u.args, "--tools=")
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		o, known := metaOptions[name]
		args := len(u.args)
		switch v := options[name]; {
		case !known:
			log.Debug("an option of the editor has no place in Claude Code's command line", "option", name)
		case v.Type == gjson.Null:
		case !o.set(&u, v):
			return u, conn.Invalid("_meta.claudeCode.options.%s: expected %s", name, o.takes)
		case !trusted && o.raises != nil && o.raises(v):
			u.args, u.left = u.args[:args], append(u.left, name)
		}
	}
	u.asksNothing = u.raises()
	if !trusted {
		u.distrust()
	}
	if len(u.left) > 0 {
		log.Warn("options of the editor are not used: they could let Claude Code act without asking; --trust-editor allows them", "options", u.left)
	}
	return u, nil
}

func (o metaOption) raising(when func(gjson.Result) bool) metaOption {
	o.raises = when
	return o
}

func stringFlag(flag string) metaOption {
	return metaOption{takes: "a string", set: func(u *setup, v gjson.Result) bool {
		u.args = append(u.args, flag+"="+v.Str)
		return v.Type == gjson.String && v.Str != "" && plain(v.Str)
	}}
}

func listFlag(flag string) metaOption {
	return metaOption{takes: "a list of strings", set: func(u *setup, v gjson.Result) bool {
		list, ok := stringList(v)
		u.args = append(u.args, flag+"="+strings.Join(list, ","))
		return ok
	}}
}

func numberFlag(flag string) metaOption {
	return metaOption{takes: "a number, 0 or more", set: func(u *setup, v gjson.Result) bool {
		u.args = append(u.args, flag+"="+strconv.FormatFloat(v.Num, 'f', -1, 64))
		return v.Type == gjson.Number && v.Num >= 0 && !math.IsInf(v.Num, 0)
	}}
}

// plain reports whether a program can get the text as an argument.
func plain(s string) bool { return !strings.ContainsRune(s, 0) }

func stringList(v gjson.Result) ([]string, bool) {
	if !v.IsArray() {
		return nil, false
	}
	var list []string
	for _, s := range v.Array() {
		if s.Type != gjson.String || !plain(s.Str) {
			return nil, false
		}
		list = append(list, s.Str)
	}
	return list, true
}

func setStrict(u *setup, v gjson.Result) bool {
	if v.Bool() {
		u.args = append(u.args, "--strict-mcp-config")
	}
	return v.IsBool()
}

func setTools(u *setup, v gjson.Result) bool {
	if v.IsObject() {
		return v.Get("type").Str == "preset" // the CLI's own choice
	}
	return listFlag("--tools").set(u, v)
}

func setDirs(u *setup, v gjson.Result) bool {
	list, ok := stringList(v)
	u.dirs = append(list, u.dirs...)
	return ok
}

func setEnv(u *setup, v gjson.Result) bool {
	ok := v.IsObject()
	v.ForEach(func(name, value gjson.Result) bool {
		good := value.Type == gjson.String && plain(value.Str) && plain(name.Str) && name.Str != "" && !strings.Contains(name.Str, "=")
		ok = ok && good
		u.env = append(u.env, name.Str+"="+value.Str)
		return ok
	})
	return ok
}

func setServers(u *setup, v gjson.Result) bool {
	ok := v.IsObject()
	u.servers = map[string]json.RawMessage{}
	v.ForEach(func(name, server gjson.Result) bool {
		ok = ok && server.IsObject()
		u.servers[name.Str] = json.RawMessage(server.Raw)
		return ok
	})
	return ok
}

func setPlugins(u *setup, v gjson.Result) bool {
	for _, p := range v.Array() {
		path := p.Get("path").Str
		if p.Get("type").Str != "local" || path == "" || !plain(path) {
			return false
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(u.cwd, path)
		}
		u.args = append(u.args, "--plugin-dir="+path)
	}
	return v.IsArray()
}

// setSettings takes an object, or its text, which go to the running CLI: they may
// hold what others must not read. A file is read here, so that what is in it can
// be checked, and goes to the CLI when it starts.
func setSettings(u *setup, v gjson.Result) bool {
	text := v.Raw
	if v.Type == gjson.String {
		text = strings.TrimSpace(v.Str)
		if !strings.HasPrefix(text, "{") {
			raw, ok := readSettings(u.cwd, text)
			u.settingsFile = raw
			return ok
		}
	}
	return isObject(text) && json.Unmarshal([]byte(text), &u.given) == nil
}

// maxSettings bounds a file of settings, which is some kB.
const maxSettings = 1 << 20

func readSettings(cwd, path string) (json.RawMessage, bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, false
	}
	raw, err := os.ReadFile(path)
	return raw, err == nil && isObject(string(raw))
}

func isObject(text string) bool { return json.Valid([]byte(text)) && gjson.Parse(text).IsObject() }

// raises names what in an editor's settings, or in the sub-agents that it brings,
// would let Claude Code do more without asking than the user's own arguments
// allow; empty if nothing does.
func (u setup) raises() string {
	given, err := json.Marshal(u.given)
	if err != nil {
		return "settings: what cannot be encoded"
	}
	for _, settings := range []json.RawMessage{given, u.settingsFile} {
		if name := raising("", gjson.ParseBytes(settings)); name != "" {
			return "settings: " + name
		}
	}
	agents, _ := u.opening["agents"].(json.RawMessage)
	if name := raising("", gjson.ParseBytes(agents)); name != "" {
		return "agents: " + name
	}
	return ""
}

func raising(key string, v gjson.Result) (name string) {
	switch {
	case strings.Contains(strings.ToLower(key), "dangerous"):
		return key
	case (strings.EqualFold(key, "defaultMode") || strings.EqualFold(key, "permissionMode")) && strings.EqualFold(v.Str, "bypassPermissions"):
		return key + ": bypassPermissions"
	case !v.IsObject() && !v.IsArray():
		return ""
	}
	v.ForEach(func(k, inner gjson.Result) bool {
		name = raising(k.Str, inner)
		return name == ""
	})
	return name
}

func setSystemPrompt(u *setup, v gjson.Result) bool {
	if v.Type == gjson.String {
		u.opening["systemPrompt"] = []string{v.Str}
		delete(u.opening, "appendSystemPrompt")
		return true
	}
	if v.IsObject() {
		delete(u.opening, "systemPrompt")
	}
	text := v.Get("append")
	if text.Exists() {
		u.opening["appendSystemPrompt"] = text.Str
	}
	if v.Get("excludeDynamicSections").Bool() {
		u.opening["excludeDynamicSections"] = true
	}
	return v.IsObject() && (!text.Exists() || text.Type == gjson.String)
}

func setAgents(u *setup, v gjson.Result) bool {
	u.opening["agents"] = json.RawMessage(v.Raw)
	return v.IsObject()
}
