package backend_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// openWith opens a session with a _meta.
func (e *editor) openWith(meta object) gjson.Result {
	e.t.Helper()
	raw, err := json.Marshal(meta)
	require.NoError(e.t, err)
	return e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, e.t.TempDir(), raw))
}

func options(entries object) object { return object{"claudeCode": object{"options": entries}} }

// What the real CLI sends to the model, for each _meta.
func TestRealMeta(t *testing.T) {
	agents := object{"pirate": object{"description": "talks like one", "prompt": "ARRR you are a pirate"}}
	other := t.TempDir()
	for name, tc := range map[string]struct {
		meta  object
		check func(t *testing.T, body apitest.Request)
	}{
		"nothing": {object{}, func(t *testing.T, body apitest.Request) {
			require.Contains(t, body.Get("system").Raw, "Claude Code")
			require.True(t, slices.Contains(body.Tools(), "Bash"))
		}},
		"a system prompt": {object{"systemPrompt": "You are a PARROT."}, func(t *testing.T, body apitest.Request) {
			require.Contains(t, body.Get("system").Raw, "You are a PARROT.")
			require.NotContains(t, body.Get("system").Raw, "interactive")
		}},
		"more system prompt": {object{"systemPrompt": object{"append": "Mind the PARROT."}}, func(t *testing.T, body apitest.Request) {
			require.Contains(t, body.Get("system").Raw, "Mind the PARROT.")
			require.Greater(t, len(body.Get("system").Raw), 2000, "behind Claude Code's own")
		}},
		"the same as an option": {options(object{"systemPrompt": object{"type": "preset", "preset": "claude_code", "append": "Mind the PARROT."}}), func(t *testing.T, body apitest.Request) {
			require.Contains(t, body.Get("system").Raw, "Mind the PARROT.")
		}},
		"no tools": {object{"disableBuiltInTools": true}, func(t *testing.T, body apitest.Request) { require.Empty(t, body.Tools()) }},
		"tools": {options(object{"tools": []string{"Read", "Bash"}}), func(t *testing.T, body apitest.Request) {
			require.Subset(t, []string{"Bash", "DeferredToolPlaceholder", "Read"}, body.Tools())
		}},
		"tools, as a preset": {options(object{"tools": object{"type": "preset", "preset": "claude_code"}}), func(t *testing.T, body apitest.Request) { require.Contains(t, body.Tools(), "Edit") }},
		"tools that are not": {options(object{"disallowedTools": []string{"Bash", "WebFetch"}}), func(t *testing.T, body apitest.Request) { require.NotContains(t, body.Tools(), "Bash") }},
		"a model":            {options(object{"model": "haiku"}), func(t *testing.T, body apitest.Request) { require.Contains(t, body.Get("model").Str, "haiku") }},
		"an effort": {options(object{"effort": "max"}), func(t *testing.T, body apitest.Request) {
			require.Equal(t, "max", body.Get("output_config.effort").Str)
		}},
		"an effort of no model": {options(object{"effort": "silly"}), func(t *testing.T, body apitest.Request) {
			require.NotEqual(t, "silly", body.Get("output_config.effort").Str)
		}},
		"an environment":         {options(object{"env": object{"ANTHROPIC_MODEL": "haiku"}}), func(t *testing.T, body apitest.Request) { require.Contains(t, body.Get("model").Str, "haiku") }},
		"an agent of the editor": {options(object{"agents": agents, "agent": "pirate"}), func(t *testing.T, body apitest.Request) { require.True(t, body.Contains("ARRR")) }},
		"settings":               {options(object{"settings": object{"outputStyle": "Learning"}}), func(t *testing.T, body apitest.Request) { require.True(t, body.Contains("Learning")) }},
		"a folder":               {options(object{"additionalDirectories": []string{other}}), func(t *testing.T, body apitest.Request) { require.True(t, body.Contains(filepath.Base(other)), other) }},
		"a folder, the old way":  {object{"additionalRoots": []string{other}}, func(t *testing.T, body apitest.Request) { require.True(t, body.Contains(filepath.Base(other)), other) }},
		"what there is no flag":  {options(object{"hooks": object{}, "includePartialMessages": false, "extraArgs": object{"dangerously-skip-permissions": nil}}), func(*testing.T, apitest.Request) {}},
		"what others have set":   {object{"somebody": object{"else": 1}}, func(*testing.T, apitest.Request) {}},
		"a value like a flag":    {options(object{"fallbackModel": "--dangerously-skip-permissions"}), func(*testing.T, apitest.Request) {}},
		"several, and null ones": {options(object{"betas": []string{}, "maxTurns": 9, "maxThinkingTokens": 2000, "maxBudgetUsd": 1.5, "strictMcpConfig": true, "settingSources": []string{"user"}, "allowedTools": []string{"Read"}, "agent": nil}), func(*testing.T, apitest.Request) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, api := real(t)
			e.initialize(`{}`)
			opened := e.openWith(tc.meta)
			s := opened.Get("sessionId").Str
			e.prompt(s, "PROMPT").ends(acp.StopReasonEndTurn)
			var said apitest.Request
			for _, r := range api.Requests() { // without tools it is not one of Main
				if strings.Contains(r.LastUser().Raw, "PROMPT") && (r.Main || said.Body == nil) {
					said = r
				}
			}
			tc.check(t, said)
			for _, m := range opened.Get("modes.availableModes.#.id").Array() {
				require.NotEqual(t, "bypassPermissions", m.Str, "only the user can allow that")
			}
		})
	}
}

