package backend

import (
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

// Initialize answers at once: the CLI is not needed for it. It implements
// [editor.Backend].
func (a *backend) Initialize(_ context.Context, r acp.InitializeRequest, raw json.RawMessage) (any, error) {
	e, air := r.ClientCapabilities.Elicitation, airOf(r.ClientCapabilities.Meta) != nil
	var meta object
	if air {
		meta = forAIR(nil, "capabilities", airSpoken)
	}
	a.client.Store(&client{
		reads:    r.ClientCapabilities.Fs.ReadTextFile,
		toggles:  gjson.GetBytes(raw, "clientCapabilities.session.configOptions.boolean").IsObject(), // newer than the SDK
		opensURL: e != nil && e.Url != nil,
		terminal: terminalKey(r.ClientCapabilities),
		// A draft. AIR has an earlier one, with other updates.
		parts: !air && gjson.GetBytes(raw, "clientCapabilities.subagents").IsObject(),
		air:   air, airTakes: airTakes(r.ClientCapabilities),

		compaction: gjson.GetBytes(raw, "clientCapabilities.session.compaction").IsObject(),
		plans:      gjson.GetBytes(raw, "clientCapabilities.plan").IsObject(),
		drafts:     knowsDrafts(raw),
	})
	response := acp.InitializeResponse{
		Meta:            meta,
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
	}
	if knowsDrafts(raw) {
		return a.withDrafts(response)
	}
	return response, nil
}
