//go:build unix

package opencode_test

import (
	"os"
	"path/filepath"
	"syscall"
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
	return modeltest.Use(id, "question", object{"questions": []object{{"question": "Which database?", "header": "Database",
		"options": []object{{"label": "PostgreSQL", "description": "big"}, {"label": "SQLite", "description": "small"}}}}})
}

func runs(id, command string) modeltest.Reply {
	return modeltest.Use(id, "bash", object{"command": command, "description": "does it"})
}

// The real OpenCode in a real terminal: answered at the hub first, in the terminal first,
// dismissed, by a sub-agent, and killed.
func TestRealOpenCode(t *testing.T) { realTest(t, "opencode", "OPENCODE_CONFIG_CONTENT") }

// Kilo is made of OpenCode.
func TestRealKilo(t *testing.T) { realTest(t, "kilo", "KILO_CONFIG_CONTENT") }

func realTest(t *testing.T, name, config string) {
	terminals.NeedsLonger(t)
	c := terminals.NewTerminal(t, name)
	s := watchtest.New(t, web.CanAsk)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(s.Owner), 0o600))
	c.Run("hook", "install", name, "--hub", s.URL, "--hub-token-file", token)
	c.Start.Env = append(c.Start.Env, config+`={"permission":{"bash":"ask"}}`)
	c.Open()
	c.See("Ask anything")
	turn := s.Turns()

	c.Model.Script(asks("call_1"), modeltest.Say("Noted one."))
	c.Prompt("first")
	r := s.Next()
	c.See("Type your own answer")
	require.Equal(t, "first", r.About.Prompt)
	s.Answer(r, watchtest.Picks("SQLite"))
	require.Contains(t, c.Told("call_1"), `"Which database?"="SQLite"`)
	s.Receipt(r, "consumed")
	c.See("Noted one.")
	require.Equal(t, "Noted one.", turn().Get("text").Str)

	c.Model.Script(asks("call_2"), modeltest.Say("Noted two."))
	c.Prompt("second")
	r = s.Next()
	c.Choose("Type your own answer", "1")
	require.Contains(t, c.Told("call_2"), `"Which database?"="PostgreSQL"`)
	end := s.Settled(r).End
	require.Equal(t, "answered", end.Outcome)
	require.Contains(t, end.By, "the terminal")
	require.Equal(t, []string{"PostgreSQL"}, end.Answers[0].Selected)
	c.See("Noted two.")

	c.Model.Script(asks("call_3"))
	c.Prompt("third")
	r = s.Next()
	c.Choose("Type your own answer", "Escape")
	require.Equal(t, "cancelled", s.Settled(r).End.Outcome)

	c.Model.Script(runs("call_4", "echo four > four.txt"), modeltest.Say("Ran four."))
	c.Prompt("fourth")
	r = s.Next()
	require.Contains(t, r.Detail, "echo four")
	c.See("Permission required")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Ran four.")
	require.FileExists(t, filepath.Join(c.Start.Dir, "four.txt"))

	c.Model.Script(runs("call_5", "echo five > five.txt"), modeltest.Say("Five was rejected."))
	c.Prompt("fifth")
	s.Answer(s.Next(), watchtest.Noted("Reject", "use printf"))
	require.Contains(t, c.Told("call_5"), "use printf")
	require.NoFileExists(t, filepath.Join(c.Start.Dir, "five.txt"))
	c.See("Five was rejected.")

	c.Model.Script(runs("call_6", "echo six > six.txt"), modeltest.Say("Ran six."))
	c.Prompt("sixth")
	r = s.Next()
	c.Choose("Permission required", "Enter")
	require.Equal(t, []string{"Allow once"}, s.Settled(r).End.Answers[0].Selected)
	c.See("Ran six.")

	c.Model.Script(modeltest.Use("call_7", "task", object{"description": "Look around", "prompt": "look around", "subagent_type": "general"}),
		runs("call_8", "echo eight > eight.txt"), modeltest.Say("looked"), modeltest.Say("Delegated."))
	c.Prompt("seventh")
	r = s.Next()
	require.Contains(t, r.Call.SubAgent.Task, "Look around")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Delegated.")
	require.FileExists(t, filepath.Join(c.Start.Dir, "eight.txt"))

	c.Model.Script(asks("call_9"))
	c.Prompt("eighth")
	r = s.Next()
	require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
	require.NotEqual(t, "answered", s.Settled(r).End.Outcome) // Kilo's own program outlives its launcher, and rejects the question
}
