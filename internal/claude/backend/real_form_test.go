package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
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

const logIn = `{"mode":"url","message":"Log in","url":"https://example.com/login?x=1","elicitationId":"e1"}`

// elicits runs a prompt in which the real CLI's model calls the tool of an MCP
// server that asks the user. File is what the server waits for.
func elicits(t *testing.T, caps, name, params, then string) (e *editor, s string, turn *turn, received func() string, file string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	e, api := real(t, apitest.Use(apitest.ToolUse("toolu_1", "mcp__shop__form", object{"params": params, "then": then})), apitest.Say("done"))
	e.initializeAs(name, caps)
	file = filepath.Join(t.TempDir(), "go")
	s = e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"shop","command":%q,"args":[],"env":[{"name":%q,"value":%q}]}]}`,
		t.TempDir(), self, mcpVariable, file)).Get("sessionId").Str
	turn = e.prompt(s, "hi")
	e.asked("shop: form").selects("allow")
	return e, s, turn, func() string { return told(t, api, "toolu_1").Text }, file
}

func TestRealFormOfAServer(t *testing.T) {
	t.Parallel()
	e, s, turn, received, _ := elicits(t, `{"elicitation":{"form":{}}}`, "any", signUp, "")
	r := e.asked("requestedSchema")
	require.Equal(t, acp.ClientMethodElicitationCreate, r.method)
	require.Equal(t, `The MCP server "shop" asks: Who are you?`, r.Get("message").Str)
	require.Equal(t, s, r.Get("sessionId").Str)
	require.JSONEq(t, gjson.Get(signUp, "requestedSchema").Raw, r.Get("requestedSchema").Raw, "as the server wrote it")
	require.Equal(t, []string{"name", "age", "mail", "news", "size", "days"}, keys(r.Get("requestedSchema.properties")))

	// The editor does not know the limits: the form comes again, and says why.
	r.answer <- object{"action": "accept", "content": object{"name": "X", "age": 44, "days": []string{"mo"}}}
	r = e.asked("expected a text with at least 2 characters")
	r.answer <- object{"action": "accept", "content": object{"name": "Bo", "age": 44, "days": []string{"tu", "mo"}, "mail": nil, "news": true, "extra": 1}}
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":44,"days":["tu","mo"],"news":true}}`, received())
	tool := e.tool(s, r.Get("toolCallId").Str)
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
	r := e.asked("MCP server shop: Name")
	require.Equal(t, "The MCP server \"shop\" asks: Who are you?\n\nName: as on your badge (a text with at least 2 characters)", r.Get("toolCall.content.0.content.text").Str)
	require.Equal(t, "shop", r.Get("_meta.acp-bridge.mcpServer").Str)
	require.Equal(t, "other", r.Get("toolCall.kind").Str)
	require.Equal(t, "Decline=Decline - do not answer the server|__other__=Other (type custom answer)", r.options())
	r.types("Bo")
	e.asked("age (a whole number from 1 to 150)").types("old")
	e.asked(`expected a whole number from 1 to 150, got \"old\"`).types("200")
	e.asked(`expected a whole number from 1 to 150, got 200`).types("44")
	e.asked("mail (an e-mail address)").selects("Skip")
	require.Equal(t, "Yes=Yes|No=No - default|Skip=Skip - leave this field empty|Decline=Decline - do not answer the server", e.picks("Newsletter", "No"))
	e.picks("size", "Large")
	require.NotContains(t, e.picks("days", "Tuesday"), "Skip", "it is required")
	e.picks("Done: Tuesday", "__done__")
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":44,"news":false,"size":"l","days":["tu"]}}`, received())
	require.Contains(t, e.tool(s, r.Get("toolCall.toolCallId").Str+":3")["content"], "MCP server shop: mail → (not answered)")
}

// picks answers a request and returns the options that it had.
func (e *editor) picks(text, id string) string {
	e.t.Helper()
	r := e.asked(text)
	r.selects(id)
	return r.options()
}

// And one that shows no options, in the conversation: numbers are values where
// a number is asked for.
func TestRealFormInTheConversation(t *testing.T) {
	t.Parallel()
	e, s, turn, received, _ := elicits(t, `{}`, "CodeCompanion.nvim", signUp, "")
	for _, words := range []string{"Bo", "2", "skip", "2", "large", "1,2"} {
		turn.ends(acp.StopReasonEndTurn)
		require.Contains(t, turn.resp.Get("_meta.acp-bridge.waitingFor").Str, "form-")
		turn = e.prompt(s, words)
	}
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":2,"news":false,"size":"l","days":["mo","tu"]}}`, received())
	require.Contains(t, e.said(s), `The MCP server "shop" asks: Who are you?`)
	require.Contains(t, e.said(s), "- Skip - leave this field empty")
	require.Contains(t, e.said(s), "done")
}

