package conn

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// A request that somebody answers elsewhere is taken back from its peer, which is told by
// whom: a person who sees it go is not to take it for the agent's doing.
//
//	{"requestId":7,"_meta":{"acp-bridge":{"settled":{"outcome":"answered","by":"Ann"}}}}

// CancelParams are the parameters of $/cancel_request for a request, which is no longer
// asked because ctx has ended.
func CancelParams(ctx context.Context, id json.RawMessage) []byte {
	params := map[string]any{"requestId": id}
	if there, ok := errors.AsType[life.Elsewhere](context.Cause(ctx)); ok {
		params["_meta"] = map[string]any{"acp-bridge": map[string]any{"settled": map[string]string{"outcome": there.Outcome, "by": there.By}}}
	}
	return clean.JSON(params)
}

// maxBy is how much of a name is shown.
const maxBy = 60

// CancelCause is why a peer takes a request back: a [life.Elsewhere] if it says so, else
// nil. The name is one line.
func CancelCause(params []byte) error {
	said := gjson.GetBytes(params, `_meta.acp-bridge.settled`)
	there := life.Elsewhere{Outcome: said.Get("outcome").Str, By: clean.Truncate(clean.Line(said.Get("by").Str), maxBy)}
	if s, ok := life.StatusOf(there.Outcome, there.By); ok && s.ByPerson() {
		return there
	}
	return nil
}
