package main

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
)

// releaseWhileAsking gives memory back to the system while a person thinks about
// a question: nothing else happens then, and it may take hours.
func releaseWhileAsking(d *desk.Desk) (stop func()) {
	q := newQuiet(200*time.Millisecond, func() {
		runtime.GC() // each round halves the stacks that are too large for waiting
		debug.FreeOSMemory()
		trim()
	})
	leave := d.Watch(func(e desk.Entry) {
		if e.State == desk.Asking {
			q.disturb()
		}
	})
	return func() {
		leave()
		q.timer.Stop()
	}
}

// quiet calls a function when some time has passed since it was last disturbed.
// To be disturbed costs next to nothing: its timer is set once a while, not each
// time.
type quiet struct {
	after time.Duration
	begin time.Time
	last  atomic.Int64 // since begin
	armed atomic.Bool
	timer *time.Timer
	f     func()
}

func newQuiet(after time.Duration, f func()) *quiet {
	q := &quiet{after: after, begin: time.Now(), f: f}
	q.timer = time.AfterFunc(time.Hour, q.fire)
	q.timer.Stop()
	return q
}

func (q *quiet) disturb() {
	q.last.Store(int64(time.Since(q.begin)))
	if q.armed.CompareAndSwap(false, true) {
		q.timer.Reset(q.after)
	}
}

func (q *quiet) fire() {
	last := q.last.Load()
	if left := q.after - (time.Since(q.begin) - time.Duration(last)); left > 0 {
		q.timer.Reset(left)
		return
	}
	q.f()
	q.armed.Store(false)
	if q.last.Load() != last { // disturbed meanwhile
		q.disturb()
	}
}
