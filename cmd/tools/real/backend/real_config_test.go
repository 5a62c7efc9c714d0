//go:build unix

package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// values are the values of an option.
func values(o gjson.Result) string {
	var list []string
	for _, v := range o.Get("options.#.value").Array() {
		list = append(list, v.Str)
	}
	return strings.Join(list, " ")
}

func lastBody(api *apitest.Server) apitest.Request {
	main := api.Main()
	return main[len(main)-1]
}

func TestRealEffort(t *testing.T) {
	t.Parallel()
	e, api := real(t)
	e.Initialize(`{}`)
	opened := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	s := opened.Get("sessionId").Str
	effort := option(opened.Get("configOptions"), "effort")
	require.Equal(t, "thought_level", effort.Get("category").Str)
	require.Equal(t, "default", effort.Get("currentValue").Str)
	require.Equal(t, "default low medium high xhigh max", values(effort))
	say := func() apitest.Request {
		e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
		return lastBody(api)
	}
	own := say().Get("output_config.effort").Str
	require.Equal(t, "Default ("+own+")", e.shows(s, "effort", "default").Get("options.0.name").Str, "the level that is in force")

	require.Equal(t, "low", option(e.sets(s, "effort", `"low"`), "effort").Get("currentValue").Str)
	require.Equal(t, "low", say().Get("output_config.effort").Str)
	require.Equal(t, "max", option(e.sets(s, "effort", `"max"`), "effort").Get("currentValue").Str)
	require.Equal(t, "max", say().Get("output_config.effort").Str)

	require.Contains(t, e.refused(s, "effort", `"silly"`), "expected default, low, medium, high, xhigh, max")
	require.Contains(t, e.refused(s, "effort", `3`), "expected one of its values, got 3")
	require.Contains(t, e.refused(s, "colour", `"red"`), `unknown option "colour": expected mode, model, effort`)
	require.Contains(t, e.refused(s, "model", `"clippy"`), `unknown model "clippy": expected default, opus`)
	require.Contains(t, e.refused(s, "mode", `"clippy"`), `unknown mode "clippy": expected default, acceptEdits`)
	require.Equal(t, "max", say().Get("output_config.effort").Str, "what was refused changed nothing")

	require.Equal(t, "default", option(e.sets(s, "effort", `"default"`), "effort").Get("currentValue").Str)
	require.Equal(t, own, say().Get("output_config.effort").Str)
}

// The pick holds for a process that has to be started anew, and for another
// model that has the level.
func TestRealEffortSurvives(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Say("one"), apitest.Use(apitest.ToolUse("toolu_1", "Bash", object{"command": "kill -9 $PPID", "description": "die"})), apitest.Say("three"), apitest.Say("four"))
	s := e.Ready()
	e.sets(s, "effort", `"low"`)
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	turn := e.Prompt(s, "die")
	e.Next().Selects("allow")
	turn.Fails("Claude Code")
	e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "low", lastBody(api).Get("output_config.effort").Str)
	require.Equal(t, "low", option(e.sets(s, "model", `"sonnet"`), "effort").Get("currentValue").Str)
	e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "low", lastBody(api).Get("output_config.effort").Str)
	require.Contains(t, lastBody(api).Get("model").Str, "sonnet")
}

// What the user's settings, the environment and slash commands say is what the
// options show.
func TestRealOptionsShowWhatIsSet(t *testing.T) {
	t.Parallel()
	path := realClaude(t)
	api := apitest.New(t)
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".claude"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(`{"modelSettings":{"claude-haiku-5-5":{"effortLevel":"high"}}}`), 0o600))
	e := serve(t, backend.Options{Claude: path, Env: append(apitest.Env(api, home), "ANTHROPIC_MODEL=haiku")})
	e.Initialize(`{}`)
	opened := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	s := opened.Get("sessionId").Str
	e.shows(s, "model", "haiku")
	e.shows(s, "effort", "high")

	e.Prompt(s, "/model sonnet").Ends(acp.StopReasonEndTurn)
	e.shows(s, "model", "sonnet")
	e.Prompt(s, "/effort low").Ends(acp.StopReasonEndTurn)
	e.shows(s, "effort", "low")
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	require.Contains(t, lastBody(api).Get("model").Str, "sonnet")
	require.Equal(t, "low", lastBody(api).Get("output_config.effort").Str)
}

func TestRealFastMode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ caps, on, off, is, isNot string }{
		"as a choice": {`{}`, `"on"`, `"off"`, `"on"`, `"off"`},
		"as a toggle": {`{"session":{"configOptions":{"boolean":{}}}}`, `true`, `false`, `true`, `false`},
	} {
		t.Run(name, func(t *testing.T) {
			e, api := real(t)
			e.Initialize(tc.caps)
			opened := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
			s := opened.Get("sessionId").Str
			require.Equal(t, tc.isNot, option(opened.Get("configOptions"), "fast").Get("currentValue").Raw)
			e.shows(s, "ultracode", strings.Trim(tc.isNot, `"`))
			require.Equal(t, tc.is, option(e.sets(s, "fast", tc.on), "fast").Get("currentValue").Raw)
			e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
			require.Equal(t, "fast", lastBody(api).Get("speed").Str)
			require.Equal(t, tc.isNot, option(e.sets(s, "fast", tc.off), "fast").Get("currentValue").Raw)
			e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
			require.Empty(t, lastBody(api).Get("speed").Str)
			require.Contains(t, e.refused(s, "fast", `"perhaps"`), "expected on or off")

			require.Equal(t, tc.is, option(e.sets(s, "ultracode", tc.on), "ultracode").Get("currentValue").Raw)
			require.Equal(t, tc.is, option(e.sets(s, "effort", `"low"`), "ultracode").Get("currentValue").Raw, "another level does not end it")
			require.Equal(t, tc.isNot, option(e.sets(s, "ultracode", tc.off), "ultracode").Get("currentValue").Raw)

			options := e.sets(s, "model", `"haiku"`)
			require.False(t, option(options, "fast").Exists(), "this model has none")
			require.Contains(t, e.refused(s, "fast", tc.on), "no fast mode")
		})
	}
}
