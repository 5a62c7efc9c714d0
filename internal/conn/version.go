package conn

import (
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

// Version1 returns the parameters of an initialize as a client of version 1 sends
// them. Those of a later version, a draft, name the client and its capabilities
// elsewhere:
//
//	version 2                           version 1
//	info                                clientInfo
//	capabilities.elicitation, _meta     clientCapabilities.elicitation, _meta
//	capabilities.auth.terminal          clientCapabilities.auth.terminal, as true
//	every client has it                 clientCapabilities.session.configOptions.boolean, plan
//
// What the client says in both places counts as version 1 has it. It agrees to
// version 1 or leaves when it reads the response.
func Version1(initialize json.RawMessage) json.RawMessage {
	p := gjson.ParseBytes(initialize)
	if v := p.Get("protocolVersion"); v.Type != gjson.Number || v.Num <= acp.ProtocolVersionNumber {
		return initialize
	}
	said := p.Get("capabilities")
	capabilities := map[string]any{
		"session": map[string]any{"configOptions": map[string]any{"boolean": struct{}{}}},
		"plan":    struct{}{},
	}
	if said.Get("auth.terminal").IsObject() {
		capabilities["auth"] = map[string]any{"terminal": true}
	}
	params := map[string]any{"protocolVersion": acp.ProtocolVersionNumber, "clientCapabilities": capabilities}
	take := func(to map[string]any, name string, v gjson.Result) {
		if v.IsObject() {
			to[name] = json.RawMessage(v.Raw)
		}
	}
	take(capabilities, "elicitation", said.Get("elicitation"))
	take(capabilities, "_meta", said.Get("_meta"))
	for name, v := range p.Get("clientCapabilities").Map() {
		capabilities[name] = json.RawMessage(v.Raw)
	}
	take(params, "clientInfo", p.Get("info"))
	take(params, "clientInfo", p.Get("clientInfo"))
	take(params, "_meta", p.Get("_meta"))
	raw, err := json.Marshal(params)
	if err != nil { // parts of it are no JSON
		return initialize
	}
	return raw
}
