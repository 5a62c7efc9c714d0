package backend

import (
	"fmt"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// What nobody was shown is not told as what the user chose.
func TestPermissionThatWasNeverShown(t *testing.T) {
	withdrawn := convert.Outcome{Status: convert.Cancelled, Reason: "Withdrawn: another question was cancelled"}.Err()
	for want, err := range map[string]error{
		"The user was not asked for permission: the turn was interrupted, because another question was dismissed": withdrawn,
		"Permission was not given: the turn was interrupted, because the user dismissed another request":          fmt.Errorf("%w: %w", editor.ErrTakenBack, life.ErrWithAnother),
		"The user cancelled the turn": fmt.Errorf("%w: %w", editor.ErrTakenBack, convert.ErrCancelled),
		"Permission was not given: " + fmt.Sprintf("%v: %v", editor.ErrTakenBack, convert.ErrDisconnected): fmt.Errorf("%w: %w", editor.ErrTakenBack, convert.ErrDisconnected),
	} {
		d := decide(claude.ToolRequest{}, nil, acp.RequestPermissionResponse{}, err)
		require.Equal(t, claude.Deny(want, true), d.reply)
	}
}
