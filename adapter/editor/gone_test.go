package editor_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
)

// lateAgent opens a session when the editor has gone, and takes its time to end.
type lateAgent struct {
	editor.Backend
	editor.Conversation
	asked chan struct{}
	ended bool
}

func (a *lateAgent) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{ProtocolVersion: 1}, nil
}

func (a *lateAgent) Open(ctx context.Context, o editor.Opening) (editor.Conversation, any, error) {
	o.Session("s1")
	close(a.asked)
	<-ctx.Done()
	return a, acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *lateAgent) Request(context.Context, string, json.RawMessage) (any, error) { return nil, nil }

func (a *lateAgent) Close(context.Context) error {
	time.Sleep(time.Second)
	a.ended = true
	return nil
}

// Serve ends when every agent has, also one that was just being started.
func TestTheEditorGoesWhileASessionOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		a := &lateAgent{asked: make(chan struct{})}
		go func() {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n"+
				`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`+"\n")
			<-a.asked
			_ = w.Close()
		}()
		require.NoError(t, editor.Serve(t.Context(), in, io.Discard, a, nil))
		require.True(t, a.ended)
	})
}
