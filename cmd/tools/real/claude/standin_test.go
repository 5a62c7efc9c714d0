//go:build unix

package claude_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// A session without a prompt cannot be resumed: the same id starts it anew.
func TestRealSessionWithoutAPrompt(t *testing.T) {
	id := claude.NewSessionID()
	r := startReal(t, func(o *claude.Options) { o.SessionID = id })
	path := r.path
	require.NoError(t, r.Close(r.ctx))
	r.open(path, func(o *claude.Options) { o.Resume = id })
	_, err := r.Initialize(r.ctx)
	require.ErrorContains(t, err, "No conversation found")
	r.restart(path, func(o *claude.Options) { o.SessionID = id })
}
