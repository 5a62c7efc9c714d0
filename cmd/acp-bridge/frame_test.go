//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

// What is said while a question is drawn stands above it: the frame stays whole, so
// that whoever confirms sees what they confirm.
func TestNothingIsWrittenIntoAFrame(t *testing.T) {
	for name, args := range map[string][]string{
		"demo": {"demo"},
		"chat": {"chat", "--", self(t), "demo", "--stdio"},
	} {
		t.Run(name, func(t *testing.T) {
			h := startTestHub(t)
			env := []string{asBridge + "=1"}
			c := startConsole(t, 80, 30, env, append([]string{args[0], "--hub", h.url}, args[1:]...)...)
			if name == "chat" {
				c.Sees("/help")
				c.Sends("hello" + enter)
			}
			rule := strings.Repeat("─", 60)
			whole := func(text string) func(ttytest.Screen) bool {
				return func(s ttytest.Screen) bool {
					return strings.Contains(s.Text, text) && strings.Count(s.Text, rule) == 2
				}
			}
			frame := c.Wait("the frame", whole("Esc cancel")).Text
			frame = frame[strings.Index(frame, rule):]
			h.open()
			h.stop()
			require.NotContains(t, c.Sees("reach the hub"), "level=")
			c.Sees(frame)
			c.Sends(down)
			c.Wait("one frame, moved", func(s ttytest.Screen) bool {
				return whole("  > 2. SQLite")(s) && strings.Count(s.Text, "1. PostgreSQL") == 1 && strings.Count(s.Text, "  > ") == 1
			})
			c.Sends(ctrlC + ctrlC)
			c.Ends()
		})
	}
}

// The README's demo with a hub, answered there: the terminal says what the answer
// was, and the hub that the agent has used it.
func TestDemoAnsweredAtHub(t *testing.T) {
	h := startTestHub(t)
	c := startConsole(t, 80, 40, nil, "demo", "--hub", h.url)
	c.Sees("Esc cancel")
	h.answer(h.open(), convert.Answer{Selected: []string{"SQLite"}}, convert.Answer{Selected: []string{"Auth"}}, convert.Answer{Text: "shop"})
	require.Equal(t, exitOK, c.Ends())
	end := c.Sees("Claude Code would get")
	require.Contains(t, end, "Answered elsewhere: SQLite; Auth; shop")
	require.NotContains(t, end, "withdrew")
	h.await(isConsumed)
}
