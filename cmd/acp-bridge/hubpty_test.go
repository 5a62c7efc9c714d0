//go:build linux || darwin

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// With several questions waiting a person picks one, and answers it.
func TestPickAmongQuestionsAtHub(t *testing.T) {
	h := startTestHub(t)
	h.ask("c1", "first", "Which database?")
	h.ask("c2", "second", "Which editor?")
	c := startOnTerminal(t, t.TempDir(), "questions", "answer", "--plain", "--hub", h.url)
	c.see("Which one?")
	c.see("2. Which database?")
	c.press("2\r")
	c.see("SQLite")
	c.press("2\r")
	require.Equal(t, "Answered: first\n", acptest.Must(c.stdout.ReadString('\n')))
	require.NoError(t, c.cmd.Wait())
	r := h.await(func(r *hub.Record) bool { return !r.Open() })
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, r.End.Answers)
}

// The terminal and the hub are asked at once: who is first has answered, and the other is told.
func TestAskOnTerminalAndAtHub(t *testing.T) {
	for by, answer := range map[string]func(h *testHub, c *shell){
		whoAmI(): func(_ *testHub, c *shell) { c.press("2") },
		"phone": func(h *testHub, c *shell) {
			h.answer(h.open(), convert.Answer{Selected: []string{"SQLite"}})
			c.see("✗ DB: answered elsewhere")
		},
	} {
		h := startTestHub(t)
		c := startOnTerminal(t, t.TempDir(), "ask", "--hub", h.url)
		acptest.Must(c.stdin.Write([]byte(hubCall)))
		require.NoError(t, c.stdin.Close())
		c.see("Which database?")
		h.open()
		answer(h, c)
		require.Contains(t, acptest.Must(c.stdout.ReadString('\n')), "SQLite")
		require.NoError(t, c.cmd.Wait())
		end := h.await(func(r *hub.Record) bool { return !r.Open() }).End
		require.Equal(t, []string{by, "SQLite"}, append([]string{end.By}, end.Answers[0].Selected...))
	}
}
