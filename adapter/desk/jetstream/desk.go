package jetstream

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
)

// Desk keeps the items of desks: many processes may have one over the same
// bucket. It implements [desk.Store]. The bucket is used for nothing else.
type Desk struct{ Store *Store }

var _ desk.Store = Desk{}

// takeTime is how long an entry stays taken whose taker died meanwhile.
const takeTime = time.Minute

// kept is an entry as it is written. It has a revision of its own: that it is
// being taken changes nothing about it.
type kept struct {
	Revision   uint64
	Kind       desk.Kind
	Call       json.RawMessage
	Agent, Dir string
	Asked      time.Time
	State      desk.State
	Settlement desk.Settlement
	// Taker is whoever uses it since this was written.
	Taker string `json:",omitempty"`
}

func encodeEntry(e desk.Entry) (kept, error) {
	call, err := json.Marshal(e.Call)
	return kept{Revision: e.Revision, Kind: e.Kind, Call: call, Agent: e.Agent, Dir: e.Dir, Asked: e.Asked, State: e.State, Settlement: e.Settlement}, err
}

func (k kept) entry() (e desk.Entry, err error) {
	e = desk.Entry{Item: desk.Item{Kind: k.Kind, Agent: k.Agent, Dir: k.Dir}, Revision: k.Revision, Asked: k.Asked, State: k.State, Settlement: k.Settlement}
	return e, json.Unmarshal(k.Call, &e.Call)
}

// taken reports whether somebody uses what is kept under a key now. The server's
// clock decides: that of the taker's machine is another one than that of this.
func (d Desk) taken(ctx context.Context, key string, k kept) (bool, error) {
	if k.Taker == "" {
		return false, nil
	}
	age, err := d.Store.age(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return true, nil // it was, and has been used by now
	}
	return age < takeTime, err
}

func entryKey(e desk.Entry) string {
	sum := sha256.Sum256([]byte(e.Call.Session + "\x00" + e.Call.ID))
	return hex.EncodeToString(sum[:16])
}

// get returns what is kept under a key, and the bucket's revision of that. It is
// the zero value if there is nothing.
func (d Desk) get(ctx context.Context, key string) (k kept, revision uint64, err error) {
	v, err := d.Store.Get(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return k, 0, nil
	case err != nil:
		return k, 0, err
	}
	return k, v.Revision, json.Unmarshal(v.Value, &k)
}

func (d Desk) write(ctx context.Context, key string, k kept, old uint64) (revision uint64, err error) {
	data, err := json.Marshal(k)
	if err != nil {
		return 0, err
	}
	if old == 0 {
		return d.Store.Create(ctx, key, data)
	}
	return d.Store.Update(ctx, key, data, old)
}

// Put implements [desk.Store].
func (d Desk) Put(ctx context.Context, e desk.Entry) (desk.Entry, error) {
	key := entryKey(e)
	for {
		now, old, err := d.get(ctx, key)
		if err != nil {
			return desk.Entry{}, err
		}
		taken, err := d.taken(ctx, key, now)
		if err != nil {
			return desk.Entry{}, err
		}
		if now.Revision != e.Revision || taken {
			if now.Revision == 0 {
				return desk.Entry{}, desk.ErrConflict
			}
			is, err := now.entry()
			return is, errors.Join(desk.ErrConflict, err)
		}
		next, err := encodeEntry(e)
		if err != nil {
			return desk.Entry{}, err
		}
		next.Revision = max(uint64(time.Now().UnixNano()), now.Revision+1)
		switch _, err := d.write(ctx, key, next, old); {
		case err == nil:
			return next.entry()
		case !errors.Is(err, ErrConflict):
			return desk.Entry{}, err
		}
	}
}

// Take implements [desk.Store].
func (d Desk) Take(ctx context.Context, e desk.Entry, use func() error) error {
	key := entryKey(e)
	now, old, err := d.get(ctx, key)
	switch {
	case err != nil:
		return err
	case now.Revision == 0 || now.Revision != e.Revision:
		return desk.ErrConflict
	}
	if taken, err := d.taken(ctx, key, now); err != nil {
		return err
	} else if taken {
		return desk.ErrConflict
	}
	if use != nil {
		mine := now
		mine.Taker = rand.Text()
		taken, err := d.write(ctx, key, mine, old)
		if errors.Is(err, ErrConflict) {
			return desk.ErrConflict
		}
		if err != nil {
			return err
		}
		if err := use(); err != nil {
			if _, back := d.write(context.WithoutCancel(ctx), key, now, taken); back != nil {
				err = errors.Join(err, fmt.Errorf("the question stays taken for a while: %w", back))
			}
			return err
		}
		old, ctx = taken, context.WithoutCancel(ctx)
	}
	if err := d.Store.Delete(ctx, key, old); err != nil {
		if errors.Is(err, ErrConflict) {
			return desk.ErrConflict
		}
		return err
	}
	return nil
}

// List implements [desk.Store].
func (d Desk) List(ctx context.Context) ([]desk.Entry, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var list []desk.Entry
	var bad error
	err := d.Store.Watch(ctx, func(v Entry) {
		if v.Value == nil {
			return
		}
		e, err := decodeEntry(v)
		if err != nil {
			bad = err
			return
		}
		list = append(list, e)
	}, stop)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	return list, bad
}

func decodeEntry(v Entry) (desk.Entry, error) {
	var k kept
	if err := json.Unmarshal(v.Value, &k); err != nil {
		return desk.Entry{}, fmt.Errorf("value %q: %w", v.Key, err)
	}
	return k.entry()
}

// Watch implements [desk.Store].
func (d Desk) Watch(ctx context.Context) (<-chan desk.Change, error) {
	out, some := make(chan desk.Change), make(chan struct{}, 1)
	var mu sync.Mutex
	var untold []desk.Change
	last := map[string]desk.Entry{}
	told := false // what there was is known
	take := func(v Entry) {
		c := desk.Change{Entry: last[v.Key], Gone: v.Value == nil}
		if !c.Gone {
			e, err := decodeEntry(v)
			if err != nil || e.Revision == last[v.Key].Revision { // it is being taken
				return
			}
			c.Entry, last[v.Key] = e, e
		} else {
			delete(last, v.Key)
		}
		if !told || c.State == 0 {
			return
		}
		mu.Lock()
		untold = append(untold, c)
		mu.Unlock()
		select {
		case some <- struct{}{}:
		default:
		}
	}
	ready, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		failed <- d.Store.Watch(ctx, take, func() { told = true; close(ready) })
		close(some)
	}()
	select {
	case <-ready:
	case err := <-failed:
		return nil, err
	}
	go func() {
		defer close(out)
		for range some {
			mu.Lock()
			list := untold
			untold = nil
			mu.Unlock()
			for _, c := range list {
				select {
				case out <- c:
				case <-ctx.Done():
				}
			}
		}
	}()
	return out, nil
}
