package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

func TestStatusText(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	st := web.Status{
		Version: "v1.2.3", Since: now.Add(-26*time.Hour - 3*time.Minute), Ready: false, Problem: "there is no connection to NATS",
		Engine: hubstore.Engine{
			Server: "n1", Cluster: "hubs", Leader: "n1", Replicas: 3, Values: 12, Bytes: 5 << 20,
			Peers: []hubstore.Peer{{Name: "n2", Lag: 7}, {Name: "n3", Offline: true}},
		},
		Open: 3, Gone: 1, Oldest: now.Add(-72 * time.Hour), Asked: 10, Answered: 6, Ended: 1, Failed: 2, Streams: 4, Devices: 2,
		Groups: []string{"api", "owner", strings.Repeat("long-", 20)},
	}
	got := statusText("https://hub.example", st, now)
	require.Equal(t, `address   https://hub.example
version   v1.2.3, started 26h3m ago
ready     no: there is no connection to NATS
engine    NATS cluster hubs by server n1, 12 records, 5 MiB
          1 of 3 replicas in sync, leader n1
          n2: 7 writes behind
          n3: offline
open      3 (the oldest for 3d), 1 without an asker
started   10 asked, 6 answered, 1 ended otherwise, 2 writes failed
streams   4
devices   2
groups    api, owner, long-long-long-long-long-long-long-long-long-long-long-lo…
`, got)
	for _, line := range strings.Split(got, "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(line), statusWidth)
	}
}

// How long something is past, in the units that a person would say.
func TestAgo(t *testing.T) {
	now := time.Now()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59*time.Second + 999*time.Millisecond: "59s", 61 * time.Second: "1m1s",
		time.Hour: "1h0m", 90*time.Minute + 5*time.Second: "1h30m", 48*time.Hour - time.Second: "47h59m", 48 * time.Hour: "2d", 80 * time.Hour: "3d",
	} {
		require.Equal(t, want, ago(now, now.Add(-d)), d)
	}
}
