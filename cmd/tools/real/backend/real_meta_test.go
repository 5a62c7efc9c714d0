//go:build unix

package backend_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

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
			e.Initialize(`{}`)
			opened := e.openWith(tc.meta)
			s := opened.Get("sessionId").Str
			e.Prompt(s, "PROMPT").Ends(acp.StopReasonEndTurn)
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
				e.Initialize(`{}`)
				s := e.openWith(options(given)).Get("sessionId").Str
				turn := e.Prompt(s, "go")
				if !trust {
					e.Next().Reply(map[string]any{"outcome": "selected", "optionId": "allow"})
				}
				turn.Ends(acp.StopReasonEndTurn)
				require.Equal(t, !trust, strings.Contains(e.Said(s), "--trust-editor"))
			})
		}
	}
}

// Sessions of a CLI with a folder of its own are found there.
func TestRealMetaConfigDir(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	api.Script(apitest.Say("one"), apitest.Say("two"))
	e := serve(t, backend.Options{Claude: realClaude(t), Env: apitest.Env(api, t.TempDir()), TrustEditor: true})
	e.Initialize(`{}`)
	config, dir := t.TempDir(), t.TempDir()
	meta := fmt.Sprintf(`"_meta":{"claudeCode":{"options":{"env":{"CLAUDE_CONFIG_DIR":%q}}}}`, config)
	s := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],%s}`, dir, meta)).Get("sessionId").Str
	e.Prompt(s, "hello").Ends(acp.StopReasonEndTurn)
	require.DirExists(t, filepath.Join(config, "projects"))
	e.Await(s, "its title", func(u gjson.Result) bool { return u.Get("title").Str != "" })
	e.Call(acp.AgentMethodSessionClose, fmt.Sprintf(`{"sessionId":%q}`, s))
	_, err := e.Try(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
	require.ErrorContains(t, err, "there is no session")
	e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[],%s}`, s, dir, meta))
	e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "two")
}
