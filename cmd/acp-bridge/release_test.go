package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		q := newQuiet(200*time.Millisecond, func() { calls.Add(1) })
		defer func() { q.timer.Stop() }()
		time.Sleep(time.Second)
		require.Zero(t, calls.Load(), "nobody was asked")
		for range 50 {
			q.disturb()
			time.Sleep(150 * time.Millisecond)
		}
		require.Zero(t, calls.Load(), "it was never quiet")
		time.Sleep(51 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 1, calls.Load())
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, calls.Load(), "once is enough")
		q.disturb()
		time.Sleep(201 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 2, calls.Load())

		q.f = func() { // a question that comes while memory is given back
			if calls.Add(1) == 3 {
				q.disturb()
			}
		}
		q.disturb()
		time.Sleep(401 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 4, calls.Load())
	})
}
