package web

import "context"

// fresh reads who may use the hub from a vault that others change, too. One reading
// is for all who want it when it begins: whoever writes needs one that began later
// than what it is about, and there may be many who write.
type fresh struct {
	reading chan struct{} // has a place for the one that reads
	next    *reading      // has not begun; of the lock of [Access]
}

type reading struct {
	done chan struct{}
	err  error
}

// renew takes what the vault has now.
func (a *Access) renew(ctx context.Context, v bucket) error {
	for {
		a.mu.Lock()
		one, first := a.fresh.next, false
		if one == nil {
			one, first = &reading{done: make(chan struct{})}, true
			a.fresh.next = one
		}
		a.mu.Unlock()
		if first {
			a.read(ctx, v, one)
			return one.err
		}
		select {
		case <-one.done:
			if one.err == nil {
				return nil // else the time of another one has run out
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// read reads for all who have joined by then.
func (a *Access) read(ctx context.Context, v bucket, one *reading) {
	defer close(one.done)
	select {
	case a.fresh.reading <- struct{}{}:
		defer func() { <-a.fresh.reading }()
	case <-ctx.Done():
		one.err = context.Cause(ctx)
	}
	a.mu.Lock()
	a.fresh.next = nil
	a.mu.Unlock()
	if one.err != nil {
		return
	}
	data, revision, err := v.last(ctx)
	if err == nil {
		err = a.take(data, revision)
	}
	one.err = err
}
