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

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// option finds an option in a list of them.
func option(list gjson.Result, id string) gjson.Result {
	return list.Get(`#(id=="` + id + `")`)
}

// values are the values of an option.
func values(o gjson.Result) string {
	var list []string
	for _, v := range o.Get("options.#.value").Array() {
		list = append(list, v.Str)
	}
	return strings.Join(list, " ")
}

// sets changes an option and returns all of them.
func (e *editor) sets(session, id, value string) gjson.Result {
	e.t.Helper()
	return e.call(acp.AgentMethodSessionSetConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%s}`, session, id, value)).Get("configOptions")
}

// refused is the error of a change that is not made.
func (e *editor) refused(session, id, value string) string {
	e.t.Helper()
	_, err := e.try(acp.AgentMethodSessionSetConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%s}`, session, id, value))
	var re *acp.RequestError
	require.ErrorAs(e.t, err, &re)
	require.Equal(e.t, -32602, re.Code)
	return re.Message
}

// shows waits until the options have a value that the CLI told of.
func (e *editor) shows(session, id, value string) gjson.Result {
	e.t.Helper()
	var found gjson.Result
	e.await(session, id+" "+value, func(u gjson.Result) bool {
		found = option(u.Get("configOptions"), id)
		return found.Get("currentValue").Exists() && found.Get("currentValue").String() == value
	})
	return found
}

func lastBody(api *apitest.Server) apitest.Request {
	main := api.Main()
	return main[len(main)-1]
}

func TestRealEffort(t *testing.T) {
	t.Parallel()
	e, api := real(t)
	e.initialize(`{}`)
	opened := e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	s := opened.Get("sessionId").Str
	effort := option(opened.Get("configOptions"), "effort")
	require.Equal(t, "thought_level", effort.Get("category").Str)
	require.Equal(t, "default", effort.Get("currentValue").Str)
	require.Equal(t, "default low medium high xhigh max", values(effort))
	say := func() apitest.Request {
		e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
		return lastBody(api)
	}
	own := say().Get("output_config.effort").Str
	require.Equal(t, "Default ("+own+")", e.shows(s, "effort", "default").Get("options.0.name").Str, "the level that is in force")

	require.Equal(t, "low", option(e.sets(s, "effort", `"low"`), "effort").Get("currentValue").Str)
	require.Equal(t, "low", say().Get("output_config.effort").Str)
	require.Equal(t, "max", option(e.sets(s, "effort", `"max"`), "effort").Get("currentValue").Str)
	require.Equal(t, "max", say().Get("output_config.effort").Str)

	require.Contains(t, e.refused(s, "effort", `"silly"`), "expected default or low, medium, high, xhigh, max")
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
	s := e.ready()
	e.sets(s, "effort", `"low"`)
	e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
	turn := e.prompt(s, "die")
	e.next().selects("allow")
	turn.fails("Claude Code")
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	require.Equal(t, "low", lastBody(api).Get("output_config.effort").Str)
	require.Equal(t, "low", option(e.sets(s, "model", `"sonnet"`), "effort").Get("currentValue").Str)
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
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
	e.initialize(`{}`)
	opened := e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	s := opened.Get("sessionId").Str
	e.shows(s, "model", "haiku")
	e.shows(s, "effort", "high")

	e.prompt(s, "/model sonnet").ends(acp.StopReasonEndTurn)
	e.shows(s, "model", "sonnet")
	e.prompt(s, "/effort low").ends(acp.StopReasonEndTurn)
	e.shows(s, "effort", "low")
	e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
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
			e.initialize(tc.caps)
			opened := e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
			s := opened.Get("sessionId").Str
			require.Equal(t, tc.isNot, option(opened.Get("configOptions"), "fast").Get("currentValue").Raw)
			e.shows(s, "ultracode", strings.Trim(tc.isNot, `"`))
			require.Equal(t, tc.is, option(e.sets(s, "fast", tc.on), "fast").Get("currentValue").Raw)
			e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
			require.Equal(t, "fast", lastBody(api).Get("speed").Str)
			require.Equal(t, tc.isNot, option(e.sets(s, "fast", tc.off), "fast").Get("currentValue").Raw)
			e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
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
