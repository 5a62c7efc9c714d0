package hub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk/jetstream"
	"github.com/acp-bridge/acp-bridge/adapter/hub"
	"github.com/acp-bridge/acp-bridge/convert"
)

// What one hub has told, another one knows: the answer may come in there, and so
// may what the agent says of it.
func TestNoHubDeniesWhatAnotherHasTold(t *testing.T) {
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	require.True(t, n.ReadyForConnections(time.Minute))
	var boards []*hub.Board
	for range 2 {
		store, err := jetstream.Open(t.Context(), jetstream.Options{URL: n.ClientURL()})
		require.NoError(t, err)
		t.Cleanup(store.Close)
		b, err := hub.Open(t.Context(), store, hub.Options{})
		require.NoError(t, err)
		t.Cleanup(b.Close)
		boards = append(boards, b)
	}
	for i := range 200 {
		one, two := boards[i%2], boards[(i+1)%2]
		ref := hub.Ref{Conversation: fmt.Sprint("c", i), ID: "q"}
		words := func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }
		_, err = one.Ask(t.Context(), asking(ref.Conversation, ref.ID, "Go?"))
		require.NoError(t, err)
		_, err = two.Answer(t.Context(), ref, words, "me")
		require.NoError(t, err)
		_, err = one.Consumed(t.Context(), ref)
		require.NoError(t, err)
		// The answer was consumed: the same again is another question.
		_, err = two.Ask(t.Context(), asking(ref.Conversation, ref.ID, "Go?"))
		require.NoError(t, err)
		_, err = one.TakeBack(t.Context(), ref, convert.Outcome{Status: convert.Cancelled}, "")
		require.NoError(t, err)
	}
}
