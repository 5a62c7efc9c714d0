package grace_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/grace"
)

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var never chan struct{}
		require.False(t, grace.Within(never, 3*time.Second))
		require.Equal(t, 3*time.Second, time.Since(begin))
		done := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(done) })
		begin = time.Now()
		require.True(t, grace.Within(done, 3*time.Second))
		require.Equal(t, time.Second, time.Since(begin))
		require.True(t, grace.Within(done, -1), "it was there before")
		require.False(t, grace.Within(never, -1))
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := grace.Context(t.Context(), 2*time.Second)
		<-ctx.Done()
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
		cancel()
		ctx, cancel = grace.Context(t.Context(), time.Hour)
		cancel()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		synctest.Wait()
	})
}
