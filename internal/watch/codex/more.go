package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// grantsOf are the terminal's answers to a model that asks for more permissions: all
// that it asks for, or none.
func grantsOf(asked gjson.Result) []decision {
	var members []string
	asked.ForEach(func(k, v gjson.Result) bool {
		if v.Type != gjson.Null {
			members = append(members, k.Raw+":"+v.Raw)
		}
		return true
	})
	if len(members) == 0 {
		return nil
	}
	all := `{"permissions":{` + strings.Join(members, ",") + `},"scope":`
	return []decision{
		{"Allow for this turn", "", "allow_once", all + `"turn"}`, "", true},
		{"Allow for this turn, with strict auto review", "Codex reviews each command of the turn", "allow_once", all + `"turn","strictAutoReview":true}`, "", true},
		{"Allow for this session", "", "allow_always", all + `"session"}`, "", true},
		{"Reject", "the turn goes on without them", "reject_once", `{"permissions":{},"scope":"turn"}`, "decline", false},
	}
}

// elicited is what an MCP server asks, or Codex on behalf of one: whether its tool may run.
func (r *run) elicited(id string, p gjson.Result) (it desk.Item, item string, answer answering) {
	switch kind := p.Get("_meta.codex_approval_kind"); {
	case kind.Str == "mcp_tool_call" && p.Get("mode").Str == "form" && len(p.Get("requestedSchema.properties").Map()) == 0:
		return r.toolOf(id, p)
	case kind.Exists():
		return it, "", nil
	}
	mode := p.Get("mode").Str
	if mode != "form" && mode != "url" {
		return it, "", nil
	}
	form, err := ask.ServerForm{
		Server: p.Get("serverName").Str, Message: p.Get("message").Str, Mode: mode, Schema: json.RawMessage(p.Get("requestedSchema").Raw),
		URL: p.Get("url").Str, ElicitationID: p.Get("elicitationId").Str,
	}.Call()
	if err != nil || form.Secret() {
		return it, "", nil
	}
	it = desk.Item{Kind: desk.Form, Call: form.Call, Check: form.Fits}
	return it, "", func(ctx context.Context, o *opened, outcome convert.Outcome) error {
		reply, err := form.Reply(outcome)
		if err != nil {
			return err
		}
		if !r.mark(o, true) {
			return watch.ErrLate
		}
		if err := r.client.send(ctx, json.RawMessage(`{"id":`+id+`,"result":`+elicitationResult(reply)+`}`)); err != nil {
			return err
		}
		return watch.ErrUnsure // Codex does not say how it was resolved
	}
}

// elicitationResult is a reply to a form as Codex has it: nothing is left out.
func elicitationResult(reply json.RawMessage) string {
	return `{"action":` + gjson.GetBytes(reply, "action").Raw + `,"content":` + cmp.Or(gjson.GetBytes(reply, "content").Raw, "null") + `,"_meta":null}`
}

// toolOf asks whether a tool of an MCP server may run. Codex asks that in a form without
// fields.
func (r *run) toolOf(id string, p gjson.Result) (it desk.Item, item string, answer answering) {
	meta := p.Get("_meta")
	accept := func(meta string) string { return `{"action":"accept","content":{},"_meta":` + meta + `}` }
	decisions := []decision{{"Allow once", "", "allow_once", accept("null"), "", true}}
	for _, persist := range meta.Get("persist").Array() {
		switch persist.Str {
		case "session":
			decisions = append(decisions, decision{"Allow for this session", "", "allow_always", accept(`{"persist":"session"}`), "", true})
		case "always":
			decisions = append(decisions, decision{"Always allow", "also in later sessions", "allow_always", accept(`{"persist":"always"}`), "", true})
		}
	}
	decisions = append(decisions, decision{"Reject", "the tool does not run", "reject_once", `{"action":"cancel","content":null,"_meta":null}`, "cancel", false})
	input := meta.Get("tool_params").Raw
	if !meta.Get("tool_params").IsObject() {
		input = "{}"
	}
	it, answer = r.permission(id, json.RawMessage(input), decisions)
	it.Call.Server = clean.Line(p.Get("serverName").Str)
	it.Call.Questions[0].Text = cmp.Or(clean.Line(p.Get("message").Str), "use a tool of "+it.Call.Server)
	it.Call.Name = clean.Line(r.toolName(p, input))
	return it, mcpCall(p.Get("serverName").Str, input), answer
}

// mcpCall names a tool call of an MCP server by what it does: the request for its
// permission does not say which it is.
func mcpCall(server, arguments string) string {
	return "mcp " + server + " " + string(clean.JSON(gjson.Parse(arguments).Value()))
}

var toolInMessage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` tool "([^"]+)"\?$`) })

// toolName is the tool's, as the message says: of two calls with the same arguments that
// were seen nobody knows which is asked for.
func (r *run) toolName(p gjson.Result, input string) string {
	if found := toolInMessage().FindStringSubmatch(p.Get("message").Str); found != nil {
		return found[1]
	}
	call, name := mcpCall(p.Get("serverName").Str, input), ""
	for at, it := range r.items {
		if strings.HasPrefix(at, p.Get("threadId").Str+" ") && itemName(it) == call {
			if name != "" && name != it.Get("tool").Str {
				return "a tool"
			}
			name = it.Get("tool").Str
		}
	}
	return cmp.Or(name, "a tool")
}

// itemName is how a request for permission names an item.
func itemName(item gjson.Result) string {
	if item.Get("type").Str == "mcpToolCall" {
		return mcpCall(item.Get("server").Str, item.Get("arguments").Raw)
	}
	return item.Get("id").Str
}

// wasDeclined reports whether a person said no to a tool call that has ended.
func wasDeclined(item gjson.Result) bool {
	if item.Get("type").Str != "mcpToolCall" {
		return item.Get("status").Str == "declined"
	}
	return slices.Contains([]string{"user cancelled MCP tool call", "user rejected MCP tool call"}, item.Get("error.message").Str)
}
