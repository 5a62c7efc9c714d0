package adapter_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// busy is a client that is busy for a while before it reads, and answers by itself
// some time later.
type busy struct {
	idle, thinks time.Duration
}

func (b busy) FeedsShowings() {}

func (b busy) work(ctx context.Context) {
	time.Sleep(b.idle)
	seen.Of(ctx).Look().Found(seen.Answered)
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
		"busy, then a person":    {busy{idle: time.Second, thinks: seen.Person}, convert.Answered},
		"idle, automatic":        {busy{thinks: 10 * time.Millisecond}, convert.Failed},
		"idle, a person":         {busy{thinks: time.Second}, convert.Answered},
		"busy, almost too early": {busy{idle: time.Second, thinks: seen.Person - time.Millisecond}, convert.Failed},
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

// Only the first reply is guarded: who has picked one option picks the next ones
// quickly, and nothing that was picked is lost.
func TestGuardOfLaterRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(t)
		a := adapter.New(permissionOnly{e.conn}, &adapter.Options{Guard: true})
		call := begin(t.Context(), a, callOf("q", multi))
		first := e.request()
		time.Sleep(seen.Person)
		e.result(first, `{"outcome":{"outcome":"selected","optionId":"Cache"}}`)
		e.result(e.request(), `{"outcome":{"outcome":"selected","optionId":"Auth"}}`)
		e.result(e.request(), `{"outcome":{"outcome":"selected","optionId":"__done__"}}`)
		o := call.wait()
		require.Equal(t, convert.Answered, o.Status, o.Reason)
		require.Equal(t, []string{"Auth", "Cache"}, o.Answers[0].Selected)
		e.leave()
	})
}

// typist replies in the conversation, each time after a while.
type typist struct {
	replies []string
	after   []time.Duration
	texts   []string
}

func (c *typist) RequestPermission(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{}, convert.ErrDisconnected
}

func (c *typist) AskInConversation(_ context.Context, m adapter.Message) (string, error) {
	n := len(c.texts)
	c.texts = append(c.texts, m.Text)
	time.Sleep(c.after[n])
	return c.replies[n], nil
}

// Prompts that were on their way when the question came are no answer to it, however many
// an editor had in line. Who sends nothing but those is not asked for ever.
func TestGuardOfPrompts(t *testing.T) {
	fast, slow := seen.Person-time.Millisecond, seen.Person
	for name, tc := range map[string]struct {
		guard bool
		after []time.Duration
		asked int
	}{
		"no guard":     {false, []time.Duration{0, 0}, 1},
		"a person":     {true, []time.Duration{slow, slow}, 1},
		"typed before": {true, []time.Duration{fast, slow}, 2},
		"in line":      {true, []time.Duration{0, fast, slow}, 3},
		"never slow":   {true, make([]time.Duration, 9), 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &typist{replies: append(slices.Repeat([]string{"1"}, tc.asked-1), "2"), after: tc.after}
				a := adapter.New(client, &adapter.Options{GuardPrompts: tc.guard, First: adapter.Conversation})
				o, _ := a.Ask(t.Context(), callOf("q", pick))
				require.Equal(t, tc.asked < 8, o.Status == convert.Answered && o.Answers[0].Selected[0] == "SQLite", o)
				require.Len(t, client.texts, tc.asked)
				for _, text := range client.texts[1:] {
					require.Contains(t, text, "before you can have read this question")
					require.Contains(t, text, client.texts[0])
				}
			})
		})
	}
}
