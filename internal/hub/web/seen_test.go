package web

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	clock "github.com/acp-bridge/acp-bridge/internal/seen"
)

// The page's clock is in its script, and its time is that of package seen.
func TestRule3PageHasTheSameClock(t *testing.T) {
	script, err := files.ReadFile("page/page.js")
	require.NoError(t, err)
	require.Contains(t, string(script), fmt.Sprintf("settling = %d", clock.Card.Milliseconds()))
}
