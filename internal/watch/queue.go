package watch

import (
	"context"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Queue is what an agent has said and nobody has handled yet: replies are waited for meanwhile.
type Queue struct {
	proc.Shared
	more chan struct{} // gets one when there is something
	said []gjson.Result
}

// NewQueue makes an empty one.
func NewQueue() *Queue { return &Queue{more: make(chan struct{}, 1)} }

// Put adds what was said. It does not block.
func (q *Queue) Put(said gjson.Result) {
	q.Step(func() { q.said = append(q.said, said) })
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// Each has what is said handled, as it comes, until ctx ends.
func (q *Queue) Each(ctx context.Context, handle func(context.Context, gjson.Result)) {
	for ctx.Err() == nil {
		var said []gjson.Result
		q.Step(func() { said, q.said = q.said, nil })
		for _, one := range said {
			if ctx.Err() == nil {
				handle(ctx, one)
			}
		}
		if len(said) > 0 {
			continue
		}
		select {
		case <-q.more:
		case <-ctx.Done():
		}
	}
}
