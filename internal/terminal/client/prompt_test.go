package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

func TestPromptIsDrawnClean(t *testing.T) {
	p := newPrompt()
	const pasted = "say \u202eabc\u202c and  two"
	p.field.Insert(pasted)
	lines, row, col := p.view(40)
	require.Equal(t, []string{"> say abc and  two"}, lines)
	require.Equal(t, []int{0, len("> say abc and  two")}, []int{row, col})
	require.Equal(t, pasted, p.take(), "it is sent as it was pasted")
}

func TestPromptHistory(t *testing.T) {
	p := newPrompt()
	press := func(names ...string) string {
		for _, name := range names {
			p.key(tty.Key{Name: name}, 40)
		}
		return p.field.String()
	}
	require.Empty(t, press("up", "down"))
	for _, words := range []string{"one", "two\nlines", "two\nlines"} {
		p.field.Set(words)
		require.Equal(t, words, p.take())
	}
	p.field.Set("draft")
	require.Equal(t, "two\nlines", press("up"))
	require.Equal(t, "two\nlines", press("up"), "to its first line")
	require.Equal(t, "one", press("up", "up"))
	require.Equal(t, "draft", press("down", "down", "down"))
}
