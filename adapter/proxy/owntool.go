package proxy

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/convert"
)

// naming is how an agent says, in a tool call over ACP, of which MCP server and
// which tool it is: members of the tool call and what they must be, as a whole.
// Nothing is looked for inside of a text. %S stands for the server and %T for the
// tool.
type naming struct {
	shows map[string]string
	// asks is how it says so in a request for permission; nil means the same.
	asks map[string]string
	// id is how its ids begin, before the model's own.
	id string
	// blurred is set where the same text may be of another server's tool: good
	// enough to find a tool call, not to allow one.
	blurred bool
}

// namings are those of agents that were seen to call the tool, by their profiles.
// Copilot, OpenCode and Kilo ask for no permission.
var namings = map[string]naming{
	"claude":  {shows: map[string]string{"_meta.claudeCode.toolName": "mcp__%S__%T"}},
	"copilot": {shows: map[string]string{"title": "%S-%T"}, blurred: true},
	"droid":   {shows: map[string]string{"title": "%S___%T"}},
	"gemini":  {shows: map[string]string{"title": "%T (%S MCP Server)"}, id: "mcp_%S_%T__"},
	"goose": {
		shows: map[string]string{"_meta.goose.toolCall.toolName": "%S__%T", "_meta.goose.toolCall.extensionName": "%S"},
		asks:  map[string]string{"title": "%S: ask the user"},
	},
	"kilo":     {shows: map[string]string{"title": "%S_%T"}, blurred: true},
	"kimi":     {shows: map[string]string{"title": "mcp__%S__%T"}},
	"opencode": {shows: map[string]string{"title": "%S_%T"}, blurred: true},
	"qwen":     {shows: map[string]string{"_meta.toolName": "mcp__%S__%T"}},
}

// are reports whether all members of a tool call are as they must be, for the
// question tool at this server.
func (n naming) are(members map[string]string, server string, call gjson.Result) bool {
	words := strings.NewReplacer("%S", server, "%T", mcp.ToolName)
	for path, want := range members {
		if got := call.Get(path); got.Type != gjson.String || got.Str != words.Replace(want) {
			return false
		}
	}
	return len(members) > 0 && strings.HasPrefix(call.Get("toolCallId").Str, words.Replace(n.id))
}

// saw takes what the agent shows of a tool call, from an update or from a request
// for permission: one of the question tool is remembered until it ends.
func (t *tools) saw(profile Profile, session string, call gjson.Result) {
	id, n := call.Get("toolCallId").Str, namings[profile.Name]
	ended := call.Get("status").Str == "completed" || call.Get("status").Str == "failed"
	for _, one := range t.of(session) {
		_, known := one.shown[id]
		switch {
		case ended:
			delete(one.shown, id)
		case !known && id != "" && len(one.shown) < maxTools && n.are(n.shows, one.name, call):
			one.shown[id] = false
		}
	}
}

// of lists the tools that serve a session.
func (t *tools) of(session string) (list []*tool) {
	for _, one := range t.byToken {
		if one.session == session {
			list = append(list, one)
		}
	}
	return list
}

// endTurn ends what belongs to a turn that is over: tool calls, and tickets.
func (t *tools) endTurn(session string) {
	for _, one := range t.of(session) {
		clear(one.shown)
		one.server.EndTurn()
	}
	t.prune(session)
}

var errWhichSession = errors.New("the agent does not say in which session it asks, and has several")

