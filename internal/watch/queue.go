package watch

import (
	"sync"

	"github.com/tidwall/gjson"
)

// Shared has what goroutines share for one function at a time.
type Shared struct{ mu sync.Mutex }

// Step runs a function that has it to itself, and waits for nothing.
func (s *Shared) Step(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Queue is what an agent has said and nobody has handled yet: replies are waited for meanwhile.
type Queue struct {
	Shared
	// More gets one when there is something.
	More chan struct{}
	said []gjson.Result
}

// NewQueue makes an empty one.
func NewQueue() *Queue { return &Queue{More: make(chan struct{}, 1)} }

// Put adds what was said. It does not block.
func (q *Queue) Put(said gjson.Result) {
	q.Step(func() { q.said = append(q.said, said) })
	select {
	case q.More <- struct{}{}:
	default:
	}
}

// Next takes the oldest, if there is one.
func (q *Queue) Next() (said gjson.Result, ok bool) {
	q.Step(func() {
		if ok = len(q.said) > 0; ok {
			said, q.said = q.said[0], q.said[1:]
		}
	})
	return said, ok
}
