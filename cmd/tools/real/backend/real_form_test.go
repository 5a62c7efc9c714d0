//go:build unix

package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// signUp has a field of each kind.
const signUp = `{"message":"Who are you?","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","title":"Name","description":"as on your badge","minLength":2},
	"age":{"type":"integer","minimum":1,"maximum":150},
	"mail":{"type":"string","format":"email"},
	"news":{"type":"boolean","title":"Newsletter","default":false},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}],"default":"l"},
	"days":{"type":"array","items":{"anyOf":[{"const":"mo","title":"Monday"},{"const":"tu","title":"Tuesday"}]},"minItems":1}},
	"required":["name","age","days"]}}`

// elicits runs a prompt in which the real CLI's model calls the tool of an MCP
// server that asks the user. File is what the server waits for.
func elicits(t *testing.T, caps, name, params, then string) (e *editor, s string, turn *acptest.Turn, received func() string, file string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	e, api := real(t, apitest.Use(apitest.ToolUse("toolu_1", "mcp__shop__form", object{"params": params, "then": then})), apitest.Say("done"))
	e.initializeAs(name, caps)
	file = filepath.Join(t.TempDir(), "go")
	s = e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"shop","command":%q,"args":[],"env":[{"name":%q,"value":%q}]}]}`,
		t.TempDir(), self, mcpVariable, file)).Get("sessionId").Str
	turn = e.Prompt(s, "hi")
	e.Asked("shop: form").Selects("allow")
	return e, s, turn, func() string { return told(t, api, "toolu_1").Text }, file
}

func TestRealFormOfAServer(t *testing.T) {
	t.Parallel()
	e, s, turn, received, _ := elicits(t, `{"elicitation":{"form":{}}}`, "any", signUp, "")
	r := e.Asked("requestedSchema")
	require.Equal(t, acp.ClientMethodElicitationCreate, r.Method)
	require.Equal(t, `The MCP server "shop" asks: Who are you?`, r.Get("message").Str)
	require.Equal(t, s, r.Get("sessionId").Str)
	require.JSONEq(t, gjson.Get(signUp, "requestedSchema").Raw, r.Get("requestedSchema").Raw, "as the server wrote it")
	require.Equal(t, []string{"name", "age", "mail", "news", "size", "days"}, keys(r.Get("requestedSchema.properties")))

	// The editor does not know the limits: the form comes again, and says why.
	r.Answer <- object{"action": "accept", "content": object{"name": "X", "age": 44, "days": []string{"mo"}}}
	r = e.Asked("expected a text with at least 2 characters")
	r.Answer <- object{"action": "accept", "content": object{"name": "Bo", "age": 44, "days": []string{"tu", "mo"}, "mail": nil, "news": true, "extra": 1}}
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":44,"days":["tu","mo"],"news":true}}`, received())
	tool := e.Tool(s, r.Get("toolCallId").Str)
	require.Equal(t, "completed", tool["status"])
	require.Equal(t, "form", tool["rung"])
	require.Contains(t, tool["content"], "MCP server shop: Newsletter → Yes")
}

func keys(v gjson.Result) (list []string) {
	v.ForEach(func(k, _ gjson.Result) bool {
		list = append(list, k.Str)
		return true
	})
	return list
}

// An editor without forms gets a request for each field.
func TestRealFormInRequests(t *testing.T) {
	t.Parallel()
	e, s, turn, received, _ := elicits(t, `{}`, "any", signUp, "")
	r := e.Asked("MCP server shop: Name")
	require.Equal(t, "The MCP server \"shop\" asks: Who are you?\n\nName: as on your badge (a text with at least 2 characters)", r.Get("toolCall.content.0.content.text").Str)
	require.Equal(t, "shop", r.Get("_meta.acp-bridge.mcpServer").Str)
	require.Equal(t, "other", r.Get("toolCall.kind").Str)
	require.Equal(t, "Decline=Decline - do not answer the server|__other__=Other (type custom answer)", r.Options())
	r.Types("Bo")
	e.Asked("age (a whole number from 1 to 150)").Types("old")
	e.Asked(`expected a whole number from 1 to 150, got \"old\"`).Types("200")
	e.Asked(`expected a whole number from 1 to 150, got 200`).Types("44")
	e.Asked("mail (an e-mail address)").Selects("Skip")
	require.Equal(t, "Yes=Yes|No=No - default|Skip=Skip - leave this field empty|Decline=Decline - do not answer the server", e.picks("Newsletter", "No"))
	e.picks("size", "Large")
	require.NotContains(t, e.picks("days", "Tuesday"), "Skip", "it is required")
	e.picks("Done: Tuesday", "__done__")
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":44,"news":false,"size":"l","days":["tu"]}}`, received())
	require.Contains(t, e.Tool(s, r.Get("toolCall.toolCallId").Str+":3")["content"], "MCP server shop: mail → (not answered)")
}

// And one that shows no options, in the conversation: numbers are values where
// a number is asked for.
func TestRealFormInTheConversation(t *testing.T) {
	t.Parallel()
	e, s, turn, received, _ := elicits(t, `{}`, "CodeCompanion.nvim", signUp, "")
	for _, words := range []string{"Bo", "2", "skip", "2", "large", "1,2"} {
		turn.Ends(acp.StopReasonEndTurn)
		require.Contains(t, turn.Resp.Get("_meta.acp-bridge.waitingFor").Str, "form-")
		turn = e.Prompt(s, words)
	}
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":2,"news":false,"size":"l","days":["mo","tu"]}}`, received())
	require.Contains(t, e.Said(s), `The MCP server "shop" asks: Who are you?`)
	require.Contains(t, e.Said(s), "- Skip - leave this field empty")
	require.Contains(t, e.Said(s), "done")
}

