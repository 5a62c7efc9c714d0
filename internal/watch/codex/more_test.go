//go:build unix

package codex_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// What Codex 0.166.0 sends for tools of MCP servers, their forms, and models that want
// more permissions.
const (
	toolAsks = `{"method":"mcpServer/elicitation/request","id":%d,"params":{"threadId":"` + thread + `","turnId":"turn-1","serverName":"shop","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_description":"Buys something.","tool_params":{"what":%q},"tool_params_display":[{"name":"what","value":"shoes","display_name":"what"}]},"message":"Allow the shop MCP server to run tool \"buy\"?","requestedSchema":{"type":"object","properties":{}}}}`
	toolEnds = `{"method":"item/completed","params":{"item":{"type":"mcpToolCall","id":%q,"server":"shop","tool":"buy","status":%q,"arguments":{"what":%q},"error":%s},"threadId":"` + thread + `","turnId":"turn-1"}}`
	noError  = `null`
	saidNo   = `{"message":"user cancelled MCP tool call"}`

	formAsks  = `{"method":"mcpServer/elicitation/request","id":4,"params":{"threadId":"` + thread + `","turnId":null,"serverName":"shop","mode":"form","_meta":null,"message":"How is it to be?","requestedSchema":{"type":"object","properties":{"size":{"type":"string","enum":["small","large"]}},"required":["size"]}}}`
	wantsMore = `{"method":"item/permissions/requestApproval","id":7,"params":{"threadId":"` + thread + `","turnId":"turn-1","itemId":"call_more","environmentId":"local","startedAtMs":1,"cwd":"/src/app","reason":"I need the network","permissions":{"network":{"enabled":true},"fileSystem":null}}}`
)

func TestToolOfAnMCPServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pick, result, status, failure, receipt string }{
		{"Allow once", `{"action":"accept","content":{},"_meta":null}`, "completed", noError, "consumed"},
		{"Allow once", `{"action":"accept","content":{},"_meta":null}`, "failed", `{"message":"out of stock"}`, "consumed"},
		{"Allow once", `{"action":"accept","content":{},"_meta":null}`, "failed", saidNo, "undeliverable"}, // the terminal said no at the same moment
		{"Allow for this session", `{"action":"accept","content":{},"_meta":{"persist":"session"}}`, "completed", noError, "consumed"},
		{"Always allow", `{"action":"accept","content":{},"_meta":{"persist":"always"}}`, "completed", noError, "consumed"},
		{"Reject", `{"action":"cancel","content":null,"_meta":null}`, "failed", saidNo, "consumed"},
		{"Reject", `{"action":"cancel","content":null,"_meta":null}`, "completed", noError, "undeliverable"},
		{"", `{"action":"cancel","content":null,"_meta":null}`, "failed", saidNo, "consumed"},
	} {
		t.Run(c.pick+" "+c.status+" "+c.failure, func(t *testing.T) {
			s := working(t)
			r := s.asks(fmt.Sprintf(toolAsks, 1, "shoes"))
			require.Equal(t, "permission", r.Kind)
			require.Equal(t, "shop", r.Call.Server)
			require.Equal(t, "buy", r.Call.Name)
			require.Equal(t, []string{"allow_once", "allow_always", "allow_always", "reject_once"}, r.About.Picks)
			require.Contains(t, r.Detail, `"what": "shoes"`)
			s.Decide(r, c.pick, "")
			m := <-s.got
			require.EqualValues(t, 1, m.Get("id").Int())
			require.JSONEq(t, c.result, m.Get("result").Raw)
			s.resolved(1)
			s.say(fmt.Sprintf(toolEnds, "call_buy", c.status, "shoes", c.failure))
			s.Receipt(r, c.receipt)
		})
	}
}

