package adapter_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
)

// busy is a client that is busy for a while before it reads, and answers by itself
// some time later.
type busy struct {
	idle, thinks time.Duration
}

type readAt struct{}

func (b busy) TimeReads(ctx context.Context) (context.Context, func() time.Duration) {
	at := new(time.Time)
	return context.WithValue(ctx, readAt{}, at), func() time.Duration {
		if at.IsZero() {
			return 0
		}
		return time.Since(*at)
	}
}

func (b busy) work(ctx context.Context) {
	time.Sleep(b.idle)
	if at, ok := ctx.Value(readAt{}).(*time.Time); ok {
		*at = time.Now()
	}
	time.Sleep(b.thinks)
}

func (b busy) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	b.work(ctx)
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(r.Options[0].OptionId)}, nil
}

func (b busy) CreateElicitation(ctx context.Context, _ any) (json.RawMessage, error) {
	b.work(ctx)
	return json.RawMessage(`{"action":"accept","content":{"question_0":"PostgreSQL"}}`), nil
}

// The guard counts from when the client can have read the question, not from when
// it was sent: a busy editor's automatic answer is no user's.
func TestGuardOfABusyClient(t *testing.T) {
	for name, tc := range map[string]struct {
		client busy
		want   convert.Status
	}{
		"busy, then automatic":   {busy{idle: time.Second}, convert.Failed},
		"busy, then a person":    {busy{idle: time.Second, thinks: adapter.GuardTime}, convert.Answered},
		"idle, automatic":        {busy{thinks: 10 * time.Millisecond}, convert.Failed},
		"idle, a person":         {busy{thinks: time.Second}, convert.Answered},
		"busy, almost too early": {busy{idle: time.Second, thinks: adapter.GuardTime - time.Millisecond}, convert.Failed},
	} {
		for rung, forms := range map[string]bool{"permission": false, "form": true} {
			t.Run(name+", "+rung, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					first := adapter.Permission
					if forms {
						first = adapter.Form
					}
					a := adapter.New(tc.client, &adapter.Options{Guard: true, Forms: forms, First: first})
					o, _ := a.Ask(t.Context(), callOf("q", pick))
					require.Equal(t, tc.want, o.Status, o.Reason)
				})
			})
		}
	}
}
