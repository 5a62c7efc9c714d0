//go:build unix

package codex_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func TestMain(m *testing.M) { terminals.Main(m) }

type object = map[string]any

func asks(id string) modeltest.Reply {
	return modeltest.Use(id, "request_user_input", object{"questions": []object{{"id": "db", "question": "Which database?", "header": "Database",
		"options": []object{{"label": "PostgreSQL", "description": "big"}, {"label": "SQLite", "description": "small"}}}}})
}

func runs(id, command string) modeltest.Reply {
	return modeltest.Use(id, "exec_command", object{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"})
}

// The real Codex in a real terminal: answered at the hub first, in the terminal first,
// dismissed there, and ended.
func TestRealCodex(t *testing.T) {
	terminals.NeedsLonger(t)
	c := terminals.NewCodex(t)
	s := watchtest.New(t, web.CanAsk)
	c.Watch(s)
	c.Open()
	c.See("Ask Codex to do anything")
	turn := s.Turns()

	c.Model.Script(asks("call_one"), modeltest.Say("Noted one."))
	c.Prompt("first")
	r := s.Next()
	require.Equal(t, c.Start.Dir, r.Dir)
	require.Equal(t, "first", r.About.Prompt)
	c.See("Which database?")
	s.Answer(r, watchtest.Noted("SQLite", "it is small"))
	require.Contains(t, c.Told("call_one"), `["SQLite","user_note: it is small"]`)
	c.See("Noted one.")
	s.Receipt(r, "unknown")
	require.Equal(t, "Noted one.", turn().Get("text").Str)

	c.Model.Script(asks("call_two"), modeltest.Say("Noted two."))
	c.Prompt("second")
	r = s.Next()
	require.Equal(t, "second", r.About.Prompt)
	c.Choose("None of the above", "Enter")
	require.Contains(t, c.Told("call_two"), `["PostgreSQL"]`)
	require.Contains(t, s.Settled(r).End.Reason, "answered in the terminal")
	c.See("Noted two.")

	c.Model.Script(runs("call_three", "echo three > three.txt"), modeltest.Say("Ran three."))
	c.Prompt("third")
	r = s.Next()
	require.Contains(t, r.Detail, "echo three")
	c.See("Yes, proceed")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Ran three.")
	require.FileExists(t, filepath.Join(c.Start.Dir, "three.txt"))

	c.Model.Script(runs("call_four", "echo four > four.txt"), modeltest.Say("Ran four."))
	c.Prompt("fourth")
	r = s.Next()
	c.Choose("Yes, proceed", "y")
	require.Contains(t, s.Settled(r).End.Reason, "answered in the terminal")
	c.See("Ran four.")

	c.Model.Script(runs("call_five", "echo five > five.txt"))
	c.Prompt("fifth")
	r = s.Next()
	c.See("Yes, proceed")
	s.Answer(r, watchtest.Picks("Reject, and stop"))
	s.Receipt(r, "consumed")
	c.Until("the dialog is gone", func(screen string) bool { return !strings.Contains(screen, "Yes, proceed") })
	require.NoFileExists(t, filepath.Join(c.Start.Dir, "five.txt"))

	c.Model.Script(asks("call_six"))
	c.Prompt("sixth")
	r = s.Next()
	c.Choose("None of the above", "Escape")
	require.Equal(t, "failed", s.Settled(r).End.Outcome)

	c.Model.Script(asks("call_seven"))
	c.Prompt("seventh")
	r = s.Next()
	c.EndDaemons()
	require.Contains(t, s.Settled(r).End.Reason, "Codex has ended")
}
