package dialect

import (
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/tidwall/gjson"
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
	return formCall(d.params())
}

func formCall(params gjson.Result) (convert.Call, error) {
	form, err := ask.AgentForm{Params: json.RawMessage(params.Raw)}.Call()
	return form.Call, err
}

// formReply is the reply to a form.
func formReply(params gjson.Result, o convert.Outcome) (json.RawMessage, error) {
	form, err := ask.AgentForm{Params: json.RawMessage(params.Raw)}.Call()
	if err != nil {
		return nil, err
	}
	return form.Reply(o)
}

// encode has no word for a failure, so that is an error.
func (mcp) encode(d document, _ convert.Call, r Reply) Result {
	o := r.Outcome
	if !o.Status.ByPerson() {
		return d.refuse(o)
	}
	reply, err := formReply(d.params(), o)
	if err != nil {
		return d.refuse(convert.Outcome{Status: convert.Failed, Reason: err.Error()})
	}
	return d.respond(reply)
}

func (mcp) fits(d document, o convert.Outcome) error {
	_, err := formReply(d.params(), o)
	return err
}
