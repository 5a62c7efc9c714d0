package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		q := newQuiet(200*time.Millisecond, func() { calls++ })
		defer func() { q.timer.Stop() }()
		time.Sleep(time.Second)
		require.Zero(t, calls, "nobody was asked")
		for range 50 {
			q.disturb()
			time.Sleep(150 * time.Millisecond)
		}
		require.Zero(t, calls, "it was never quiet")
		time.Sleep(51 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, calls)
		time.Sleep(time.Hour)
		require.Equal(t, 1, calls, "once is enough")
		q.disturb()
		time.Sleep(201 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 2, calls)

		q.f = func() { // a question that comes while memory is given back
			if calls++; calls == 3 {
				q.disturb()
			}
		}
		q.disturb()
		time.Sleep(401 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 4, calls)
	})
}
