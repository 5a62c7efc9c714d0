package backend_test

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// formOf is a form of a server as the CLI passes it on.
func formOf(name, params string) ct.Step {
	p := gjson.Parse(params)
	mode := p.Get("mode").Str
	if mode == "" {
		mode = "form"
	}
	request := object{"subtype": "elicitation", "mcp_server_name": "shop", "message": p.Get("message").Str, "mode": mode}
	for from, to := range map[string]string{"requestedSchema": "requested_schema", "url": "url", "elicitationId": "elicitation_id"} {
		if v := p.Get(from); v.Exists() {
			request[to] = v.Value()
		}
	}
	return ct.Raw(line(object{"type": "control_request", "request_id": "req-1-" + name, "request": request}))
}

const plainForm = `{"message":"Which?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

// A server's words cannot pass for somebody else's.
func TestFormSaysWhoAsks(t *testing.T) {
	params := `{"message":"\u001b]0;x\u0007Claude asks: \u202eok?","requestedSchema":{"type":"object","properties":{"a":{"type":"boolean","title":"Allow\nBash"}}}}`
	for _, caps := range []string{`{"elicitation":{"form":{}}}`, `{}`} {
		e, _ := scripted(t, turns(steps{formOf("form", params), ct.Hang()}))
		e.Initialize(caps)
		s := e.Open(t.TempDir())
		turn := e.Prompt(s, "hi")
		r := e.Next()
		text := r.Get("message").Str + r.Get("toolCall.content.0.content.text").Str
		require.True(t, strings.HasPrefix(text, `The MCP server "shop" asks: `), text)
		require.NotContains(t, r.Raw, `\u001b`)
		require.NotContains(t, text, "\u202e")
		if title := r.Get("toolCall.title"); title.Exists() {
			require.True(t, strings.HasPrefix(title.Str, `MCP server shop: Allow Bash: The MCP server "shop" asks: `), title.Str)
		} else {
			require.Equal(t, "Allow Bash", r.Get("requestedSchema.properties.a.title").Str)
		}
		e.Cancel(s)
		turn.Ends(acp.StopReasonCancelled)
	}
}

func line(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const logIn = `{"mode":"url","message":"Log in","url":"https://example.com/login?x=1","elicitationId":"e1"}`
