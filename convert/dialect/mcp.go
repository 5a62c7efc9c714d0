package dialect

import (
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// mcp is the elicitation of MCP and ACP: a form, or an address to open. Goose
// and other agents without a question tool ask so on behalf of MCP servers.
type mcp struct{}

const mcpMethod = "elicitation/create"

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
	if !o.Status.ByPerson() {
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
