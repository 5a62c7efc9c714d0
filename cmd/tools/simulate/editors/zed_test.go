package editors_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/assert"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// zed watches for what Zed does not forgive, with every client: a second
// request on an open tool call and a completed or failed update of one both
// resolve the first request as cancelled, and a request for a tool call that
// it does not know and that has no title is an error.
type zed struct {
	t      testing.TB
	untold bool // no request is taken back: the end of its tool call says that it needs no answer

	mu    sync.Mutex
	known map[string]bool            // tool calls
	open  map[string]context.Context // requests, by tool call; done when withdrawn
}

func newZed(t testing.TB, untold bool) *zed {
	return &zed{t: t, untold: untold, known: map[string]bool{}, open: map[string]context.Context{}}
}

func (z *zed) Arrives(ctx context.Context, method string, params gjson.Result) {
	z.mu.Lock()
	defer z.mu.Unlock()
	id := toolCallID(params)
	switch method {
	case acp.ClientMethodSessionUpdate:
		u := params.Get("update")
		if u.Get("sessionUpdate").Str == "tool_call" {
			assert.NotEmpty(z.t, u.Get("title").Str)
			z.known[id] = true
		}
		if status := u.Get("status").Str; status == "completed" || status == "failed" {
			assert.False(z.t, !z.untold && z.isOpen(id), "%s is %s while its request is open", id, status)
		}
	case acp.ClientMethodSessionRequestPermission, acp.ClientMethodElicitationCreate:
		assert.True(z.t, z.known[id], "a request before its tool call: %s", id)
		for other := range z.open {
			assert.False(z.t, z.isOpen(other), "a request for %s while the one for %s is open", id, other)
		}
		if call := params.Get("toolCall"); call.Exists() {
			assert.NotEmpty(z.t, call.Get("title").Str)
			assert.Equal(z.t, "other", call.Get("kind").Str)
			assert.Equal(z.t, "pending", call.Get("status").Str)
		}
		z.open[id] = ctx
	}
}

func (z *zed) Answered(params gjson.Result) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.open, toolCallID(params))
}

func (z *zed) isOpen(id string) bool {
	ctx := z.open[id]
	return ctx != nil && ctx.Err() == nil
}

// toolCallID is the tool call of an update, a permission request or a form.
func toolCallID(params gjson.Result) string {
	return params.Get("update.toolCallId").Str + params.Get("toolCall.toolCallId").Str + params.Get("toolCallId").Str
}

func jsonOf(t testing.TB, v any) json.RawMessage {
	return acptest.Must(json.Marshal(v))
}
