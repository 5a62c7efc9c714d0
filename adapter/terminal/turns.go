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
var turns = struct {
	sync.Mutex
	of map[any]*turn
}{of: map[any]*turn{}}

// turn is a terminal's.
type turn struct {
	free    chan struct{} // holds one while nobody asks
	waiting int           // who asks or wants to

	ended     time.Time // the last question
	withdrawn bool      // it was, before it was answered
}

// afterTime is how long what came last is remembered.
const afterTime = 10 * time.Second

// takeTurn waits for the terminal behind r, nil being the process's own. It
// fails when ctx ends.
func takeTurn(ctx context.Context, r io.Reader) (*turn, error) {
	var key any = r
	if r != nil && !reflect.TypeOf(r).Comparable() {
		key = new(int) // nobody else can have it
	}
	turns.Lock()
	for k, t := range turns.of {
		if t.waiting == 0 && time.Since(t.ended) > afterTime {
			delete(turns.of, k)
		}
	}
	t := turns.of[key]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		turns.of[key] = t
	}
	t.waiting++
	turns.Unlock()
	if ctx.Err() == nil { // an ended context never asks
		select {
		case <-t.free:
			return t, nil
		case <-ctx.Done():
		}
	}
	turns.Lock()
	defer turns.Unlock()
	t.waiting--
	return nil, context.Cause(ctx)
}

// end lets the next question be asked.
func (t *turn) end(withdrawn bool) {
	turns.Lock()
	defer turns.Unlock()
	t.ended, t.withdrawn = time.Now(), withdrawn
	t.waiting--
	t.free <- struct{}{}
}

// gone reports whether the question before was withdrawn a short time ago.
func (t *turn) gone() bool { return t.withdrawn && time.Since(t.ended) < afterTime }
