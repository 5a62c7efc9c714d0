package proxy

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// wire is how an agent was seen to show a call of the tool and to ask for
// permission: what comes before, and the tool call of the request. %s is the
// input.
var wire = map[string]struct{ shows, asks string }{
	"claude": {
		`{"_meta":{"claudeCode":{"toolName":"mcp__acp-bridge__ask_the_user"}},"toolCallId":"t9","sessionUpdate":"tool_call","name":"mcp__acp-bridge__ask_the_user","rawInput":{},"status":"pending","title":"mcp__acp-bridge__ask_the_user","kind":"other","content":[]}`,
		`{"toolCallId":"t9","name":"mcp__acp-bridge__ask_the_user","status":"pending","rawInput":%s,"title":"mcp__acp-bridge__ask_the_user","kind":"other","content":[],"_meta":{"claudeCode":{"toolName":"mcp__acp-bridge__ask_the_user","mcpServer":{"name":"acp-bridge","source":"dynamic"}}}}`,
	},
	"droid": {
		`{"sessionUpdate":"tool_call","toolCallId":"t9","title":"acp-bridge___ask_the_user","kind":"other","status":"pending","rawInput":%s}`,
		`{"toolCallId":"t9","title":"acp-bridge___ask_the_user","rawInput":%s}`,
	},
	"gemini": {
		``, // it shows nothing before
		`{"toolCallId":"mcp_acp-bridge_ask_the_user__t9","status":"pending","title":"ask_the_user (acp-bridge MCP Server)","content":[{"type":"content","content":{"type":"text","text":%q}}],"locations":[],"kind":"other"}`,
	},
	"goose": {
		`{"sessionUpdate":"tool_call","toolCallId":"t9","title":"acp-bridge: ask the user","rawInput":%s,"_meta":{"goose":{"toolCall":{"toolName":"acp-bridge__ask_the_user","extensionName":"acp-bridge"},"created":1}}}`,
		`{"toolCallId":"t9","kind":"other","status":"pending","title":"acp-bridge: ask the user","rawInput":%s}`,
	},
	"qwen": {
		`{"sessionUpdate":"tool_call","toolCallId":"t9","status":"pending","title":"ask_the_user (acp-bridge MCP Server)","content":[],"locations":[],"kind":"read","rawInput":{},"_meta":{"toolName":"mcp__acp-bridge__ask_the_user","provenance":"mcp","serverId":"acp-bridge","phase":"preparing"}}`,
		`{"toolCallId":"t9","status":"pending","title":"{…}","content":[{"type":"content","content":{"type":"text","text":"Review it."}}],"kind":"read","rawInput":%s,"_meta":{"toolName":"mcp__acp-bridge__ask_the_user"}}`,
	},
}

// shows sends an update of a tool call, and waits until the proxy has passed it on.
func (a *toolAgent) shows(session, update string) {
	a.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":` + update + `}}`)
	for id := gjson.Get(update, "toolCallId").Str; ; {
		if got := a.editor.until("session/update").Get("params"); got.Get("update.toolCallId").Str == id {
			require.Equal(a.T, session, got.Get("sessionId").Str)
			return
		}
	}
}

// permission asks for permission for a tool call, and returns the request.
func (a *toolAgent) permission(session, call string) string {
	line := `{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"` + session + `","options":[{"optionId":"always","kind":"allow_always"},{"optionId":"once","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}],"toolCall":` + call + `}}`
	a.agent.send(line)
	return line
}

func filled(shape, input string) string {
	if !strings.Contains(shape, "%") {
		return shape
	}
	return fmt.Sprintf(shape, input)
}

// Real agents: the permission for our own tool is not the user's business, the tool
// call is the question.
func TestRule8OwnToolIsAllowed(t *testing.T) {
	for name, w := range wire {
		t.Run(name, func(t *testing.T) {
			a := withToolFor(t, name)
			if w.shows != "" {
				a.shows("s1", filled(w.shows, toolQuestions))
			}
			call := filled(w.asks, toolQuestions)
			a.permission("s1", call)
			require.JSONEq(t, `{"jsonrpc":"2.0","id":5,"result":`+selected("once")+`}`, a.agent.next().Raw)
			got := a.use(nil)
			request := a.editor.until("session/request_permission")
			require.Equal(t, gjson.Get(call, "toolCallId").Str, request.Get("params.toolCall.toolCallId").Str)
			a.editor.result(request, selected("PostgreSQL"))
			require.Contains(t, <-got, "PostgreSQL")
		})
	}
}

