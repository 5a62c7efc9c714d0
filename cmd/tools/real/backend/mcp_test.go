//go:build unix

package backend_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
)

func TestRealMCPServer(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	e, api := real(t, apitest.Use(apitest.ToolUse("toolu_1", "mcp__echo__echo", object{"text": "hello"})), apitest.Say("done"))
	e.Initialize(`{}`)
	s := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"echo","command":%q,"args":[],"env":[{"name":%q,"value":"from the editor"}]}]}`,
		t.TempDir(), self, mcpVariable)).Get("sessionId").Str
	turn := e.Prompt(s, "hi")
	r := e.Asked("echo: echo")
	require.Contains(t, r.Options(), "Always allow mcp__echo__echo")
	r.Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, api, "toolu_1").Text, "hello from the editor")
}

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
