package dialect

import (
	"encoding/json"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// mcp is the elicitation of MCP and ACP: a form, or an address to open. Goose
// and other agents without a question tool ask so on behalf of MCP servers.
type mcp struct{}

const mcpMethod = "elicitation/create"

func (mcp) id() string { return "mcp" }

func (mcp) recognises(d document) bool {
	return d.isMethod(mcpMethod) || d.tool == "" && !d.isRPC() &&
		d.root.Get("message").Exists() && hasAny(d.root, "requestedSchema", "url")
}

func (mcp) decode(d document) (convert.Call, error) {
	form, err := mcpForm(d)
	return form.Call, err
}

func mcpForm(d document) (ask.FormCall, error) {
	return ask.AgentForm{Params: json.RawMessage(d.params().Raw)}.Call()
}

// encode has no word for a failure, so that is an error.
func (mcp) encode(d document, _ convert.Call, r Reply) Result {
	o := r.Outcome
	if o.Status == convert.Failed || o.Status == convert.Disconnected {
		return d.refuse(o)
	}
	form, err := mcpForm(d)
	var reply json.RawMessage
	if err == nil {
		reply, err = form.Reply(o)
	}
	if err != nil {
		return d.refuse(convert.Outcome{Status: convert.Failed, Reason: err.Error()})
	}
	return d.respond(reply)
}

func (mcp) fits(d document, o convert.Outcome) error {
	form, err := mcpForm(d)
	if err == nil {
		_, err = form.Reply(o)
	}
	return err
}

// holds has a place for descriptions, which ACP's forms know and MCP's clients may
// show, and for previews in _meta.
func (mcp) holds() holds {
	limits := anyCount
	limits.RequireHeader, limits.RepeatQuestions = true, true
	return holds{limits: limits, header: true, description: true, preview: true, multi: true, open: true, closed: true}
}

func (mcp) write(c convert.Call) any {
	form := ask.Form(c)
	return rpcCall(mcpMethod, struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		Schema  any    `json:"requestedSchema"`
	}{form.Mode, form.Message, form.RequestedSchema})
}

func (mcp) read(d document, _ convert.Call, g given) (convert.Outcome, error) {
	if g.json.Get("error").Exists() {
		return failure(g.json.Get("error").String()), nil
	}
	form, err := mcpForm(d)
	if err != nil {
		return convert.Outcome{}, err
	}
	o, _, err := form.ForAsker().Read(json.RawMessage(g.json.Raw))
	if err == nil && o.Status == convert.Answered && !slices.ContainsFunc(o.Answers, func(a convert.Answer) bool { return !a.Empty() }) {
		o = notAnswered(convert.Declined)
	}
	return o, err
}