// The request does not say which call it is for: what became of another one, and of one
// that is just like it, says nothing about an answer.
func TestToolCallsThatAreAlike(t *testing.T) {
	s := working(t)
	first := s.asks(fmt.Sprintf(toolAsks, 1, "shoes"))
	second := s.asks(fmt.Sprintf(toolAsks, 2, "shoes"))
	require.NotEqual(t, first.Key(), second.Key())
	s.Answer(first, watchtest.Picks("Reject"))
	require.EqualValues(t, 1, (<-s.got).Get("id").Int())
	s.resolved(1)
	s.Answer(second, watchtest.Picks("Allow once"))
	require.EqualValues(t, 2, (<-s.got).Get("id").Int())
	s.resolved(2)
	s.say(fmt.Sprintf(toolEnds, "call_other", "completed", "boots", noError))
	s.say(fmt.Sprintf(toolEnds, "call_two", "completed", "shoes", noError))
	s.say(fmt.Sprintf(toolEnds, "call_one", "failed", "shoes", saidNo))
	s.say(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":"turn-1","status":"completed"}}}`, thread))
	s.Receipt(first, "unknown")
	s.Receipt(second, "unknown")
}

// The card has the tool that is asked for, as the message says or as the one that was called
// with these arguments, however often.
func TestTheToolThatIsAskedFor(t *testing.T) {
	t.Parallel()
	const begins = `{"method":"item/started","params":{"item":{"type":"mcpToolCall","id":"call_%d","server":"shop","tool":%q,"status":"inProgress","arguments":{"what":%q}},"threadId":"` + thread + `","turnId":"turn-1"}}`
	unnamed := strings.ReplaceAll(toolAsks, `run tool \"buy\"?`, `run it?`)
	for name, c := range map[string]struct {
		tools, asks, is string
	}{
		"the message has the tool": {"look shoes,find shoes,buy shoes", toolAsks, "buy"},
		"nothing has the tool":     {"look shoes,find shoes,buy shoes", unnamed, "a tool"},
		"one tool was called":      {"look boots,buy shoes,buy shoes", unnamed, "buy"},
	} {
		t.Run(name, func(t *testing.T) {
			s := working(t)
			for i, call := range strings.Split(c.tools, ",") {
				tool, what, _ := strings.Cut(call, " ")
				s.say(fmt.Sprintf(begins, i, tool, what))
			}
			require.Equal(t, c.is, s.asks(fmt.Sprintf(c.asks, 1, "shoes")).Call.Name)
		})
	}
}

func TestFormOfAnMCPServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer convert.Answer
		result string
	}{
		"accept":  {answer: watchtest.Picks("large"), result: `{"action":"accept","content":{"size":"large"},"_meta":null}`},
		"decline": {answer: watchtest.Picks("Decline"), result: `{"action":"decline","content":null,"_meta":null}`},
		"cancel":  {result: `{"action":"cancel","content":null,"_meta":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := working(t)
			r := s.asks(formAsks)
			require.Equal(t, "form", r.Kind)
			require.Contains(t, r.Call.Questions[0].Text, `The MCP server "shop" asks: How is it to be?`)
			if name == "cancel" {
				s.Dismiss(r)
			} else {
				s.Answer(r, c.answer)
			}
			m := <-s.got
			require.EqualValues(t, 4, m.Get("id").Int())
			require.JSONEq(t, c.result, m.Get("result").Raw)
			s.resolved(4)
			s.Receipt(r, "unknown")
		})
	}
}

func TestMorePermissions(t *testing.T) {
	t.Parallel()
	const asked = `{"network":{"enabled":true}}`
	for pick, result := range map[string]string{
		"Allow for this turn":                          `{"permissions":` + asked + `,"scope":"turn"}`,
		"Allow for this turn, with strict auto review": `{"permissions":` + asked + `,"scope":"turn","strictAutoReview":true}`,
		"Allow for this session":                       `{"permissions":` + asked + `,"scope":"session"}`,
		"Reject":                                       `{"permissions":{},"scope":"turn"}`,
		"":                                             `{"permissions":{},"scope":"turn"}`,
	} {
		t.Run(pick, func(t *testing.T) {
			s := working(t)
			r := s.asks(wantsMore)
			require.Equal(t, "I need the network", r.Call.Questions[0].Text)
			require.Contains(t, r.Detail, `"enabled": true`)
			s.Decide(r, pick, "")
			m := <-s.got
			require.EqualValues(t, 7, m.Get("id").Int())
			require.JSONEq(t, result, m.Get("result").Raw)
			s.resolved(7)
			s.Receipt(r, "unknown") // nothing says whose answer it was
		})
	}
}

// What cannot be shown elsewhere, or is not known, is for the terminal alone.
func TestForTheTerminalAlone(t *testing.T) {
	s := working(t)
	elicits := func(id int, rest string) {
		s.say(fmt.Sprintf(`{"method":"mcpServer/elicitation/request","id":%d,"params":{"threadId":%q,"turnId":"turn-1","serverName":"shop",%s}}`, id, thread, rest))
	}
	elicits(10, `"mode":"openai/userVerification","_meta":null,"title":"It is you","description":"x","challenge":"y"`)
	elicits(11, `"mode":"openai/form","_meta":null,"message":"m","requestedSchema":{"type":"object","properties":{}}`)
	elicits(12, `"mode":"form","_meta":{"codex_approval_kind":"something_new"},"message":"m","requestedSchema":{"type":"object","properties":{}}`)
	elicits(13, `"mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call"},"message":"m","requestedSchema":{"type":"object","properties":{"why":{"type":"string"}}}`)
	elicits(14, `"mode":"form","_meta":null,"message":"m","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}`)
	elicits(15, `"mode":"form","_meta":null,"message":"m","requestedSchema":7`)
	s.say(fmt.Sprintf(`{"method":"item/permissions/requestApproval","id":16,"params":{"threadId":%q,"turnId":"turn-1","itemId":"call_none","permissions":{"network":null,"fileSystem":null}}}`, thread))
	require.Equal(t, "form", s.asks(formAsks).Kind, "the only one")
	require.Empty(t, s.got)
}

// A rule reads as what it is, and no two options read alike.
func TestRulesOfACommand(t *testing.T) {
	s := working(t)
	rule := func(words string) string {
		return `{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":` + words + `}}`
	}
	r := s.asks(fmt.Sprintf(`{"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":%q,"turnId":"turn-1","itemId":"call_run","command":"rm -rf x","availableDecisions":["accept",%s,%s,%s,"cancel"]}}`,
		thread, rule(`["rm","-rf","x"]`), rule(`["rm","-rf x"]`), rule(`["rm","-rf\u200b","x"]`)))
	var labels []string
	for _, o := range r.Call.Questions[0].Options {
		labels = append(labels, o.Label)
	}
	require.Equal(t, []string{"Allow once", "Always allow commands that start with rm -rf x", `Always allow commands that start with rm "-rf x"`, "Reject, and stop"}, labels)
	s.Answer(r, watchtest.Picks(labels[2]))
	require.JSONEq(t, `{"decision":`+rule(`["rm","-rf x"]`)+`}`, (<-s.got).Get("result").Raw)
}
