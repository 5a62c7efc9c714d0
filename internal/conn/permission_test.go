package conn

import (
	"testing"
	"testing/synctest"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

func selected(id string, meta map[string]any) acp.RequestPermissionResponse {
	o := acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))
	o.Selected.Meta = meta
	return acp.RequestPermissionResponse{Outcome: o}
}

// What DecodePermission reads, on the wire, and what only exists there.
func TestRequestPermission(t *testing.T) {
	ask := func(t *testing.T, line string) (resp acp.RequestPermissionResponse, err error) {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, nil, nil)
			done := make(chan struct{})
			go func() {
				defer close(done)
				resp, err = p.conn.RequestPermission(t.Context(), acp.RequestPermissionRequest{SessionId: "s1"})
			}()
			require.Contains(t, p.read(), `"method":"session/request_permission","params":{`)
			p.write(line)
			<-done
		})
		return resp, err
	}
	t.Run("selected", func(t *testing.T) {
		got, err := ask(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"a","_meta":{"customText":"t"}}}}`)
		require.NoError(t, err)
		require.Equal(t, selected("a", map[string]any{"customText": "t"}), got)
	})
	t.Run("no outcome", func(t *testing.T) {
		_, err := ask(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected"}}}`)
		require.ErrorIs(t, err, ErrProtocol)
	})
	t.Run("result missing", func(t *testing.T) {
		_, err := ask(t, `{"jsonrpc":"2.0","id":1}`)
		require.ErrorIs(t, err, ErrProtocol)
	})
	t.Run("error", func(t *testing.T) {
		_, err := ask(t, `{"jsonrpc":"2.0","id":1,"error":"boom"}`)
		require.ErrorAs(t, err, new(*acp.RequestError))
		require.NotErrorIs(t, err, ErrProtocol)
	})
}
