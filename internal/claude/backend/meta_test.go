package backend_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// openWith opens a session with a _meta.
func (e *editor) openWith(meta object) gjson.Result {
	e.T.Helper()
	raw := acptest.Must(json.Marshal(meta))
	return e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, e.T.TempDir(), raw))
}

func options(entries object) object { return object{"claudeCode": object{"options": entries}} }

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