// What is no accept is one nowhere, and the turn goes on: the server's tool
// hears of it and nothing else does.
func TestRealFormRefused(t *testing.T) {
	t.Parallel()
	const one = `{"message":"Sure?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}`
	for name, tc := range map[string]struct {
		caps, client, want string
		act                func(e *editor, s string, t *turn) *turn
	}{
		"form, decline": {`{"elicitation":{"form":{}}}`, "any", "decline", func(e *editor, _ string, t *turn) *turn {
			e.asked("Sure?").answer <- object{"action": "decline"}
			return t
		}},
		"form, cancel": {`{"elicitation":{"form":{}}}`, "any", "cancel", func(e *editor, _ string, t *turn) *turn {
			e.asked("Sure?").answer <- object{"action": "cancel"}
			return t
		}},
		"form of wrong types, then dismissed": {`{"elicitation":{"form":{}}}`, "any", "cancel", func(e *editor, _ string, t *turn) *turn {
			e.asked("requestedSchema").answer <- object{"action": "accept", "content": object{"sure": "yes"}}
			e.asked("options").cancels()
			return t
		}},
		"permission, decline": {`{}`, "any", "decline", func(e *editor, _ string, t *turn) *turn {
			e.asked("Sure?").selects("Decline")
			return t
		}},
		"permission, dismissed": {`{}`, "any", "cancel", func(e *editor, _ string, t *turn) *turn {
			e.asked("Sure?").cancels()
			return t
		}},
		"message, decline": {`{}`, "CodeCompanion.nvim", "decline", func(e *editor, s string, t *turn) *turn {
			t.ends(acp.StopReasonEndTurn)
			return e.prompt(s, "decline")
		}},
		"message, cancel": {`{}`, "CodeCompanion.nvim", "cancel", func(e *editor, s string, t *turn) *turn {
			t.ends(acp.StopReasonEndTurn)
			return e.prompt(s, "cancel")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e, s, turn, received, _ := elicits(t, tc.caps, tc.client, one, "")
			tc.act(e, s, turn).ends(acp.StopReasonEndTurn)
			require.JSONEq(t, `{"action":"`+tc.want+`"}`, received())
			require.Contains(t, e.said(s), "done")
		})
	}
}

func TestRealAddressOfAServer(t *testing.T) {
	t.Parallel()
	e, _, turn, received, _ := elicits(t, `{"elicitation":{"url":{}}}`, "any", logIn, "complete")
	r := e.asked("https://example.com/login?x=1")
	require.Equal(t, "url", r.Get("mode").Str)
	require.Equal(t, "e1", r.Get("elicitationId").Str)
	require.Contains(t, r.Get("message").Str, "shop")
	r.answer <- object{"action": "accept"}
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept"}`, received())
	require.JSONEq(t, `{"elicitationId":"e1"}`, (<-e.completed).Raw)
}

// A tool that fails until the user has been somewhere is called again after.
func TestRealAddressThatIsRequired(t *testing.T) {
	t.Parallel()
	e, _, turn, received, file := elicits(t, `{}`, "any", logIn, "call again")
	e.asked("https://example.com/login?x=1").selects("Opened, go on")
	turn.ends(acp.StopReasonEndTurn)
	require.Contains(t, received(), file, "the result of the second call")
}

// Without elicitation.url the address is shown, and opened by nobody but the
// user.
func TestRealAddressAsARequest(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"Opened, go on": "accept", "Decline": "decline"} {
		e, _, turn, received, _ := elicits(t, `{"elicitation":{"form":{}}}`, "any", logIn, "")
		r := e.asked("MCP server shop")
		require.Equal(t, "The MCP server \"shop\" asks: Log in\n\nIt wants you to open this address in a browser:\nhttps://example.com/login?x=1\n(on the host example.com)", r.Get("toolCall.content.0.content.text").Str)
		require.Equal(t, "Opened, go on=Opened, go on|Decline=Decline", r.options())
		r.selects(id)
		turn.ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"action":"`+want+`"}`, received())
	}
}

// The server changes its mind, or ends, while its form is open.
func TestRealServerGivesUp(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"withdraw", "end"} {
		t.Run(then, func(t *testing.T) {
			e, s, turn, _, file := elicits(t, `{"elicitation":{"form":{}}}`, "any", signUp, then)
			r := e.asked("requestedSchema")
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			<-r.withdrawn
			if then == "withdraw" { // the tool itself never answers
				e.cancel(s)
				turn.ends(acp.StopReasonCancelled)
			} else {
				turn.ends(acp.StopReasonEndTurn)
			}
			require.Equal(t, "failed", e.tool(s, r.Get("toolCallId").Str)["status"])
		})
	}
}
