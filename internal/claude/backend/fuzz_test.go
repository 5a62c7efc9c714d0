package backend

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// Whatever an editor sends as a prompt is one that Claude Code can read, or an
// error of the editor's.
func FuzzPrompt(f *testing.F) {
	for _, s := range []string{
		`{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}`,
		`{"prompt":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"image","uri":"https://x/y.png","data":"","mimeType":""}]}`,
		`{"prompt":[{"type":"resource_link","name":"a b","uri":"file:///x%20y"},{"type":"resource","resource":{"uri":"file:///a","text":"t"}}]}`,
		`{"prompt":[{"type":"resource","resource":{"uri":"://","blob":"AAAA","mimeType":"x"}},{"type":"audio","data":"","mimeType":""}]}`,
		`{"prompt":[{}]}`, `{"prompt":null}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		r, err := conn.Decode[acp.PromptRequest](params)
		if err != nil {
			var re *acp.RequestError
			require.ErrorAs(t, err, &re)
			require.Equal(t, -32602, re.Code)
			return
		}

		blocks, err := promptBlocks(r.Prompt)
		if err != nil {
			var re *acp.RequestError
			require.ErrorAs(t, err, &re)
			require.Equal(t, -32602, re.Code)
			return
		}
		acptest.Must(json.Marshal(blocks))
	})
}

// Whatever an editor sends to open a session: a configuration that the CLI can
// read, or an error of the editor's.
func FuzzSetup(f *testing.F) {
	for _, s := range []string{
		`{"cwd":"/x","mcpServers":[{"name":"a","command":"/bin/a","args":["-x"],"env":[{"name":"K","value":"v"}]}]}`,
		`{"cwd":"/x","mcpServers":[{"type":"http","name":"h","url":"https://x","headers":[{"name":"A","value":"b"}]},{"type":"sse","name":"h","url":"","headers":[]}]}`,
		`{"cwd":"relative","mcpServers":[],"additionalDirectories":["/y","z"]}`,
		`{"cwd":"/x","mcpServers":[],"_meta":{"systemPrompt":{"append":"x"},"claudeCode":{"options":{"model":"m","maxTurns":3,"allowedTools":["a,b","-c"],"env":{"K":"v"},"mcpServers":{"a":{"command":"c"}},"settings":{"x":1},"plugins":[{"type":"local","path":"/p"}]}}}}`,
		`{"cwd":"/x","mcpServers":[],"_meta":{"additionalRoots":7,"claudeCode":{"options":{"agent":"\\u0000","tools":{"type":"preset"},"agents":[]}}}}`,
		`{"cwd":"/x","mcpServers":[{}]}`, `{"mcpServers":{}}`, `7`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		r, err := conn.Decode[acp.NewSessionRequest](params)
		var u setup
		if err == nil {
			u, err = newSetup(r.Cwd, r.AdditionalDirectories, r.McpServers, r.Meta, len(params)%2 == 0, slog.New(slog.DiscardHandler))
		}
		if err == nil {
			err = u.check()
		}
		if err != nil {
			var re *acp.RequestError
			require.ErrorAs(t, err, &re)
			require.Equal(t, -32602, re.Code)
			return
		}
		config := acptest.Must(u.mcpConfig())
		require.True(t, config == nil || json.Valid(config))
		for _, arg := range u.args { // a value cannot pass for a flag, nor end the list
			require.True(t, strings.HasPrefix(arg, "--"), arg)
			require.NotContains(t, arg, "\x00")
		}
	})
}
