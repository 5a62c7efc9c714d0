//go:build unix

package opencode_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/opencode"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func shells(id, command string) modeltest.Reply {
	return modeltest.Use(id, "shell", object{"command": command, "description": "does it"})
}

// OpenCode 2 in a real terminal, by its service: answered at the hub first, in the terminal
// first, dismissed on both sides, rejected with a reason, by a sub-agent, and found by a hub
// that comes later. Run on 19 November 2026 with 2.0.0, built from its sources.
func TestRealService(t *testing.T) {
	terminals.NeedsLonger(t)
	c := terminals.NewTerminal(t, "opencode2")
	t.Setenv("XDG_STATE_HOME", filepath.Join(c.Start.Home, "state"))
	s := watchtest.New(t, web.CanAsk)
	begin := func() (end func()) {
		w := watch.Start(s.Options())
		ended := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(ended)
			opencode.Terminals().Run(ctx, w, func(text string) { t.Log(text) })
			w.Close()
		}()
		return func() { cancel(); <-ended }
	}
	end := begin()
	c.Open()
	t.Cleanup(func() {
		stop := exec.Command(c.Start.Args[0], "service", "stop")
		stop.Env, stop.Dir = c.Start.Env, c.Start.Dir
		out, err := stop.CombinedOutput()
		t.Logf("%s %v", out, err)
	})
	c.See("Ask anything")
	c.See("fake fake") // the service has told the model: Enter counts
	turn := s.Turns()

	c.Model.Script(asks("call_1"), modeltest.Say("Noted one."))
	c.Prompt("first")
	r := s.Next()
	require.Equal(t, "OpenCode", r.Agent)
	require.Equal(t, "first", r.About.Prompt)
	s.Answer(r, watchtest.Picks("SQLite"))
	require.Contains(t, c.Told("call_1"), "SQLite")
	s.Receipt(r, "consumed")
	c.See("Noted one.")
	require.Equal(t, "Noted one.", turn().Get("text").Str)

	c.Model.Script(asks("call_2"), modeltest.Say("Noted two."))
	c.Prompt("second")
	r = s.Next()
	c.Choose("Type your own answer", "1")
	require.Contains(t, c.Told("call_2"), "PostgreSQL")
	settled := s.Settled(r).End
	require.Equal(t, "answered", settled.Outcome)
	require.Contains(t, settled.By, "the terminal")
	require.Equal(t, []string{"PostgreSQL"}, settled.Answers[0].Selected)
	c.See("Noted two.")

	c.Model.Script(asks("call_3"))
	c.Prompt("third")
	r = s.Next()
	c.Choose("Type your own answer", "Escape")
	require.Equal(t, "cancelled", s.Settled(r).End.Outcome)

	c.Model.Script(asks("call_4"))
	c.Prompt("fourth")
	r = s.Next()
	c.See("Type your own answer")
	s.Dismiss(r)
	s.Receipt(r, "consumed")
	c.Until("the dialog is gone", func(screen string) bool { return !strings.Contains(screen, "Type your own answer") })

	c.Model.Script(asks("call_5"), modeltest.Say("Noted five."))
	c.Prompt("fifth")
	own := watchtest.Picks()
	own.Text = "DuckDB"
	s.Answer(s.Next(), own)
	require.Contains(t, c.Told("call_5"), "DuckDB")
	c.See("Noted five.")

	c.Model.Script(shells("call_6", "echo six > six.txt && ls"), modeltest.Say("Ran six."))
	c.Prompt("sixth")
	r = s.Next()
	require.Contains(t, r.Detail, "echo six > six.txt && ls")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Ran six.")
	require.FileExists(t, filepath.Join(c.Start.Dir, "six.txt"))

	c.Model.Script(shells("call_7", "echo seven > seven.txt"), modeltest.Say("Seven was rejected."))
	c.Prompt("seventh")
	s.Answer(s.Next(), watchtest.Noted("Reject", "use printf"))
	c.See("use printf")
	require.NoFileExists(t, filepath.Join(c.Start.Dir, "seven.txt"))
	c.See("Seven was rejected.")

	c.Model.Script(shells("call_8", "echo eight > eight.txt"), modeltest.Say("Ran eight."))
	c.Prompt("eighth")
	r = s.Next()
	c.Choose("Allow once", "Enter")
	require.Equal(t, []string{"Allow once"}, s.Settled(r).End.Answers[0].Selected)
	c.See("Ran eight.")

	c.Model.Script(modeltest.Use("call_w", "write", object{"path": "b.txt", "content": "old\n"}), modeltest.Say("Wrote it."))
	c.Prompt("write")
	r = s.Next()
	require.Contains(t, r.Detail, "b.txt")
	require.Contains(t, r.Detail, "+old")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Wrote it.")

	// Both at once: the model is told one answer, and the hub says which it was.
	c.Model.Script(asks("call_b"), modeltest.Say("Noted both."))
	c.Prompt("both")
	r = s.Next()
	c.See("Type your own answer")
	c.Press("1")
	s.Decide(r, "SQLite", "") // perhaps too late
	told := c.Told("call_b")
	was := s.Settled(r).End
	t.Logf("%s: %+v", told, was)
	if was.By == "the terminal" {
		require.Contains(t, told, "PostgreSQL")
	} else if strings.Contains(told, "SQLite") {
		s.Receipt(r, "consumed")
	} else {
		s.Receipt(r, "undeliverable")
	}
	c.See("Noted both.")

	// A hub that comes while something is open.
	c.Model.Script(shells("call_9", "echo nine > nine.txt"), modeltest.Say("Ran nine."))
	c.Prompt("ninth")
	r = s.Next()
	end()
	s.Settled(r)
	end = begin()
	r = s.Next()
	require.Contains(t, r.Detail, "echo nine")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Ran nine.")

	c.Model.Script(modeltest.Use("call_10", "subagent", object{"description": "Look around", "prompt": "look around", "agent": "general"}),
		shells("call_11", "echo eleven > eleven.txt"), modeltest.Say("looked"), modeltest.Say("Delegated."))
	c.Prompt("tenth")
	r = s.Next()
	require.Contains(t, r.Call.SubAgent.Task, "Look around")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Delegated.")

	// What is open outlives the terminal.
	c.Model.Script(asks("call_12"), modeltest.Say("Noted twelve."))
	c.Prompt("twelfth")
	r = s.Next()
	require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
	s.Answer(r, watchtest.Picks("SQLite"))
	s.Receipt(r, "consumed")
	require.Contains(t, c.Told("call_12"), "SQLite")
	end()
}