// place finds where a call over MCP belongs, and the agent's tool call that it is.
// The connection says where; what it asks says nothing.
//
//	| the agent                      | session             | tool call                                 |
//	|--------------------------------|---------------------|-------------------------------------------|
//	| names its tool call            | of the connection   | that one                                  |
//	| does not                       | of the connection   | the only one there that no call has taken |
//	| has a plugin of ours           | that the call names | that one                                  |
//	| mixes up sessions' servers     | of that tool call   | the only one of all sessions              |
//
// Where there is no such tool call, or more than one, the question is one of its
// own; of an agent that mixes sessions up, and has several, it is an error.
func (t *tools) place(one *tool, id string, mixed bool) (session, call string, err error) {
	if one == t.plugin {
		if session, call, _ = strings.Cut(id, " "); t.p.sessions[session] == nil || t.p.sessions[session].closed {
			return "", "", errNoSession
		}
		return session, call, nil
	}
	all := []*tool{one}
	if mixed {
		all = slices.DeleteFunc(slices.Collect(maps.Values(t.byToken)), func(one *tool) bool { return one == t.plugin })
	}
	if id != "" && !mixed {
		if _, shown := one.shown[id]; shown {
			one.shown[id] = true
		}
		return one.session, id, nil
	}
	var found *tool
	for _, a := range all {
		for shown, taken := range a.shown {
			if taken {
				continue
			}
			if found != nil {
				return one.alone(all)
			}
			found, call = a, shown
		}
	}
	if found == nil {
		return one.alone(all)
	}
	found.shown[call] = true
	return found.session, call, nil
}

// alone places a call of which nobody knows which tool call it is.
func (t *tool) alone(all []*tool) (session, call string, err error) {
	if slices.ContainsFunc(all, func(other *tool) bool { return other.session != t.session }) {
		return "", "", errWhichSession
	}
	return t.session, "", nil
}

// allowed answers the agent's request for permission to use the question tool:
// the user will see the question, and answering it is permission enough. It is the
// only thing that is answered for the user, and all of this must hold:
//
//	| what    | must be                                                          |
//	|---------|------------------------------------------------------------------|
//	| session | one that has the tool                                            |
//	| server  | that of the session's tool, as this agent writes it              |
//	| tool    | the question tool, as this agent writes it                       |
//	| call    | one that is open                                                 |
//	| kind    | none that changes something                                      |
//	| input   | valid questions or a ticket that waits here, and nothing else    |
//	| option  | one that allows this call alone                                  |
func (p *proxy) allowed(m *message) []byte {
	params := gjson.ParseBytes(m.params)
	session, call, profile := params.Get("sessionId").Str, params.Get("toolCall"), p.profile
	p.tools.saw(profile, session, call)
	for _, one := range p.tools.of(session) {
		if !one.asksFor(call, namings[profile.Name]) {
			continue
		}
		for _, o := range params.Get("options").Array() {
			if o.Get("kind").Str == string(acp.PermissionOptionKindAllowOnce) {
				return resultLine(string(m.id), []byte(`{"outcome":{"outcome":"selected","optionId":`+o.Get("optionId").Raw+`}}`))
			}
		}
	}
	return nil
}

// asksFor reports whether permission is asked for a call of this tool that is open,
// and that asks something or waits for an answer.
func (t *tool) asksFor(call gjson.Result, n naming) bool {
	members := n.asks
	if members == nil {
		members = n.shows
	}
	_, open := t.shown[call.Get("toolCallId").Str]
	if !open || n.blurred || !n.are(members, t.name, call) || !harmless[call.Get("kind").Str] {
		return false
	}
	input := toolInput(call)
	if ticket := gjson.GetBytes(input, "ticket"); ticket.Exists() {
		return ticket.Type == gjson.String && t.server.Waits(ticket.Str)
	}
	_, err := convert.Parse(input, convert.Limits{})
	return err == nil
}

// harmless are the kinds under which agents show the tool.
var harmless = map[string]bool{"": true, "other": true, "read": true, "think": true}

// toolInput is the input of a tool call, if it is one of questions and nothing
// else: what changes files or runs in a terminal is not. Gemini shows the input
// as text.
func toolInput(call gjson.Result) json.RawMessage {
	for _, c := range call.Get("content").Array() {
		if c.Get("type").Str != "content" {
			return nil
		}
	}
	input := call.Get("rawInput")
	if texts := call.Get("content.#.content.text").Array(); !input.Exists() && len(texts) == 1 {
		input = gjson.Parse(strings.Clone(texts[0].Str))
	}
	only := input.IsObject()
	input.ForEach(func(k, _ gjson.Result) bool {
		only = only && (k.Str == "questions" || k.Str == "ticket")
		return only
	})
	if !only {
		return nil
	}
	return json.RawMessage(input.Raw)
}
