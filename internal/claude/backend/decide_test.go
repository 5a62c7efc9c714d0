package backend

import (
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/life"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// What nobody was shown is not told as what the user chose.
func TestPermissionThatWasNeverShown(t *testing.T) {
	withdrawn := convert.Outcome{Status: convert.Cancelled, Reason: "Withdrawn: another question was cancelled"}.Err()
	for want, err := range map[string]error{
		"The user was not asked for permission: the turn was interrupted, because another question was dismissed": withdrawn,
		"Permission was not given: the turn was interrupted, because the user dismissed another request":          fmt.Errorf("%w: %w", editor.ErrTakenBack, life.ErrWithAnother),
		"Permission was not given: the request was taken back: the user cancelled the turn":                       fmt.Errorf("%w: %w", editor.ErrTakenBack, life.Along{With: machine.ErrTurnCancelled}),
		"Permission was not given: the request was taken back: the session was deleted":                           fmt.Errorf("%w: %w", editor.ErrTakenBack, machine.ErrSessionDeleted),
		"Permission was not given: the request was taken back: the user sent another message instead":             fmt.Errorf("%w: %w", editor.ErrTakenBack, machine.ErrOtherMessage),
		"Permission was not given: " + fmt.Sprintf("%v: %v", editor.ErrTakenBack, convert.ErrDisconnected):        fmt.Errorf("%w: %w", editor.ErrTakenBack, convert.ErrDisconnected),
	} {
		d := decide(claude.ToolRequest{}, nil, acp.RequestPermissionResponse{}, err)
		require.Equal(t, claude.Deny(want, true), d.reply)
	}
}

// The CLI may not have written down yet what it was given a moment before its transcript
// was read.
func TestGivenSince(t *testing.T) {
	n := notes{dir: t.TempDir(), log: slog.New(slog.DiscardHandler), swept: new(atomic.Bool)}
	began := time.Now()
	for before, want := range map[time.Duration]bool{-time.Minute: true, flushTime / 2: true, 2 * flushTime: false} {
		n.keep("s", "c", given)
		at := began.Add(-before)
		require.NoError(t, os.Chtimes(n.path("s", "c"), at, at))
		require.Equal(t, want, n.givenSince(began, "s", "c"), before)
		n.keep("s", "c", leftOpen)
		require.False(t, n.givenSince(began, "s", "c"))
	}
}
