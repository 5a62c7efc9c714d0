package backend_test

import (
	"encoding/json"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// A turn that fails for want of a login asks the editor for one, however Claude
// Code words it (2.1.325, and the texts that claude-agent-acp 0.99.1 knows).
func TestLoginIsRequired(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		login      bool
	}{
		{"authentication_failed", "Not logged in · Please run /login", true},
		{"authentication_failed", "Failed to authenticate. API Error: 401", true},
		{"invalid_request", "Login expired · Run /login to sign in again, or re-authenticate your Anthropic profile", true},
		{"invalid_request", "Login expired · Please run /login", true},
		{"unknown", "Not logged in · Run /login", true},
		{"unknown", "Session expired. Please run /login to sign in again.", true},
		{"unknown", "Login reached its time limit · Please run /login", true},
		{"unknown", "OAuth token revoked · Please run /login", true},
		{"unknown", "API Error: 401 Invalid API key · Please run /login", true},
		{"oauth_org_not_allowed", "Your organization has disabled API key authentication", true},
		{"invalid_request", "Your organization has disabled API key authentication · Unset ANTHROPIC_API_KEY and run /login to sign in with your claude.ai account", true},
		{"rate_limit", "You've hit your limit · run /login to use another account", false},
		{"billing_error", "Credit balance is too low · Run /login to switch accounts", false},
		{"unknown", "You've hit your session limit · run /login to use another account", false},
		{"invalid_request", "Fable 5 requires usage credits · run /login to switch accounts", false},
		{"unknown", "Your org is out of usage · contact your admin, or run /login", false},
		{"unknown", "You have hit your head: run /login", true},
		{"invalid_request", "messages: text content blocks must be non-empty", false},
		{"unknown", "Write docs for prun /loginpage", false},
	} {
		t.Run(c.kind+" "+c.text, func(t *testing.T) {
			t.Parallel()
			e, _ := scripted(t, ct.Script{Turns: []ct.Turn{{Result: ct.APIError(401, c.kind, c.text)}, {}}})
			s := e.ready()
			code, want := e.prompt(s, "hi").fails(c.text).Code, -32603
			if c.login {
				want = -32000
			}
			require.Equal(t, want, code)
			e.prompt(s, "again").ends(acp.StopReasonEndTurn)
		})
	}
}

// What a sub-agent or the model itself writes about a login is not the CLI's word on this
// conversation: the turn fails as it does.
func TestLoginOfOthers(t *testing.T) {
	for name, m := range map[string]object{
		"a sub-agent": {"parent_tool_use_id": "toolu_9", "message": object{"id": "m", "model": "<synthetic>"}},
		"the model":   {"parent_tool_use_id": nil, "message": object{"id": "m", "model": "claude-opus-5-5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m["type"], m["error"] = "assistant", "unknown"
			m["message"].(object)["content"] = []object{{"type": "text", "text": "Not logged in · Please run /login"}}
			raw, err := json.Marshal(m)
			require.NoError(t, err)
			e, _ := scripted(t, ct.Script{Turns: []ct.Turn{{Steps: steps{ct.Raw(string(raw))}, Result: ct.APIError(500, "server_error", "Boom")}}})
			require.Equal(t, -32603, e.prompt(e.ready(), "hi").fails("Boom").Code)
		})
	}
}
