//go:build linux

package proxy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
)

// An editor of the draft version 2 in front, an agent of it behind: through the
// proxy both speak version 1, and the editor's form is answered as it is without
// the proxy.
func TestRealVersion2(t *testing.T) {
	modules := os.Getenv("ACP_BRIDGE_TSCHECK")
	if modules == "" {
		t.Skip("SKIPPED: needs the TypeScript SDK; set ACP_BRIDGE_TSCHECK, as .ci/run does")
	}
	agent := findReal(t, "claude")
	bridge := filepath.Join(t.TempDir(), "acp-bridge")
	out, err := exec.Command("go", "build", "-o", bridge, "github.com/acp-bridge/acp-bridge/cmd/acp-bridge").CombinedOutput()
	require.NoError(t, err, string(out))
	one, _ := question()
	for name, through := range map[string][]string{"without": nil, "through": {bridge, "proxy", "--"}} {
		t.Run(name, func(t *testing.T) {
			model := modeltest.New(t)
			model.Script(modeltest.Use("call_real0001", "AskUserQuestion", one), modeltest.Say("Thank you."))
			start, err := agent.Prepare(t.TempDir(), model.URL)
			require.NoError(t, err)
			script, err := json.Marshal(object{
				"modules": modules, "command": append(through, start.Args...), "env": start.Env, "cwd": start.Dir,
				"prompt": "ask me", "fill": object{"question_0": "SQLite"},
			})
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "script.json")
			require.NoError(t, os.WriteFile(file, script, 0o600))
			cmd := exec.CommandContext(t.Context(), "node", filepath.Join("..", "..", ".ci", "tscheck", "v2.mjs"), file)
			cmd.Stderr = testWriter{t}
			raw, err := cmd.Output()
			require.NoError(t, err, string(raw))
			found := gjson.ParseBytes(raw)
			if name == "without" {
				require.Equal(t, int64(2), found.Get("version2").Int(), found.Raw)
			} else {
				require.False(t, found.Get("version2").Exists(), found.Raw)
				require.NotEmpty(t, found.Get("refused").String(), "a response of version 1 is none of version 2")
			}
			require.Equal(t, int64(1), found.Get("version1").Int(), found.Raw)
			require.Equal(t, "end_turn", found.Get("ended.stopReason").Str, found.Raw)
			require.Equal(t, int64(1), found.Get("forms.#").Int(), found.Raw)
			require.Zero(t, found.Get("permissions").Int(), found.Raw)
			require.Contains(t, found.Get("said").Str, "Thank you.")
			requests := model.Requests()
			told, _ := requests[len(requests)-1].Result("")
			require.Contains(t, told, "SQLite")
		})
	}
}
