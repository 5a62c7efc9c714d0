package micro_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// BenchmarkRoundTrip is the floor of the hub: a question is written, a watcher
// sees it, it is answered, the watcher sees that.
func BenchmarkRoundTrip(b *testing.B) {
	s := open(b, b.TempDir())
	seen := make(chan uint64, 10)
	ready := make(chan struct{})
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	go func() {
		_ = s.Watch(ctx, func(e hubstore.Entry) { seen <- e.Revision }, func() { close(ready) })
	}()
	<-ready
	value := []byte(strings.Repeat("x", 600))
	i := 0
	for b.Loop() {
		key := "k." + strconv.Itoa(i)
		i++
		rev, err := s.Create(ctx, key, value)
		require.NoError(b, err)
		<-seen
		_, err = s.Update(ctx, key, value, rev)
		require.NoError(b, err)
		<-seen
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		s := open(b, dir)
		s.Close()
	}
}

func open(t testing.TB, dir string) *hubstore.Store {
	t.Helper()
	s, err := hubstore.Open(t.Context(), hubstore.Options{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}
