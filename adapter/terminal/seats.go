package terminal

import (
	"context"
	"io"
	"reflect"
	"sync"
	"time"
)

// Questions on one terminal wait for each other: two at once would share its
// keys. What came last on it is remembered for a while, because a key may still
// be on its way.
var seats = struct {
	sync.Mutex // only step takes it
	of         map[any]*seat
}{of: map[any]*seat{}}

// step has the seats for one function at a time.
func step(f func()) {
	seats.Lock()
	defer seats.Unlock()
	f()
}

// seat is where one at a time asks on a terminal.
type seat struct {
	free    chan struct{} // holds one while nobody asks
	waiting int           // who asks or wants to

	ended     time.Time // the last question
	withdrawn bool      // it was, before it was answered
}

// afterTime is how long what came last is remembered.
const afterTime = 10 * time.Second

// takeSeat waits for the terminal behind r, nil being the process's own. It
// fails when ctx ends.
func takeSeat(ctx context.Context, r io.Reader) (*seat, error) {
	var key any = r
	if r != nil && !reflect.TypeOf(r).Comparable() {
		key = new(int) // nobody else can have it
	}
	var t *seat
	step(func() {
		for k, t := range seats.of {
			if t.waiting == 0 && time.Since(t.ended) > afterTime {
				delete(seats.of, k)
			}
		}
		if t = seats.of[key]; t == nil {
			t = &seat{free: make(chan struct{}, 1)}
			t.free <- struct{}{}
			seats.of[key] = t
		}
		t.waiting++
	})
	if ctx.Err() == nil { // an ended context never asks
		select {
		case <-t.free:
			return t, nil
		case <-ctx.Done():
		}
	}
	step(func() { t.waiting-- })
	return nil, context.Cause(ctx)
}

// end lets the next question be asked.
func (t *seat) end(withdrawn bool) {
	step(func() {
		t.ended, t.withdrawn = time.Now(), withdrawn
		t.waiting--
		t.free <- struct{}{} // has room for it
	})
}

// gone reports whether the question before was withdrawn a short time ago.
func (t *seat) gone() bool { return t.withdrawn && time.Since(t.ended) < afterTime }
