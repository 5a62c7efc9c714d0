package tty

import (
	"time"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// behindBurst is how long keys behind a burst are part of it: what is pasted may come
// in pieces.
const behindBurst = 4 * seen.Burst

// burst holds a key until it is known whether others follow it closer than fingers do.
type burst struct {
	held  []any
	last  time.Time // when the last key came
	until time.Time // of a burst: keys are part of it
}

// add takes events that came together. It returns those that are ready.
func (b *burst) add(events []any, at time.Time) (ready []any) {
	keys := 0
	for _, ev := range append(b.held, events...) {
		switch ev.(type) {
		case Key:
			keys++
		case Paste: // more of it may follow, by an end that was pasted, too
			keys += 2
		}
	}
	b.held = append(b.held, events...)
	if keys == 0 {
		return b.take()
	}
	together := keys > 1 || at.Sub(b.last) < seen.Burst
	if b.last = at; together {
		b.until = at.Add(behindBurst)
	}
	if !at.Before(b.until) {
		return nil
	}
	for i, ev := range b.held {
		if k, ok := ev.(Key); ok {
			k.Burst = true
			b.held[i] = k
		}
	}
	return b.take()
}

// take returns what is held: nothing has followed.
func (b *burst) take() []any {
	events := b.held
	b.held = nil
	return events
}
