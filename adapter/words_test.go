package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
)

// People and models read words, not the JSON of an error.
func TestWords(t *testing.T) {
	re := &acp.RequestError{Code: -32603, Message: "Claude Code exited with status 3", Data: map[string]any{"a": 1}}
	for err, want := range map[error]string{
		re:                                   "Claude Code exited with status 3",
		fmt.Errorf("session/new: %w", re):    "session/new: Claude Code exited with status 3",
		errors.Join(errors.New("first"), re): "first\nClaude Code exited with status 3",
		errors.New("plain"):                  "plain",
	} {
		require.Equal(t, want, adapter.Words(err))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(re)
	require.Equal(t, "The question was withdrawn: Claude Code exited with status 3", adapter.Withdrawn(ctx).Reason)
}
