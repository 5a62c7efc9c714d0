package agent

import (
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
)

// initialize answers at once: the CLI is not needed for it.
func (a *Agent) initialize(params json.RawMessage) (any, error) {
	r := a.readInitialize(params)
	a.mu.Lock()
	a.asker = a.newAsker(r)
	a.terminal = terminalKey(r.ClientCapabilities)
	a.canRead = r.ClientCapabilities.Fs.ReadTextFile
	a.toggles = gjson.GetBytes(params, "clientCapabilities.session.configOptions.boolean").IsObject() // newer than the SDK
	a.opensURL = takesURLs(r)
	a.mu.Unlock()
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "acp-bridge", Title: acp.Ptr("Claude Code"), Version: a.opts.Version},
		AgentCapabilities: acp.AgentCapabilities{
			Auth:               acp.AgentAuthCapabilities{Logout: &acp.LogoutCapabilities{}},
			PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
			McpCapabilities:    acp.McpCapabilities{Http: true, Sse: true},
			LoadSession:        true,
			SessionCapabilities: acp.SessionCapabilities{
				Close:                 &acp.SessionCloseCapabilities{},
				Delete:                &acp.SessionDeleteCapabilities{},
				Fork:                  &acp.SessionForkCapabilities{}, // not stable yet: others pass over it
				List:                  &acp.SessionListCapabilities{},
				Resume:                &acp.SessionResumeCapabilities{},
				AdditionalDirectories: &acp.SessionAdditionalDirectoriesCapabilities{},
			},
		},
		AuthMethods: a.authMethods(r.ClientCapabilities),
	}, nil
}

// readInitialize reads what a client says of itself. A client whose
// capabilities make no sense is one without any: it is served all the same.
func (a *Agent) readInitialize(params json.RawMessage) acp.InitializeRequest {
	var r acp.InitializeRequest
	err := json.Unmarshal(params, &r)
	if err == nil {
		return r
	}
	a.log.Warn("the editor's initialize has parts that cannot be read; they are passed over", "err", err)
	var name struct {
		ClientInfo *acp.Implementation `json:"clientInfo"`
	}
	_ = json.Unmarshal(params, &name) // without a name it is any client
	return acp.InitializeRequest{ClientInfo: name.ClientInfo}
}

// newAsker makes the adapter for what the client says it can do.
func (a *Agent) newAsker(r acp.InitializeRequest) *adapter.Adapter {
	return adapter.New(&editor{a}, a.askOptions(r))
}
