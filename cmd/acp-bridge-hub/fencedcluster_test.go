package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// Answers that come at the same time, at two hubs of a cluster, are not in each other's
// way: hardly one is refused because another one is under way, and has to be checked anew
// and to wait once more.
func TestManyAnswersAtTwoHubsOfACluster(t *testing.T) {
	t.Parallel() // servers that elect take seconds, and no CPU
	_, addresses := cluster(t)
	const people, rounds = 100, 10
	var all sync.WaitGroup
	var checks atomic.Int64
	for hub := range 2 {
		s, err := hubstore.Open(t.Context(), hubstore.Options{URL: addresses, Replicas: 3})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		for i := range people {
			all.Go(func() {
				key := fmt.Sprintf("k%d.%d", hub, i)
				revision, err := s.Create(t.Context(), key, []byte("open"))
				for round := 0; round < rounds && err == nil; round++ {
					revision, err = s.UpdateWhile(t.Context(), key, fmt.Append(nil, round), revision, func(context.Context) error {
						checks.Add(1)
						return nil
					})
				}
				require.NoError(t, err)
			})
		}
	}
	all.Wait()
	const answers = 2 * people * rounds
	t.Logf("%d checks of %d answers", checks.Load(), answers)
	require.Less(t, int(checks.Load()), answers*11/10)
}
