//go:build unix

package hook_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

const flagged = "[Destructive] nobody wanted that"

// judged is a reply of auto mode's model: a call that its check flags.
func judged(id, command string) apitest.Reply {
	r := bash(id, command)
	r.Verdicts = map[string]string{id: flagged}
	return r
}

func checked(text string) apitest.Reply {
	r := apitest.Say(text)
	r.Verdicts = map[string]string{}
	return r
}

// What auto mode blocks is asked at the hub. A yes lets the same call run when it is made again.
func TestRealAutoModeRetry(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil, judged("toolu_1", "sh -c 'touch one'"), judged("toolu_2", "sh -c 'touch one'"), checked("Done one."))
	terminals.Away(t, s, true)
	c.Start("--permission-mode", "auto")
	c.Prompt("one")
	r := s.Next()
	require.Equal(t, "toolu_1", r.Hold.Call)
	require.Equal(t, "Auto mode blocked `sh -c 'touch one'`: "+flagged+". Allow this once?", r.Call.Questions[0].Text)
	s.Answer(r, watchtest.Picks("Allow"))
	require.True(t, c.Told("toolu_1").IsError)
	require.False(t, c.Told("toolu_2").IsError)
	c.See("Done one.")
	require.FileExists(t, filepath.Join(c.Dir, "one"))
	s.Receipt(r, "consumed")
}