// A model that waits on with its ticket may do so, if there is such a ticket.
func TestRule8OnlyATicketThatWaits(t *testing.T) {
	a := initialized(t, Options{Agent: shortLimit(profileNamed("droid"))}, noForms).open(t, "s1")
	ticket := ticketIn(t, <-a.use(nil))
	a.editor.until("session/request_permission")
	for input, allowed := range map[string]bool{
		`{"ticket":"` + ticket + `"}`:                            true,
		`{"questions":[],"ticket":"` + ticket + `"}`:             true,
		`{"ticket":"0123"}`:                                      false,
		`{"ticket":"` + ticket + `","command":"rm"}`:             false,
		strings.TrimSuffix(toolQuestions, "}") + `,"ticket":""}`: false,
	} {
		line := a.permission("s1", filled(wire["droid"].asks, input))
		if allowed {
			require.JSONEq(t, `{"jsonrpc":"2.0","id":5,"result":`+selected("once")+`}`, a.agent.next().Raw)
			continue
		}
		require.Equal(t, line, a.editor.until("session/request_permission").Raw)
	}
}

// Whatever looks like the tool is for the user: a part of a text is no name.
func TestRule8LookAlikesAreForTheUser(t *testing.T) {
	a := withToolFor(t, "droid")
	for _, call := range []string{
		`{"toolCallId":"t","title":"rm -rf acp-bridge___ask_the_user","rawInput":{"command":"rm -rf /"}}`,
		`{"toolCallId":"t","title":"acp-bridge___ask_the_user","rawInput":{"command":"rm","questions":[{"question":"a?","options":["x","y"]}]}}`,
		`{"toolCallId":"t","title":"acp-bridge___ask_the_user"}`,
		`{"toolCallId":"t","title":"bash","rawInput":` + toolQuestions + `}`,
		`{"toolCallId":"t","title":"acp-bridge___ask_the_user","rawInput":` + toolQuestions + `,"content":[{"type":"diff","path":"/x","newText":"y"}]}`,
		`{"toolCallId":"t","title":"acp-bridge___ask_the_user","kind":"execute","rawInput":` + toolQuestions + `}`,
		`{"toolCallId":"t","title":"acp-bridge___ask_the_user","kind":"delete","rawInput":` + toolQuestions + `}`,
		// Another server's tool, and another tool of ours.
		`{"toolCallId":"u","title":"evil___ask_the_user","rawInput":` + toolQuestions + `}`,
		`{"toolCallId":"u","title":"evil-acp-bridge___ask_the_user","rawInput":` + toolQuestions + `}`,
		`{"toolCallId":"u","title":"acp-bridge___ask_the_user_and_delete","rawInput":` + toolQuestions + `}`,
		`{"toolCallId":"u","title":"ask_the_user","rawInput":` + toolQuestions + `}`,
		`{"toolCallId":"ask_the_user","title":"delete","kind":"delete","_meta":{"tool":"ask_the_user"},"rawInput":{"ticket":"0123"}}`,
		`{"toolCallId":"u","title":"delete","_meta":{"toolName":"mcp__acp-bridge__ask_the_user"},"rawInput":` + toolQuestions + `}`,
		`{"toolCallId":"u","title":["acp-bridge___ask_the_user"],"rawInput":` + toolQuestions + `}`,
	} {
		require.Equal(t, a.permission("s1", call), a.editor.next().Raw)
	}
	line := a.permission("other", filled(wire["droid"].asks, toolQuestions))
	require.Equal(t, line, a.editor.next().Raw, "a session without the tool")
	t.Run("an agent that nobody knows", func(t *testing.T) {
		a := withToolFor(t, "")
		for _, w := range wire {
			require.Equal(t, a.permission("s1", filled(w.asks, toolQuestions)), a.editor.next().Raw)
		}
	})
	t.Run("a tool call that has ended", func(t *testing.T) {
		a := withToolFor(t, "goose")
		a.shows("s1", filled(wire["goose"].shows, toolQuestions))
		a.shows("s1", `{"sessionUpdate":"tool_call_update","toolCallId":"t9","status":"completed"}`)
		require.Equal(t, a.permission("s1", filled(wire["goose"].asks, toolQuestions)), a.editor.next().Raw)
	})
	t.Run("a server of the editor's own with our name", func(t *testing.T) {
		p := initialized(t, Options{Agent: profileNamed("gemini")}, noForms)
		p.editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[{"type":"http","name":"acp-bridge","url":"http://x/"},{"type":"http","name":"acp-bridge-2","url":"http://x/"}]}}`)
		require.Equal(t, "acp-bridge-3", p.agent.next().Get("params.mcpServers.2.name").Str)
	})
}

// Two sessions ask the same: each question is shown where it is asked, as the tool
// call that it is there, also after the other's turn.
func TestRule1SessionsWithTheSameWords(t *testing.T) {
	for _, agent := range []string{"droid", "gemini", "copilot"} {
		t.Run(agent, func(t *testing.T) {
			first := withToolFor(t, agent)
			second := first.proxied.open(t, "s2")
			first.shows("s1", `{"sessionUpdate":"tool_call","toolCallId":"t1","title":"`+titleOf(agent, 1)+`","kind":"other","status":"pending","rawInput":`+toolQuestions+`}`)
			second.shows("s2", `{"sessionUpdate":"tool_call","toolCallId":"t2","title":"`+titleOf(agent, 2)+`","kind":"other","status":"pending","rawInput":`+toolQuestions+`}`)
			got := second.use(nil)
			request := first.editor.until("session/request_permission")
			require.Equal(t, "s2", request.Get("params.sessionId").Str)
			require.NotEqual(t, "t1", request.Get("params.toolCall.toolCallId").Str)
			if agent != "gemini" { // it has the name in the id, too
				require.Equal(t, "t2", request.Get("params.toolCall.toolCallId").Str)
			}
			first.editor.result(request, selected("SQLite"))
			require.Contains(t, <-got, "SQLite")
		})
	}
}

func titleOf(agent string, n int) string {
	server := "acp-bridge"
	if n > 1 && profileNamed(agent).ServerNames {
		server = fmt.Sprintf("acp-bridge-%d", n)
	}
	switch agent {
	case "droid":
		return server + "___ask_the_user"
	case "gemini":
		return "ask_the_user (" + server + " MCP Server)"
	}
	return server + "-ask_the_user"
}

// OpenCode and Kilo call the tool of one session from another: the question
// belongs where the tool call is. Where that is not known, nobody is asked.
func TestToolOfAnotherSession(t *testing.T) {
	a := withToolFor(t, "opencode")
	a.proxied.open(t, "s2")
	shown := `{"sessionUpdate":"tool_call","toolCallId":"%s","title":"acp-bridge_ask_the_user","rawInput":` + toolQuestions + `}`
	a.shows("s2", fmt.Sprintf(shown, "t2"))
	got := a.use(nil)
	request := a.editor.until("session/request_permission")
	require.Equal(t, "s2", request.Get("params.sessionId").Str)
	require.Equal(t, "t2", request.Get("params.toolCall.toolCallId").Str)
	a.editor.result(request, selected("SQLite"))
	require.Contains(t, <-got, "SQLite")
	a.shows("s1", fmt.Sprintf(shown, "t3"))
	a.shows("s2", fmt.Sprintf(shown, "t4"))
	require.Contains(t, <-a.use(nil), errWhichSession.Error())
}

// Two calls at once in one session: nobody knows which tool call is which, so each
// is a question of its own, with its own answer.
func TestTwoCallsOfTheTool(t *testing.T) {
	a := withToolFor(t, "copilot")
	for _, id := range []string{"t1", "t2"} {
		a.shows("s1", `{"sessionUpdate":"tool_call","toolCallId":"`+id+`","title":"acp-bridge-ask_the_user","status":"pending","rawInput":`+toolQuestions+`}`)
	}
	answers := map[string]bool{}
	one := a.use(nil)
	request := a.editor.until("session/request_permission")
	two := a.use(nil)
	require.NotContains(t, []string{"t1", "t2"}, request.Get("params.toolCall.toolCallId").Str)
	a.editor.result(request, selected("SQLite"))
	answers[<-one] = true
	a.editor.result(a.editor.until("session/request_permission"), selected("PostgreSQL"))
	answers[<-two] = true
	require.Len(t, answers, 2)
}

// Rule 4: what waits with a ticket ends with its turn. An answer that was not
// fetched is no answer to the same words in a later one.
func TestRule4TicketsOfAnEarlierTurn(t *testing.T) {
	a := initialized(t, Options{Agent: shortLimit(profileNamed("goose"))}, noForms).open(t, "s1")
	prompt := a.turn("p1")
	text := <-a.use(sdk.Meta{"agent-tool-call-request-id": "t1"})
	ticket := ticketIn(t, text)
	a.editor.result(a.editor.until("session/request_permission"), selected("SQLite"))
	a.editor.until("session/update") // it says how it was answered
	a.agent.result(prompt, `{"stopReason":"end_turn"}`)
	require.Equal(t, "p1", a.editor.reply().Get("id").Str)
	a.turn("p2")
	require.NotContains(t, <-a.useWith(nil, `{"ticket":"`+ticket+`"}`), "SQLite")
	text = <-a.use(sdk.Meta{"agent-tool-call-request-id": "t2"})
	require.NotContains(t, text, "SQLite")
	require.NotEqual(t, ticket, ticketIn(t, text))
	a.editor.until("session/request_permission")
}

// turn begins one.
func (a *toolAgent) turn(id string) gjson.Result {
	a.prompt(id, "go")
	return a.agent.until("session/prompt")
}

// shortLimit is an agent that gives up at once.
func shortLimit(p Profile) Profile {
	p.ToolLimit = 1
	return p
}

func ticketIn(t *testing.T, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `"ticket": "`)
	require.True(t, ok, text)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// Where a name may be another server's, the user decides; and a title alone is not
// enough where the agent says more.
func TestRule8NamesThatMayBeAnother(t *testing.T) {
	for agent, call := range map[string]string{
		"copilot": `{"toolCallId":"t","title":"acp-bridge-ask_the_user","kind":"other","rawInput":` + toolQuestions + `}`, // or bridge-ask_the_user of acp
		"gemini":  `{"toolCallId":"run_shell_command__t","title":"ask_the_user (acp-bridge MCP Server)","kind":"other","rawInput":` + toolQuestions + `}`,
		"goose":   `{"toolCallId":"t","title":"acp-bridge: ask the user","kind":"other","rawInput":` + toolQuestions + `}`, // never shown
	} {
		t.Run(agent, func(t *testing.T) {
			a := withToolFor(t, agent)
			require.Equal(t, a.permission("s1", call), a.editor.next().Raw)
		})
	}
}

// A tool call is the question of one call over MCP, and of none in a later turn.
func TestToolCallIsTakenOnce(t *testing.T) {
	a := withToolFor(t, "copilot")
	show := func(id string) {
		a.shows("s1", `{"sessionUpdate":"tool_call","toolCallId":"`+id+`","title":"acp-bridge-ask_the_user","status":"pending","rawInput":`+toolQuestions+`}`)
	}
	asks := func() string {
		got := a.use(nil)
		request := a.editor.until("session/request_permission")
		a.editor.result(request, selected("SQLite"))
		require.Contains(t, <-got, "SQLite")
		return request.Get("params.toolCall.toolCallId").Str
	}
	prompt := a.turn("p1")
	show("t1")
	require.Equal(t, "t1", asks())
	show("t2") // and t1 has not ended
	require.Equal(t, "t2", asks())
	show("t3")
	a.agent.result(prompt, `{"stopReason":"end_turn"}`)
	for a.editor.reply().Get("id").Str != "p1" {
	}
	a.turn("p2")
	require.NotContains(t, []string{"t1", "t2", "t3"}, asks())
}
