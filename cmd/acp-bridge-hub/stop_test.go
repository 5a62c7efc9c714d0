package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk/jetstream"
	"github.com/acp-bridge/acp-bridge/internal/netfault"
)

// A hub that is told to stop ends its streams, and replies to what it has begun
// to write, also if its store is slow just then.
func TestStopCutsNothing(t *testing.T) {
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	require.True(t, n.ReadyForConnections(time.Minute))
	proxy, err := netfault.Listen(strings.TrimPrefix(n.ClientURL(), "nats://"))
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	p := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", "nats://"+proxy.Addr())
	store, err := jetstream.Open(t.Context(), jetstream.Options{URL: n.ClientURL()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	written := make(chan struct{}, 10)
	go func() {
		_ = store.Watch(t.Context(), func(jetstream.Entry) { written <- struct{}{} }, func() {})
	}()

	proxy.Set(netfault.LoseReplies)
	asked := make(chan int, 1)
	go func() { asked <- p.post("/conversations/c1/ask", askBody("toolu_1_x")) }()
	<-written // and the hub does not know
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	proxy.Set(netfault.Pass)
	require.Equal(t, http.StatusAccepted, <-asked)
	require.NoError(t, p.cmd.Wait())
}
