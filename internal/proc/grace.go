// How long others are waited for, on machines that may stand still: a laptop sleeps, a
// virtual machine is paused, a busy one lets a process wait for seconds. A timer that was
// set before has run out by then, and what it was to give time
// to had none: an exit is taken for a hang, and last words are lost. Here only time
// counts in which this process runs.

package proc

import (
	"context"
	"time"
)

// steps is in how many parts a grace is waited for. Standing still costs one of them.
const steps = 20

// Within waits for done, for so long, and reports whether it came.
func Within[T any](done <-chan T, d time.Duration) bool {
	for range steps {
		select {
		case <-done:
			return true
		case <-time.After(d / steps):
		}
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Context is [context.WithTimeout] with such a time. The cause of its end is
// [context.DeadlineExceeded].
func Context(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		if !Within(ctx.Done(), d) {
			cancel(context.DeadlineExceeded)
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Sleep waits for so long, or until the context ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
