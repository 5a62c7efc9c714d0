package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A long name does not run into what it does, and the keys come last: a list of
// commands can be longer than the screen.
func TestHelp(t *testing.T) {
	text := helpText([]command{{name: "output-style", description: "List styles"}, {name: strings.Repeat("x", 30), description: "Long"}})
	lines := strings.Split(text, "\n")
	require.Equal(t, "/output-style           List styles", lines[0])
	require.Equal(t, "/"+strings.Repeat("x", 30)+"  Long", lines[1])
	require.Contains(t, lines[len(lines)-1], "while the agent works")
}
