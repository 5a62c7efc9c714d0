package client

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"
)

func TestPromptIsDrawnClean(t *testing.T) {
	p := newPrompt()
	const pasted = "say \u202eabc\u202c and  two"
	p.update(tea.PasteMsg{Content: pasted})
	lines, cursor := p.view(40)
	require.Equal(t, []string{"> say abc and  two"}, lines)
	require.Equal(t, len("> say abc and  two"), cursor.X)
	require.Equal(t, pasted, p.take(), "it is sent as it was pasted")
}
