package agent

import (
	"encoding/json"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
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
		r, err := decode[acp.PromptRequest](params)
		if err != nil {
			var re *acp.RequestError
			require.ErrorAs(t, err, &re)
			require.Equal(t, codeInvalidParams, re.Code)
			return
		}
		promptText(r.Prompt)
		blocks, err := promptBlocks(r.Prompt)
		if err != nil {
			var re *acp.RequestError
			require.ErrorAs(t, err, &re)
			require.Equal(t, codeInvalidParams, re.Code)
			return
		}
		_, err = json.Marshal(blocks)
		require.NoError(t, err)
	})
}

// Whatever an editor sends to open a session: a configuration that the CLI can
// read, or an error of the editor's.
func FuzzSetup(f *testing.F) {
	for _, s := range []string{
		`{"cwd":"/x","mcpServers":[{"name":"a","command":"/bin/a","args":["-x"],"env":[{"name":"K","value":"v"}]}]}`,
		`{"cwd":"/x","mcpServers":[{"type":"http","name":"h","url":"https://x","headers":[{"name":"A","value":"b"}]},{"type":"sse","name":"h","url":"","headers":[]}]}`,
		`{"cwd":"relative","mcpServers":[],"additionalDirectories":["/y","z"]}`,
		`{"cwd":"/x","mcpServers":[{}]}`, `{"mcpServers":{}}`, `7`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		r, err := decode[acp.NewSessionRequest](params)
		if err == nil {
			u := setup{r.Cwd, r.AdditionalDirectories, r.McpServers}
			if err = u.check(); err == nil {
				config, err := mcpConfig(u.mcp)
				require.NoError(t, err)
				require.Equal(t, len(u.mcp) > 0, json.Valid(config))
				return
			}
		}
		var re *acp.RequestError
		require.ErrorAs(t, err, &re)
		require.Equal(t, codeInvalidParams, re.Code)
	})
}
