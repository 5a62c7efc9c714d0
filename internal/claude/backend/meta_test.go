package backend_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// openWith opens a session with a _meta.
func (e *editor) openWith(meta object) gjson.Result {
	e.T.Helper()
	raw, err := json.Marshal(meta)
	require.NoError(e.T, err)
	return e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, e.T.TempDir(), raw))
}

func options(entries object) object { return object{"claudeCode": object{"options": entries}} }

// What cannot be taken is refused, with what would be; no process is started.
func TestMetaRefused(t *testing.T) {
	e, cli := scripted(t, turns())
	e.Initialize(`{}`)
	for _, tc := range []struct{ meta, want string }{
		{`{"systemPrompt":3}`, "_meta.systemPrompt: expected a string, or an object with append"},
		{`{"systemPrompt":{"append":3}}`, "_meta.systemPrompt: expected"},
		{`{"additionalRoots":"/"}`, "_meta.additionalRoots: expected a list of paths"},
		{`{"claudeCode":3}`, "_meta.claudeCode: expected an object"},
		{`{"claudeCode":{"options":["model"]}}`, "_meta.claudeCode.options: expected an object"},
		{`{"disableBuiltInTools":"yes"}`, "_meta.disableBuiltInTools: expected true or false"},
		{`{"claudeCode":{"options":{"model":1}}}`, "options.model: expected a string"},
		{`{"claudeCode":{"options":{"allowedTools":"Bash"}}}`, "options.allowedTools: expected a list of strings"},
		{`{"claudeCode":{"options":{"allowedTools":["a\u0000b"]}}}`, "options.allowedTools: expected a list of strings"},
		{`{"claudeCode":{"options":{"maxTurns":-1}}}`, "options.maxTurns: expected a number, 0 or more"},
		{`{"claudeCode":{"options":{"env":{"A":1}}}}`, "options.env: expected an object of strings"},
		{`{"claudeCode":{"options":{"env":{"A=B":"c"}}}}`, "options.env: expected an object of strings"},
		{`{"claudeCode":{"options":{"env":["SECRET=hush"]}}}`, "options.env: expected an object of strings"},
		{`{"claudeCode":{"options":{"mcpServers":{"a":"b"}}}}`, "options.mcpServers: expected an object of servers"},
		{`{"claudeCode":{"options":{"plugins":[{"type":"remote","path":"x"}]}}}`, "options.plugins: expected a list"},
		{`{"claudeCode":{"options":{"settings":[]}}}`, "options.settings: expected an object, JSON, or the path of a file with it"},
		{`{"claudeCode":{"options":{"agents":[]}}}`, "options.agents: expected an object"},
		{`{"claudeCode":{"options":{"strictMcpConfig":"yes"}}}`, "options.strictMcpConfig: expected true or false"},
		{`{"claudeCode":{"options":{"agent":""}}}`, "options.agent: expected a string"},
		{`{"claudeCode":{"options":{"additionalDirectories":["here"]}}}`, "additional directories must be absolute paths"},
	} {
		for _, method := range []string{acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume} {
			_, err := e.Try(method, fmt.Sprintf(`{"sessionId":"x","cwd":%q,"mcpServers":[],"_meta":%s}`, t.TempDir(), tc.meta))
			if method != acp.AgentMethodSessionNew && tc.want == "additional directories must be absolute paths" {
				continue // there is no such session, which comes first
			}
			var re *acp.RequestError
			require.ErrorAs(t, err, &re, tc.meta)
			require.Equal(t, -32602, re.Code)
			require.Contains(t, re.Message, tc.want)
			require.NotContains(t, re.Message, "hush")
		}
	}
	require.Empty(t, cli.Starts())
}

// null is nothing, wherever it stands.
func TestMetaOfNulls(t *testing.T) {
	e, _ := scripted(t, turns())
	e.Initialize(`{}`)
	for _, meta := range []string{
		`{"systemPrompt":null,"additionalRoots":null,"disableBuiltInTools":null,"claudeCode":null}`,
		`{"claudeCode":{"options":null}}`, `{"claudeCode":{"options":{"model":null}}}`,
	} {
		e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, t.TempDir(), meta))
	}
}

// Secrets that an editor gives are not on the command line.
func TestMetaHidesSecrets(t *testing.T) {
	e, cli := scripted(t, turns())
	e.Initialize(`{}`)
	e.openWith(object{"systemPrompt": "hush-1", "claudeCode": object{"options": object{
		"env": object{"A_TOKEN": "hush-2"}, "settings": object{"env": object{"B": "hush-3"}}, "agents": object{"a": object{"prompt": "hush-5"}},
		"mcpServers": object{"docs": object{"type": "http", "url": "http://127.0.0.1:1", "headers": object{"Authorization": "hush-4"}}},
	}}})
	require.Contains(t, cli.Starts()[0].Args, "--mcp-config")
	require.NotContains(t, strings.Join(cli.Starts()[0].Args, " "), "hush-")
}
