package editor

import (
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// initialize learns what the editor can do, and answers with what the agent can.
func (f *front) initialize(ctx context.Context, params json.RawMessage) (any, error) {
	params = conn.Version1(params)
	r := f.readInitialize(params)
	f.notices.Store(gjson.GetBytes(params, "clientCapabilities.session.notices").IsObject())
	f.meet(r, nil)
	return f.backend.Initialize(ctx, r, params)
}

// readInitialize reads what a client says of itself. A client whose
// capabilities make no sense is one without any: it is served all the same.
func (f *front) readInitialize(params json.RawMessage) acp.InitializeRequest {
	var r acp.InitializeRequest
	err := json.Unmarshal(params, &r)
	if err == nil {
		return r
	}
	f.log.Warn("the editor's initialize has parts that cannot be read; they are passed over", "err", err)
	var name struct {
		ClientInfo *acp.Implementation `json:"clientInfo"`
	}
	_ = json.Unmarshal(params, &name) // without a name it is any client
	return acp.InitializeRequest{ClientInfo: name.ClientInfo}
}
