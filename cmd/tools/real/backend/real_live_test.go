//go:build unix

package backend_test

import (
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// slow is a command that runs longer than the CLI takes to say that it runs.
const slow = `for i in 1 2 3 4 5; do printf '\033[31mline %s\033[0m\n' $i; echo also $i >&2; sleep 1; done; exit 3`

const slowOutput = "\x1b[31mline 1\x1b[0m\nalso 1\n\x1b[31mline 2\x1b[0m\nalso 2\n\x1b[31mline 3\x1b[0m\nalso 3\n\x1b[31mline 4\x1b[0m\nalso 4\n\x1b[31mline 5\x1b[0m\nalso 5\n"

// TestRealOutputWhileItRuns lets the real CLI run a command for five seconds, in
// several ways at once.
func TestRealOutputWhileItRuns(t *testing.T) {
	path := realClaude(t)
	bash := apitest.Use(apitest.ToolUse("toolu_1", "Bash", object{"command": slow, "description": "count"}))
	begin := func(t *testing.T, capabilities, variable string, replies ...apitest.Reply) (*running, *apitest.Server, func() *editor) {
		t.Parallel()
		api, home, tmp := apitest.New(t), t.TempDir(), t.TempDir()
		api.Script(replies...)
		start := func() *editor {
			e := serve(t, backend.Options{Claude: path, Args: []string{"--allowedTools", "Bash"}, Env: append(apitest.Env(api, home), variable+"="+tmp)})
			e.Initialize(capabilities)
			return e
		}
		return &running{editor: start()}, api, start
	}
	t.Run("as content", func(t *testing.T) {
		r, _, _ := begin(t, `{}`, "TMPDIR", bash, apitest.Say("done"))
		r.session = r.Open(t.TempDir())
		r.Prompt(r.session, "go").Ends(acp.StopReasonEndTurn)
		var shown []string
		for _, u := range r.of("toolu_1") {
			if u.Get("status").Str == "in_progress" {
				shown = append(shown, u.Get("content.0.content.text").Str)
			}
		}
		require.GreaterOrEqual(t, len(shown), 2)
		require.Contains(t, shown[0], "```console\nline 1\nalso 1\n")
		require.NotContains(t, shown[0], "line 5")
		require.Contains(t, shown[len(shown)-1], "line 5")
		require.Contains(t, r.Tool(r.session, "toolu_1")["content"], "Exit code 3")
	})
	t.Run("in a terminal, and loaded", func(t *testing.T) {
		r, _, restart := begin(t, `{"_meta":{"terminal_output":true}}`, "CLAUDE_CODE_TMPDIR", bash, apitest.Say("done"))
		dir := t.TempDir()
		r.session = r.Open(dir)
		turn := r.Prompt(r.session, "go")
		r.shows("toolu_1", "line 1")
		require.NotContains(t, r.printed("toolu_1"), "line 5", "it is shown while the command runs")
		turn.Ends(acp.StopReasonEndTurn)
		require.Equal(t, slowOutput, r.printed("toolu_1"))
		require.Equal(t, []string{"3"}, r.exits("toolu_1"))
		r.Leave()
		r.editor = restart()
		r.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, r.session, dir))
		require.Equal(t, strings.TrimSpace(slowOutput), r.printed("toolu_1"))
		require.Equal(t, []string{"3"}, r.exits("toolu_1"))
	})
	t.Run("of a sub-agent", func(t *testing.T) {
		r, api, _ := begin(t, `{}`, "TMPDIR",
			apitest.Use(apitest.ToolUse("toolu_a", "Agent", object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose", "run_in_background": false})), apitest.Say("done"))
		api.When(func(q apitest.Request) bool {
			return strings.Contains(q.Get("messages.0.content").Raw, "work of the sub-agent")
		}, bash, apitest.Say("the sub-agent is done"))
		r.session = r.Open(t.TempDir())
		turn := r.Prompt(r.session, "go")
		r.Await(r.session, "output", func(u gjson.Result) bool {
			return u.Get("toolCallId").Str == "toolu_1" && u.Get("status").Str == "in_progress" && strings.Contains(u.Get("content").Raw, "line 1")
		})
		r.Cancel(r.session)
		turn.Ends(acp.StopReasonCancelled)
	})
	t.Run("in the background", func(t *testing.T) {
		ends := make(chan struct{})
		r, _, _ := begin(t, `{"_meta":{"terminal_output":true}}`, "TMPDIR",
			apitest.Use(apitest.ToolUse("toolu_1", "Bash", object{"command": slow, "run_in_background": true})), apitest.Reply{Blocks: []apitest.Block{apitest.Text("done")}, Hold: ends}, apitest.Say("I see."))
		r.session = r.Open(t.TempDir())
		turn := r.Prompt(r.session, "go")
		r.shows("toolu_1", "line 2")
		close(ends)
		turn.Ends(acp.StopReasonEndTurn)
		r.Await(r.session, "its end", func(gjson.Result) bool { return len(r.exits("toolu_1")) == 1 })
		require.True(t, strings.HasPrefix(r.printed("toolu_1"), slowOutput), "%q", r.printed("toolu_1"))
	})
}
