package backend_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

const mcpVariable = "ACP_BRIDGE_TEST_MCP"

// playMCP is an MCP server on stdio. One tool repeats what it is told and a
// value of its environment; the other asks the user with a form, and its result
// is the reply that it got.
func playMCP() {
	lines := bufio.NewScanner(os.Stdin)
	var call gjson.Result // of the tool that waits for the user
	for lines.Scan() {
		m := gjson.Parse(lines.Text())
		if m.Get("id").Str == formID {
			say(object{"id": json.RawMessage(call.Get("id").Raw), "result": object{"content": []object{{"type": "text", "text": m.Get("result").Raw}}}})
			continue
		}
		var result any
		switch m.Get("method").Str {
		case "initialize":
			result = object{"protocolVersion": m.Get("params.protocolVersion").Str, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "echo", "version": "1"}}
		case "tools/list":
			result = object{"tools": []object{
				{"name": "echo", "description": "repeats", "inputSchema": object{"type": "object", "properties": object{"text": object{"type": "string"}}}},
				{"name": "form", "description": "asks", "inputSchema": object{"type": "object", "properties": object{"params": object{"type": "string"}, "then": object{"type": "string"}}}},
			}}
		case "tools/call":
			if arguments := m.Get("params.arguments"); m.Get("params.name").Str == "form" {
				again := call.Exists()
				call = m
				if arguments.Get("then").Str != "call again" {
					elicit(arguments)
					continue
				}
				if !again {
					say(object{"id": json.RawMessage(m.Get("id").Raw), "error": object{"code": urlRequired, "message": "go there first",
						"data": object{"elicitations": []json.RawMessage{json.RawMessage(arguments.Get("params").Str)}}}})
					continue
				}
			}
			text := m.Get("params.arguments.text").Str + " " + os.Getenv(mcpVariable)
			result = object{"content": []object{{"type": "text", "text": text}}}
		default:
			result = object{}
		}
		if id := m.Get("id"); id.Exists() {
			say(object{"id": json.RawMessage(id.Raw), "result": result})
		}
	}
	os.Exit(0)
}

const (
	formID = "form"
	// urlRequired is MCP's error of a tool for which the user has to go to an
	// address first.
	urlRequired = -32042
)

// elicit asks the user, and then does what it is told: withdraw it, end, or say
// that it knows the user has been where it was sent.
func elicit(arguments gjson.Result) {
	say(object{"id": formID, "method": "elicitation/create", "params": json.RawMessage(arguments.Get("params").Str)})
	switch file := os.Getenv(mcpVariable); arguments.Get("then").Str {
	case "withdraw":
		awaitFile(file)
		say(object{"method": "notifications/cancelled", "params": object{"requestId": formID, "reason": "changed my mind"}})
	case "end":
		awaitFile(file)
		os.Exit(1)
	case "complete":
		say(object{"method": "notifications/elicitation/complete", "params": object{"elicitationId": "e1"}})
	}
}

func say(message object) {
	message["jsonrpc"] = "2.0"
	b, _ := json.Marshal(message)
	fmt.Println(string(b))
}

// awaitFile waits until a file is there.
func awaitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRealMCPServer(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	e, api := real(t, apitest.Use(apitest.ToolUse("toolu_1", "mcp__echo__echo", object{"text": "hello"})), apitest.Say("done"))
	e.initialize(`{}`)
	s := e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"echo","command":%q,"args":[],"env":[{"name":%q,"value":"from the editor"}]}]}`,
		t.TempDir(), self, mcpVariable)).Get("sessionId").Str
	turn := e.prompt(s, "hi")
	r := e.asked("echo: echo")
	require.Contains(t, r.options(), "Always allow mcp__echo__echo")
	r.selects("allow")
	turn.ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, api, "toolu_1").Text, "hello from the editor")
}

func TestMCPServersAreNotOnTheCommandLine(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // what others leave there is not ours
	e, cli := scripted(t, ct.Script{})
	e.initialize(`{}`)
	e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"additionalDirectories":["/extra"],"mcpServers":[
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

func TestBadSetup(t *testing.T) {
	e, _ := scripted(t, ct.Script{})
	e.initialize(`{}`)
	for params, want := range map[string]string{
		`{"cwd":"/","additionalDirectories":["x"],"mcpServers":[]}`:                                                              "must be absolute paths",
		`{"cwd":"/","mcpServers":[{"name":"a","command":"x","args":[],"env":[]},{"name":"a","command":"y","args":[],"env":[]}]}`: "used twice",
	} {
		_, err := e.try(acp.AgentMethodSessionNew, params)
		require.ErrorContains(t, err, want)
	}
}

func TestConfigOptions(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.SetMode("acceptEdits")}))
	e.initialize(`{}`)
	resp := e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	s := resp.Get("sessionId").Str
	require.Equal(t, "mode", resp.Get("configOptions.0.id").Str)
	require.Equal(t, "default", resp.Get("configOptions.0.currentValue").Str)
	require.Equal(t, "model", resp.Get("configOptions.1.id").Str)
	require.Equal(t, "default", resp.Get("configOptions.1.currentValue").Str)

	set := func(id, value string) gjson.Result {
		return e.call(acp.AgentMethodSessionSetConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, s, id, value))
	}
	require.Equal(t, "haiku", set("model", "haiku").Get("configOptions.1.currentValue").Str)
	require.JSONEq(t, `{"subtype":"set_model","model":"haiku"}`, string(cli.Controls("set_model")[0]))
	require.Equal(t, "plan", set("mode", "plan").Get("configOptions.0.currentValue").Str)
	e.await(s, "the mode as a mode", func(u gjson.Result) bool { return u.Get("currentModeId").Str == "plan" })
	e.call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"default"}`)
	e.await(s, "the mode as an option", func(u gjson.Result) bool { return u.Get("configOptions.0.currentValue").Str == "default" })
	e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
	e.await(s, "the CLI's own change", func(u gjson.Result) bool { return u.Get("configOptions.0.currentValue").Str == "acceptEdits" })

	for params, want := range map[string]string{
		`{"sessionId":"` + s + `","configId":"colour","value":"red"}`: "unknown option",
		`{"sessionId":"` + s + `","configId":"model","value":"gpt"}`:  "unknown model",
		`{"sessionId":"` + s + `","configId":"mode","value":"yolo"}`:  "unknown mode",
		`{"sessionId":"` + s + `","configId":"mode","value":true}`:    "value",
		`{"sessionId":"nope","configId":"mode","value":"plan"}`:       "no session",
	} {
		_, err := e.try(acp.AgentMethodSessionSetConfigOption, params)
		require.ErrorContains(t, err, want)
	}
}

// What was chosen stays chosen when the process has to be started again.
func TestConfigSurvivesTheProcess(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Die(1)}, steps{ct.Text("back")}))
	s := e.ready()
	e.call(acp.AgentMethodSessionSetConfigOption, `{"sessionId":"`+s+`","configId":"model","value":"haiku"}`)
	e.call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
	e.prompt(s, "hi").fails("status 1")
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	line := strings.Join(cli.Starts()[1].Args, " ")
	require.Contains(t, line, "--permission-mode plan")
	require.Contains(t, line, "--model haiku")
}
