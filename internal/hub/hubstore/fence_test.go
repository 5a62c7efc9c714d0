package hubstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// What was allowed before a fence is not written behind it, however long it was under
// way: it is checked again, and whoever has lost the right by then is refused.
func TestAWriteThatAFenceHasOvertaken(t *testing.T) {
	t.Parallel()
	for _, may := range []error{errors.New("no longer"), nil} {
		t.Run(fmt.Sprint(may), func(t *testing.T) {
			url, proxy := elsewhere(t)
			direct, s := openAt(t, url), openAt(t, "nats://"+proxy.Addr())
			beside := acptest.Must(direct.Beside(t.Context(), "-access", "", 0))
			made := acptest.Must(s.Create(t.Context(), "a", []byte("new")))
			first := acptest.Must(s.Update(t.Context(), "a", []byte("open"), made))
			require.ErrorIs(t, acptest.Err(s.UpdateWhile(t.Context(), "a", []byte("late"), made, nil)), hubstore.ErrConflict)
			checks, release := 0, func() {}
			something, held := make(<-chan struct{}), make(chan struct{})
			done := make(chan error, 1)
			go func() {
				_, err := s.UpdateWhile(t.Context(), "a", []byte("answered"), first, func(context.Context) error {
					if checks++; checks > 1 {
						return may
					}
					something, release = proxy.Hold()
					close(held)
					return nil
				})
				done <- err
			}()
			<-held
			<-something
			require.NoError(t, beside.Fence(t.Context()))
			release()
			require.Equal(t, may, <-done)
			require.Greater(t, checks, 1)
			require.Equal(t, may == nil, acptest.Must(direct.Get(t.Context(), "a")).Revision > first)
		})
	}
}

// Fences are no values, and writes that come at the same time get through one after
// another, each once.
func TestManyFencedWrites(t *testing.T) {
	t.Parallel()
	url, _ := elsewhere(t)
	for name, s := range map[string]*hubstore.Store{"embedded": open(t, t.TempDir()), "elsewhere": openAt(t, url)} {
		t.Run(name, func(t *testing.T) {
			const n = 40
			var wg sync.WaitGroup
			for i := range n {
				key := fmt.Sprint("k.", i)
				revision := acptest.Must(s.Create(t.Context(), key, []byte("open")))
				for _, by := range []string{"one", "two"} {
					wg.Go(func() {
						got, err := s.UpdateWhile(t.Context(), key, []byte(by), revision, func(context.Context) error { return nil })
						e, lost := s.Last(t.Context(), key)
						require.NoError(t, lost)
						if err == nil {
							require.Equal(t, hubstore.Entry{Key: key, Value: []byte(by), Revision: got}, e)
						} else {
							require.ErrorIs(t, err, hubstore.ErrConflict)
							require.NotEqual(t, by, string(e.Value))
						}
					})
				}
				if i%10 == 0 {
					wg.Go(func() { require.NoError(t, s.Fence(t.Context())) })
				}
			}
			wg.Wait()
			values := map[string]bool{}
			ctx, cancel := context.WithCancel(t.Context())
			_ = s.Watch(ctx, func(e hubstore.Entry) {
				if e.Value != nil {
					values[e.Key] = true
				}
			}, cancel)
			require.Len(t, values, n)
		})
	}
}
