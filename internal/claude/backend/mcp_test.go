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

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

func TestMCPServersAreNotOnTheCommandLine(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // what others leave there is not ours
	e, cli := scripted(t, ct.Script{})
	e.Initialize(`{}`)
	e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"additionalDirectories":["/extra"],"mcpServers":[
		{"name":"a","command":"run","args":["x"],"env":[{"name":"K","value":"secret-1"}]},
		{"type":"http","name":"b","url":"http://127.0.0.1:1/","headers":[{"name":"Authorization","value":"secret-2"}]},
		{"type":"sse","name":"c","url":"http://127.0.0.1:1/","headers":[]}]}`, t.TempDir()))
	args := cli.Starts()[0].Args
	line := strings.Join(args, " ")
	require.NotContains(t, line, "secret")
	require.Contains(t, line, "--add-dir /extra")
	require.Contains(t, line, "--mcp-config")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "acp-bridge-mcp-*"))
	require.NoError(t, err)
	require.Empty(t, left, "the file is gone when the session is open")
}

func TestConfigOptions(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.SetMode("acceptEdits")}))
	e.Initialize(`{}`)
	resp := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	s := resp.Get("sessionId").Str
	require.Equal(t, "mode", resp.Get("configOptions.0.id").Str)
	require.Equal(t, "default", resp.Get("configOptions.0.currentValue").Str)
	require.Equal(t, "model", resp.Get("configOptions.1.id").Str)
	require.Equal(t, "default", resp.Get("configOptions.1.currentValue").Str)

	set := func(id, value string) gjson.Result {
		return e.Call(acp.AgentMethodSessionSetConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, s, id, value))
	}
	require.Equal(t, "haiku", set("model", "haiku").Get("configOptions.1.currentValue").Str)
	require.JSONEq(t, `{"subtype":"set_model","model":"haiku"}`, string(cli.Controls("set_model")[0]))
	require.Equal(t, "plan", set("mode", "plan").Get("configOptions.0.currentValue").Str)
	e.Await(s, "the mode as a mode", func(u gjson.Result) bool { return u.Get("currentModeId").Str == "plan" })
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"default"}`)
	e.Await(s, "the mode as an option", func(u gjson.Result) bool { return u.Get("configOptions.0.currentValue").Str == "default" })
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	e.Await(s, "the CLI's own change", func(u gjson.Result) bool { return u.Get("configOptions.0.currentValue").Str == "acceptEdits" })

	for params, want := range map[string]string{
		`{"sessionId":"` + s + `","configId":"colour","value":"red"}`: "unknown option",
		`{"sessionId":"` + s + `","configId":"model","value":"gpt"}`:  "unknown model",
		`{"sessionId":"` + s + `","configId":"mode","value":"yolo"}`:  "unknown mode",
		`{"sessionId":"` + s + `","configId":"mode","value":true}`:    "value",
		`{"sessionId":"nope","configId":"mode","value":"plan"}`:       "no session",
	} {
		_, err := e.Try(acp.AgentMethodSessionSetConfigOption, params)
		require.ErrorContains(t, err, want)
	}
}

// What was chosen stays chosen when the process has to be started again.
func TestConfigSurvivesTheProcess(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Die(1)}, steps{ct.Text("back")}))
	s := e.Ready()
	e.Call(acp.AgentMethodSessionSetConfigOption, `{"sessionId":"`+s+`","configId":"model","value":"haiku"}`)
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
	e.Prompt(s, "hi").Fails("status 1")
	e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
	line := strings.Join(cli.Starts()[1].Args, " ")
	require.Contains(t, line, "--permission-mode plan")
	require.Contains(t, line, "--model haiku")
}
