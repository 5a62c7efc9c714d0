package backend

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// What is posted runs in order, once, before whoever enters next, and never beside
// anything else; who posts waits for nothing.
func TestLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane()
		var ran []int // of the lane
		add := func(i int) func() { return func() { ran = append(ran, i) } }

		l.enter()
		l.post(add(1)) // the lane is taken: it waits
		l.post(add(2))
		entered := make(chan struct{})
		go func() {
			l.enter()
			ran = append(ran, 3)
			close(entered)
		}()
		synctest.Wait()
		require.Empty(t, ran)
		l.leave()
		<-entered
		require.Equal(t, []int{1, 2, 3}, ran)
		l.post(func() {
			ran = append(ran, 4)
			l.post(add(5)) // from the lane itself
		})
		synctest.Wait()
		require.Equal(t, []int{1, 2, 3}, ran)
		l.leave()
		require.Equal(t, []int{1, 2, 3, 4, 5}, ran)

		l.post(add(6)) // the lane is free: it runs by itself
		synctest.Wait()
		require.Equal(t, []int{1, 2, 3, 4, 5, 6}, ran)

		ran = nil
		for i := range 100 {
			go l.post(add(i))
			go func() {
				l.enter()
				defer l.leave()
				ran = append(ran, 100+i)
			}()
		}
		synctest.Wait()
		slices.Sort(ran)
		require.Len(t, slices.Compact(ran), 200, "each once")
	})
}