// What is no accept is one nowhere, and the turn goes on: the server's tool
// hears of it and nothing else does.
func TestRealFormRefused(t *testing.T) {
	t.Parallel()
	const one = `{"message":"Sure?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}`
	for name, tc := range map[string]struct {
		caps, client, want string
		act                func(e *editor, s string, t *acptest.Turn) *acptest.Turn
	}{
		"form, decline": {`{"elicitation":{"form":{}}}`, "any", "decline", func(e *editor, _ string, t *acptest.Turn) *acptest.Turn {
			e.Asked("Sure?").Answer <- object{"action": "decline"}
			return t
		}},
		"form, cancel": {`{"elicitation":{"form":{}}}`, "any", "cancel", func(e *editor, _ string, t *acptest.Turn) *acptest.Turn {
			e.Asked("Sure?").Answer <- object{"action": "cancel"}
			return t
		}},
		"form of wrong types, then dismissed": {`{"elicitation":{"form":{}}}`, "any", "cancel", func(e *editor, _ string, t *acptest.Turn) *acptest.Turn {
			e.Asked("requestedSchema").Answer <- object{"action": "accept", "content": object{"sure": "yes"}}
			e.Asked("options").Cancels()
			return t
		}},
		"permission, decline": {`{}`, "any", "decline", func(e *editor, _ string, t *acptest.Turn) *acptest.Turn {
			e.Asked("Sure?").Selects("Decline")
			return t
		}},
		"permission, dismissed": {`{}`, "any", "cancel", func(e *editor, _ string, t *acptest.Turn) *acptest.Turn {
			e.Asked("Sure?").Cancels()
			return t
		}},
		"message, decline": {`{}`, "CodeCompanion.nvim", "decline", func(e *editor, s string, t *acptest.Turn) *acptest.Turn {
			t.Ends(acp.StopReasonEndTurn)
			return e.Prompt(s, "decline")
		}},
		"message, cancel": {`{}`, "CodeCompanion.nvim", "cancel", func(e *editor, s string, t *acptest.Turn) *acptest.Turn {
			t.Ends(acp.StopReasonEndTurn)
			return e.Prompt(s, "cancel")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e, s, turn, received, _ := elicits(t, tc.caps, tc.client, one, "")
			tc.act(e, s, turn).Ends(acp.StopReasonEndTurn)
			require.JSONEq(t, `{"action":"`+tc.want+`"}`, received())
			require.Contains(t, e.Said(s), "done")
		})
	}
}

func TestRealAddressOfAServer(t *testing.T) {
	t.Parallel()
	e, _, turn, received, _ := elicits(t, `{"elicitation":{"url":{}}}`, "any", logIn, "complete")
	r := e.Asked("https://example.com/login?x=1")
	require.Equal(t, "url", r.Get("mode").Str)
	require.Equal(t, "e1", r.Get("elicitationId").Str)
	require.Contains(t, r.Get("message").Str, "shop")
	r.Answer <- object{"action": "accept"}
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept"}`, received())
	require.JSONEq(t, `{"elicitationId":"e1"}`, (<-e.Completed).Raw)
}

// A tool that fails until the user has been somewhere is called again after.
func TestRealAddressThatIsRequired(t *testing.T) {
	t.Parallel()
	e, _, turn, received, file := elicits(t, `{}`, "any", logIn, "call again")
	e.Asked("https://example.com/login?x=1").Selects("Opened, go on")
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, received(), file, "the result of the second call")
}

// Without elicitation.url the address is shown, and opened by nobody but the
// user.
func TestRealAddressAsARequest(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"Opened, go on": "accept", "Decline": "decline"} {
		e, _, turn, received, _ := elicits(t, `{"elicitation":{"form":{}}}`, "any", logIn, "")
		r := e.Asked("MCP server shop")
		require.Equal(t, "The MCP server \"shop\" asks: Log in\n\nIt wants you to open this address in a browser:\nhttps://example.com/login?x=1\n(on the host example.com)", r.Get("toolCall.content.0.content.text").Str)
		require.Equal(t, "Opened, go on=Opened, go on|Decline=Decline", r.Options())
		r.Selects(id)
		turn.Ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"action":"`+want+`"}`, received())
	}
}

// The server changes its mind, or ends, while its form is open.
func TestRealServerGivesUp(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"withdraw", "end"} {
		t.Run(then, func(t *testing.T) {
			e, s, turn, _, file := elicits(t, `{"elicitation":{"form":{}}}`, "any", signUp, then)
			r := e.Asked("requestedSchema")
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			<-r.Withdrawn
			if then == "withdraw" { // the tool itself never answers
				e.Cancel(s)
				turn.Ends(acp.StopReasonCancelled)
			} else {
				turn.Ends(acp.StopReasonEndTurn)
			}
			require.Equal(t, "failed", e.Tool(s, r.Get("toolCallId").Str)["status"])
		})
	}
}