// However an editor allows a command, the user is asked, unless they trust it.
func TestRealEditorIsNotTrusted(t *testing.T) {
	path := realClaude(t)
	const hook = `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`
	for name, given := range map[string]object{
		"a list":  {"allowedTools": []string{"Bash"}},
		"a rule":  {"settings": object{"permissions": object{"allow": []string{"Bash"}}}},
		"in text": {"settings": `{"permissions":{"allow":["Bash"]}}`},
		"a hook":  {"settings": object{"hooks": object{"PreToolUse": []object{{"matcher": "Bash", "hooks": []object{{"type": "command", "command": hook}}}}}}},
	} {
		for _, trust := range []bool{false, true} {
			t.Run(fmt.Sprint(name, trust), func(t *testing.T) {
				t.Parallel()
				api := apitest.New(t)
				api.Script(apitest.Use(apitest.ToolUse("toolu_1", "Bash", object{"command": "touch made", "description": "make it"})), apitest.Say("done"))
				e := serve(t, backend.Options{Claude: path, Env: apitest.Env(api, t.TempDir()), TrustEditor: trust})
				e.initialize(`{}`)
				s := e.openWith(options(given)).Get("sessionId").Str
				turn := e.prompt(s, "go")
				if !trust {
					e.next().reply(map[string]any{"outcome": "selected", "optionId": "allow"})
				}
				turn.ends(acp.StopReasonEndTurn)
				require.Equal(t, !trust, strings.Contains(e.said(s), "--trust-editor"))
			})
		}
	}
}

