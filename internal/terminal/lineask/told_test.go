package lineask_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// What is told of a line shows no secret, and nothing that a terminal would obey.
func TestTold(t *testing.T) {
	require.Equal(t, lineask.NotShown, lineask.Told("hunter2", true))
	require.Empty(t, lineask.Told(" ", true))
	require.Equal(t, "hunter2", lineask.Told("hunter2", false))
	require.NotContains(t, lineask.Told("\x1b[2Jgone", false), "\x1b")
}
