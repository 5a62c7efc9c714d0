package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// What is typed and not saved is told to the model when the CLI has read the file. A
// buffer that is like the file, too long or not there adds nothing to what was read.
func TestUnsavedBuffer(t *testing.T) {
	const hook = `{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback","callback_id":"acp-bridge-read","input":{"tool_input":{"file_path":%q}}}}`
	for name, c := range map[string]struct {
		answer any
		told   string
	}{
		"typed":       {object{"content": "typed\n"}, "in the editor that are not saved. There it reads:\n```\ntyped\n```"},
		"all deleted": {object{"content": ""}, "that are not saved"},
		"the same":    {object{"content": "saved\n"}, ""},
		"none":        {acp.NewInternalError(nil), ""},
		"nonsense":    {object{"content": 7}, ""},
		"too long":    {object{"content": strings.Repeat("x", 256<<10+1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "a.txt")
			require.NoError(t, os.WriteFile(file, []byte("saved\n"), 0o600))
			e, cli := scripted(t, turns(steps{ct.Raw(fmt.Sprintf(hook, file)), ct.Wait("read"), ct.Text("Working.")}))
			e.initialize(`{"fs":{"readTextFile":true}}`)
			s := e.open(dir)
			turn := e.prompt(s, "read it")
			r := e.asked(file)
			require.Equal(t, acp.ClientMethodFsReadTextFile, r.method)
			r.answer <- c.answer
			var reply gjson.Result
			cli.Await("the hook's reply", func(lines []ct.Line) bool {
				return slices.ContainsFunc(lines, func(l ct.Line) bool {
					reply = gjson.GetBytes(l.Raw, "response")
					return reply.Get("request_id").Str == "r1"
				})
			})
			if c.told == "" {
				require.JSONEq(t, `{}`, reply.Get("response").Raw)
			} else {
				require.Contains(t, reply.Get("response.hookSpecificOutput.additionalContext").Str, c.told)
				require.Equal(t, "PostToolUse", reply.Get("response.hookSpecificOutput.hookEventName").Str)
			}
			cli.Release("read")
			turn.ends(acp.StopReasonEndTurn)
		})
	}
}
