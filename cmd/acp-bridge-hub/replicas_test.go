package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// What a hub was started with first, or a command without --replicas, does not
// stay: with --replicas 3 all that hubs keep is on three servers, also what was
// kept on one. A hub that is told less takes nothing away.
func TestReplicasAreRaised(t *testing.T) {
	t.Parallel() // servers that elect take seconds, and no CPU
	_, addresses := cluster(t)
	conn, err := nats.Connect(addresses, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	replicas := func(stream string) int {
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			return 0
		}
		return s.CachedInfo().Config.Replicas
	}
	one := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses)
	require.Eventually(t, func() bool {
		return one.post("/conversations/c/ask", askBody("toolu_1_x")) == http.StatusAccepted
	}, 3*time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool { return replicas("KV_questions") == 1 }, 3*time.Minute, 50*time.Millisecond)
	two := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses, "--replicas", "3")
	for range 2 {
		for _, stream := range []string{"KV_questions", "KV_questions-access", "KV_questions-told"} {
			require.Eventually(t, func() bool { return replicas(stream) == 3 }, 3*time.Minute, 50*time.Millisecond, stream)
		}
		startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses)
	}
	require.Eventually(t, func() bool {
		return two.post("/conversations/c/respond", `{"answers":{"Go on?":"Yes"}}`) == http.StatusOK
	}, 3*time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		return one.post("/conversations/c/ask?wait=1m", askBody("toolu_1_x")) == http.StatusOK
	}, 3*time.Minute, 50*time.Millisecond)
}