// What cannot be taken is refused, with what would be; no process is started.
func TestMetaRefused(t *testing.T) {
	e, cli := scripted(t, turns())
	e.initialize(`{}`)
	for _, tc := range []struct{ meta, want string }{
		{`{"systemPrompt":3}`, "_meta.systemPrompt: expected a string, or an object with append"},
		{`{"systemPrompt":{"append":3}}`, "_meta.systemPrompt: expected"},
		{`{"additionalRoots":"/"}`, "_meta.additionalRoots: expected a list of paths"},
		{`{"claudeCode":3}`, "_meta.claudeCode: expected an object"},
		{`{"claudeCode":{"options":["model"]}}`, "_meta.claudeCode.options: expected an object"},
		{`{"disableBuiltInTools":"yes"}`, "_meta.disableBuiltInTools: expected true or false"},
		{`{"claudeCode":{"options":{"model":1}}}`, "options.model: expected a string"},
		{`{"claudeCode":{"options":{"allowedTools":"Bash"}}}`, "options.allowedTools: expected a list of strings"},
		{`{"claudeCode":{"options":{"allowedTools":["a\u0000b"]}}}`, "options.allowedTools: expected a list of strings"},
		{`{"claudeCode":{"options":{"maxTurns":-1}}}`, "options.maxTurns: expected a number, 0 or more"},
		{`{"claudeCode":{"options":{"env":{"A":1}}}}`, "options.env: expected an object of strings"},
		{`{"claudeCode":{"options":{"env":{"A=B":"c"}}}}`, "options.env: expected an object of strings"},
		{`{"claudeCode":{"options":{"env":["SECRET=hush"]}}}`, "options.env: expected an object of strings"},
		{`{"claudeCode":{"options":{"mcpServers":{"a":"b"}}}}`, "options.mcpServers: expected an object of servers"},
		{`{"claudeCode":{"options":{"plugins":[{"type":"remote","path":"x"}]}}}`, "options.plugins: expected a list"},
		{`{"claudeCode":{"options":{"settings":[]}}}`, "options.settings: expected an object, JSON, or the path of a file with it"},
		{`{"claudeCode":{"options":{"agents":[]}}}`, "options.agents: expected an object"},
		{`{"claudeCode":{"options":{"strictMcpConfig":"yes"}}}`, "options.strictMcpConfig: expected true or false"},
		{`{"claudeCode":{"options":{"agent":""}}}`, "options.agent: expected a string"},
		{`{"claudeCode":{"options":{"additionalDirectories":["here"]}}}`, "additional directories must be absolute paths"},
	} {
		for _, method := range []string{acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume} {
			_, err := e.try(method, fmt.Sprintf(`{"sessionId":"x","cwd":%q,"mcpServers":[],"_meta":%s}`, t.TempDir(), tc.meta))
			if method != acp.AgentMethodSessionNew && tc.want == "additional directories must be absolute paths" {
				continue // there is no such session, which comes first
			}
			var re *acp.RequestError
			require.ErrorAs(t, err, &re, tc.meta)
			require.Equal(t, -32602, re.Code)
			require.Contains(t, re.Message, tc.want)
			require.NotContains(t, re.Message, "hush")
		}
	}
	require.Empty(t, cli.Starts())
}

// null is nothing, wherever it stands.
func TestMetaOfNulls(t *testing.T) {
	e, _ := scripted(t, turns())
	e.initialize(`{}`)
	for _, meta := range []string{
		`{"systemPrompt":null,"additionalRoots":null,"disableBuiltInTools":null,"claudeCode":null}`,
		`{"claudeCode":{"options":null}}`, `{"claudeCode":{"options":{"model":null}}}`,
	} {
		e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, t.TempDir(), meta))
	}
}

// Secrets that an editor gives are not on the command line.
func TestMetaHidesSecrets(t *testing.T) {
	e, cli := scripted(t, turns())
	e.initialize(`{}`)
	e.openWith(object{"systemPrompt": "hush-1", "claudeCode": object{"options": object{
		"env": object{"A_TOKEN": "hush-2"}, "settings": object{"env": object{"B": "hush-3"}}, "agents": object{"a": object{"prompt": "hush-5"}},
		"mcpServers": object{"docs": object{"type": "http", "url": "http://127.0.0.1:1", "headers": object{"Authorization": "hush-4"}}},
	}}})
	require.Contains(t, cli.Starts()[0].Args, "--mcp-config")
	require.NotContains(t, strings.Join(cli.Starts()[0].Args, " "), "hush-")
}

// Sessions of a CLI with a folder of its own are found there.
func TestRealMetaConfigDir(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	api.Script(apitest.Say("one"), apitest.Say("two"))
	e := serve(t, backend.Options{Claude: realClaude(t), Env: apitest.Env(api, t.TempDir()), TrustEditor: true})
	e.initialize(`{}`)
	config, dir := t.TempDir(), t.TempDir()
	meta := fmt.Sprintf(`"_meta":{"claudeCode":{"options":{"env":{"CLAUDE_CONFIG_DIR":%q}}}}`, config)
	s := e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],%s}`, dir, meta)).Get("sessionId").Str
	e.prompt(s, "hello").ends(acp.StopReasonEndTurn)
	require.DirExists(t, filepath.Join(config, "projects"))
	e.await(s, "its title", func(u gjson.Result) bool { return u.Get("title").Str != "" })
	e.call(acp.AgentMethodSessionClose, fmt.Sprintf(`{"sessionId":%q}`, s))
	_, err := e.try(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
	require.ErrorContains(t, err, "there is no session")
	e.call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[],%s}`, s, dir, meta))
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	require.Contains(t, e.said(s), "two")
}
