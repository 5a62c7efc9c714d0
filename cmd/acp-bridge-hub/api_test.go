package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
)

// What help api shows is what runs: each example asks, follows, answers, gets the
// result and cancels, at a hub of its own conversation.
func TestAPIExamples(t *testing.T) {
	t.Parallel()
	text := apiTopic().Text
	require.Contains(t, text, "  POST /conversations/{id}/ask\n      ask: the outcome, or 202 while it is open\n")
	clitest.Fits(t, text)
	p := startHub(t, t.TempDir(), "127.0.0.1:0")
	for i, c := range []struct {
		file, run string
	}{{"curl.sh", "sh"}, {"client.ts", "node"}, {"client.py", "python3"}} {
		require.Equal(t, apiExamples[i].file, c.file)
		t.Run(c.file, func(t *testing.T) {
			program, err := exec.LookPath(c.run)
			if _, missing := exec.LookPath("curl"); err != nil || c.run == "sh" && missing != nil {
				t.Skip(c.run + " is not here")
			}
			// No type is written down in it: JavaScript is TypeScript, and runs anywhere.
			file := filepath.Join(t.TempDir(), c.file)
			if c.run == "node" {
				file = filepath.Join(filepath.Dir(file), "client.mjs")
			}
			// Each has its conversation: ids of questions are those of one conversation.
			script := bytes.ReplaceAll([]byte(apiFile(c.file)), []byte("my-agent"), []byte("agent-of-"+c.run))
			require.NoError(t, os.WriteFile(file, script, 0o600))
			cmd := exec.Command(program, file)
			cmd.Env = append(os.Environ(), "HUB="+p.address, "TOKEN="+p.token)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), "awaiting_user_response")
			require.Contains(t, string(out), "state_change")
			require.Contains(t, string(out), "MySQL")
			require.Regexp(t, `(?s)updatedInput.*answers`, string(out))
		})
	}
}
