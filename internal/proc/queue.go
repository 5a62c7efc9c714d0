package proc

import "context"

// Queue holds what is said until somebody has time for it: whoever says it does not wait.
type Queue[T any] struct {
	Shared
	Ready chan struct{} // holds one while something is held
	held  []T
}

// NewQueue makes an empty one.
func NewQueue[T any]() *Queue[T] { return &Queue[T]{Ready: make(chan struct{}, 1)} }

// Put adds one more.
func (q *Queue[T]) Put(one T) {
	q.Step(func() { q.held = append(q.held, one) })
	select {
	case q.Ready <- struct{}{}:
	default:
	}
}

// Take returns what is held. After a receive from Ready there is something.
func (q *Queue[T]) Take() (held []T) {
	q.Step(func() { held, q.held = q.held, nil })
	return held
}

// Each handles what is put, as it comes, until ctx ends.
func (q *Queue[T]) Each(ctx context.Context, handle func(context.Context, T)) {
	for ctx.Err() == nil {
		select {
		case <-q.Ready:
		case <-ctx.Done():
		}
		for _, one := range q.Take() {
			if ctx.Err() == nil {
				handle(ctx, one)
			}
		}
	}
}
