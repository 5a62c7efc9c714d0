//go:build unix

package codex_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// newShop is an MCP server with a tool that needs a permission and one that asks for a
// size.
func newShop(t *testing.T) (url string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	type input struct {
		What string `json:"what"`
	}
	said := func(format string, args ...any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "buy", Description: "Buys something."}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return said("bought %s", in.What)
	})
	mcp.AddTool(server, &mcp.Tool{Name: "order", Description: "Orders something.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(ctx context.Context, r *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "How is it to be?", RequestedSchema: object{"type": "object", "required": []string{"size"},
			"properties": object{"size": object{"type": "string", "enum": []string{"small", "large"}}}}})
		if err != nil {
			return said("not asked: %v", err)
		}
		return said("%s is %s: %v", in.What, got.Action, got.Content["size"])
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL
}

// The real Codex in a real terminal: tools of an MCP server, its forms, and a model that
// wants more permissions.
func TestRealCodexAsksMore(t *testing.T) {
	terminals.NeedsLonger(t)
	c := terminals.NewCodex(t)
	c.Config = fmt.Sprintf("[mcp_servers.shop]\nurl = %q\n", newShop(t))
	s := watchtest.New(t, web.CanAsk)
	c.Watch(s)
	c.Open()
	c.See("Ask Codex to do anything")
	turn := func(id, tool string, input any) {
		c.Model.Script(modeltest.Use(id, tool, input), modeltest.Say("After "+id+"."))
		c.Prompt("Do " + id)
	}

	turn("call_buy", "buy", object{"what": "shoes"})
	r := s.Next()
	require.Equal(t, "permission", r.Kind)
	require.Equal(t, "shop", r.Call.Server)
	require.Equal(t, "buy", r.Call.Name)
	require.Contains(t, r.Detail, "shoes")
	c.See("Run the tool and continue")
	s.Answer(r, watchtest.Picks("Allow once"))
	require.Contains(t, c.Told("call_buy"), "bought shoes")
	s.Receipt(r, "consumed")
	c.See("After call_buy.")

	turn("call_reject", "buy", object{"what": "boots"})
	r = s.Next()
	s.Answer(r, watchtest.Picks("Reject"))
	require.Contains(t, c.Told("call_reject"), "user cancelled MCP tool call")
	s.Receipt(r, "consumed")
	c.See("After call_reject.")

	turn("call_terminal", "buy", object{"what": "hats"})
	r = s.Next()
	c.Choose("Run the tool and continue", "Enter")
	require.Contains(t, s.Settled(r).End.Reason, "answered in the terminal")
	c.See("After call_terminal.")

	turn("call_session", "buy", object{"what": "socks"})
	r = s.Next()
	s.Answer(r, watchtest.Picks("Allow for this session"))
	require.Contains(t, c.Told("call_session"), "bought socks")
	c.See("After call_session.")
	turn("call_again", "buy", object{"what": "gloves"}) // asks nothing
	require.Contains(t, c.Told("call_again"), "bought gloves")
	c.See("After call_again.")

	turn("call_form", "order", object{"what": "tea"})
	r = s.Next()
	require.Equal(t, "form", r.Kind)
	require.Contains(t, r.Call.Questions[0].Text, "How is it to be?")
	c.See("How is it to be?")
	s.Answer(r, watchtest.Picks("large"))
	require.Contains(t, c.Told("call_form"), "tea is accept: large")
	s.Receipt(r, "unknown")
	c.See("After call_form.")

	turn("call_decline", "order", object{"what": "milk"})
	r = s.Next()
	s.Answer(r, watchtest.Picks("Decline"))
	require.Contains(t, c.Told("call_decline"), "milk is decline")
	c.See("After call_decline.")

	turn("call_typed", "order", object{"what": "rice"})
	r = s.Next()
	c.Choose("How is it to be?", "Enter")
	require.Contains(t, c.Told("call_typed"), "rice is accept: small")
	require.Contains(t, s.Settled(r).End.Reason, "answered in the terminal")
	c.See("After call_typed.")

	more := object{"reason": "I need the network", "permissions": object{"network": object{"enabled": true}, "file_system": object{"write": []string{c.Start.Dir}}}}
	turn("call_more", "request_permissions", more)
	r = s.Next()
	require.Equal(t, "I need the network", r.Call.Questions[0].Text)
	require.Contains(t, r.Detail, c.Start.Dir)
	c.See("grant these permissions")
	s.Answer(r, watchtest.Picks("Reject"))
	require.NotContains(t, c.Told("call_more"), "true")
	c.See("After call_more.")

	turn("call_turn", "request_permissions", more)
	r = s.Next()
	s.Answer(r, watchtest.Picks("Allow for this turn"))
	told := c.Told("call_turn")
	require.Contains(t, told, `"enabled":true`)
	require.Contains(t, told, c.Start.Dir)
	require.Contains(t, told, `"scope":"turn"`)
	s.Receipt(r, "unknown")
	c.See("After call_turn.")

	turn("call_given", "request_permissions", more)
	r = s.Next()
	c.Choose("Yes, grant these permissions for this session", "a")
	require.Contains(t, s.Settled(r).End.Reason, "answered in the terminal")
	require.Contains(t, c.Told("call_given"), `"scope":"session"`)
	c.See("After call_given.")
}
