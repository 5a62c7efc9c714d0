package conn_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// What is posted runs in order, once, before whoever enters next, and never beside
// anything else; who posts waits for nothing.
func TestLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := conn.FuncLane()
		var ran []int // of the lane
		add := func(i int) func() { return func() { ran = append(ran, i) } }

		l.Enter()
		l.Post(add(1)) // the lane is taken: it waits
		l.Post(add(2))
		entered := make(chan struct{})
		go func() {
			l.Enter()
			ran = append(ran, 3)
			close(entered)
		}()
		synctest.Wait()
		require.Empty(t, ran)
		l.Leave()
		<-entered
		require.Equal(t, []int{1, 2, 3}, ran)
		l.Post(func() {
			ran = append(ran, 4)
			l.Post(add(5)) // from the lane itself
		})
		synctest.Wait()
		require.Equal(t, []int{1, 2, 3}, ran)
		l.Leave()
		require.Equal(t, []int{1, 2, 3, 4, 5}, ran)

		l.Post(add(6)) // the lane is free: it runs by itself
		synctest.Wait()
		require.Equal(t, []int{1, 2, 3, 4, 5, 6}, ran)

		ran = nil
		for i := range 100 {
			go l.Post(add(i))
			go func() {
				l.Enter()
				defer l.Leave()
				ran = append(ran, 100+i)
			}()
		}
		synctest.Wait()
		slices.Sort(ran)
		require.Len(t, slices.Compact(ran), 200, "each once")
	})
}

// What was posted meanwhile is given to run together, as one piece.
func TestLinesInOnePiece(t *testing.T) {
	var ran []string
	l := conn.NewLane(func(b []byte) { ran = append(ran, string(b)) })
	for range 2 { // the second time in the slice of the first
		l.Enter()
		l.Post([]byte("one\n")...)
		l.Post([]byte("two\n")...)
		l.Leave()
		l.Enter()
		l.Leave()
	}
	require.Equal(t, []string{"one\ntwo\n", "one\ntwo\n"}, ran)
}
