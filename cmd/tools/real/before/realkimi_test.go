//go:build unix

package before_test

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// The real Kimi Code: its hooks can answer nothing, so the hub tells that it waits, for a
// permission and for an answer. Its terminal asks as ever.
func TestRealKimi(t *testing.T) {
	terminals.NeedsLonger(t)
	c, s := terminals.NewTerminal(t, "kimi"), watchtest.New(t, web.CanAsk)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(s.Owner), 0o600))
	c.Run("hook", "install", "kimi", "--hub", s.URL, "--hub-token-file", token)
	waits := turns(t, s, "Kimi Code")
	c.Open()
	c.See("Trust this folder?")
	c.Press("Enter")
	c.See("Send /help")

	c.Model.Script(modeltest.Use("call_1", "Bash", object{"command": "touch made", "description": "does it"}), modeltest.Say("Noted one."))
	c.Prompt("first")
	require.Contains(t, waits(), "touch made")
	c.See("Approve once")
	c.Press("Enter")
	c.See("Noted one.")
	require.FileExists(t, filepath.Join(c.Start.Dir, "made"))

	c.Model.Script(modeltest.Use("call_2", "AskUserQuestion", object{"questions": []object{{"question": "Which database?", "header": "Database", "multi_select": false, "options": databases("SQLite")}}}), modeltest.Say("Noted two."))
	c.Prompt("second")
	require.Equal(t, "Which database?", waits())
	c.See("SQLite")
	require.Empty(t, s.Board.Conversations(), "there is nothing to answer")
}

// The real Grok Build, likewise.
func TestRealGrok(t *testing.T) {
	terminals.NeedsLonger(t)
	c, s := terminals.NewTerminal(t, "grok"), watchtest.New(t, web.CanAsk)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(s.Owner), 0o600))
	c.Run("hook", "install", "grok", "--hub", s.URL, "--hub-token-file", token)
	waits := turns(t, s, "Grok Build")
	c.Start.Env = append(c.Start.Env, "GROK_XAI_API_BASE_URL="+c.Model.URL+"/v1", "GROK_CLI_CHAT_PROXY_BASE_URL="+c.Model.URL+"/v1")
	c.Open("--no-leader")
	c.See("Logged in with API key")

	c.Model.Script(modeltest.Use("call_1", "run_terminal_command", object{"command": "curl -s http://127.0.0.1:9/x; touch made", "description": "does it"}), modeltest.Say("Noted one."))
	c.Prompt("first")
	require.Equal(t, "Tool permission requested", waits())
	c.See("Yes, proceed")
	c.Press("2")
	c.See("Noted one.")
	require.FileExists(t, filepath.Join(c.Start.Dir, "made"))

	c.Model.Script(modeltest.Use("call_2", "ask_user_question", object{"questions": []object{{"question": "Which database?", "header": "Database", "multi_select": false, "options": databases("SQLite")}}}), modeltest.Say("Noted two."))
	c.Prompt("second")
	require.Equal(t, "Which database?", waits())
	c.See("SQLite")
	require.Empty(t, s.Board.Conversations(), "there is nothing to answer")
}

// turns are what the hub says of agents that wait in their terminals.
func turns(t *testing.T, s *watchtest.Site, agent string) (next func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watchtest.Patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.Owner)
	reply, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { reply.Body.Close() })
	require.Equal(t, http.StatusOK, reply.StatusCode)
	lines := bufio.NewScanner(reply.Body)
	return func() string {
		t.Helper()
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if e := gjson.Parse(data); ok && e.Get("event").Str == "waits" {
				require.Equal(t, agent, e.Get("agent").Str)
				return e.Get("text").Str
			}
		}
		require.Fail(t, "the hub says no more", lines.Err())
		return ""
	}
}
