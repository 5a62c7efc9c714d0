package hubstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Create writes a value under a key that has none, or fails with [ErrConflict].
func (s *Store) Create(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	return s.CreateIf(ctx, key, value, nil)
}

// CreateIf is Create with a check right before each attempt, of which there may be
// several while a server is gone. If it fails, nothing more is tried.
func (s *Store) CreateIf(ctx context.Context, key string, value []byte, may func(context.Context) error) (revision uint64, err error) {
	return s.put(ctx, "create", write{key: key, value: value, may: may})
}

// Update replaces the value that has this revision, or fails with
// [ErrConflict].
func (s *Store) Update(ctx context.Context, key string, value []byte, old uint64) (revision uint64, err error) {
	return s.UpdateIf(ctx, key, value, old, nil)
}

// UpdateIf is Update with a check, as [Store.CreateIf] has it.
func (s *Store) UpdateIf(ctx context.Context, key string, value []byte, old uint64, may func(context.Context) error) (revision uint64, err error) {
	return s.put(ctx, "update", write{key: key, value: value, old: old, may: may})
}

// UpdateWhile is UpdateIf for what must not be written after a fence that was put up
// since the check, see [Store.Fence], however long it takes on its way.
func (s *Store) UpdateWhile(ctx context.Context, key string, value []byte, old uint64, may func(context.Context) error) (revision uint64, err error) {
	return s.put(ctx, "update", write{key: key, value: value, old: old, may: may, fenced: true})
}

// write is a value that is to be written.
type write struct {
	key   string
	value []byte
	old   uint64                      // revision of the value that it replaces; 0 is none
	may   func(context.Context) error // or nil
	// fenced says that no fence may have been put up since it was allowed; behind is
	// the revision of the last one.
	fenced bool
	behind uint64
}

// Delete removes the value that has this revision, or fails with
// [ErrConflict].
func (s *Store) Delete(ctx context.Context, key string, old uint64) error {
	m := s.noteAt(key)
	m.Header.Set("Nats-Rollup", "sub")
	m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(old, 10))
	ack, err := s.js.PublishMsg(ctx, m)
	if err == nil {
		s.wrote(Entry{Key: key, Revision: ack.Sequence})
	}
	return s.wrap("delete", key, err)
}

// Purge removes what keys have that was written before a revision, or everything if that is
// 0, and leaves no mark of it: whoever watches is not told. An asterisk in keys stands for
// anything between dots.
func (s *Store) Purge(ctx context.Context, keys string, before uint64) error {
	return s.purge(ctx, "purge", keys, jetstream.WithPurgeSequence(before))
}

// Trim removes the values that a key had before, where the bucket keeps any: one
// that an operator made may.
func (s *Store) Trim(ctx context.Context, key string) error {
	if status, err := s.kv.Status(ctx); err != nil || status.History() <= 1 {
		return s.wrap("trim", key, err)
	}
	return s.purge(ctx, "trim", key, jetstream.WithPurgeKeep(1))
}

func (s *Store) purge(ctx context.Context, what, keys string, which jetstream.StreamPurgeOpt) error {
	stream, err := s.js.Stream(ctx, s.stream())
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(s.subjectOf(keys)), which)
	}
	return s.wrap(what, keys, err)
}

// Get returns a value, or [ErrNotFound]. Where servers are elsewhere, it tries
// until ctx ends: a bucket that another process has made a moment ago has nobody
// yet who can tell.
func (s *Store) Get(ctx context.Context, key string) (Entry, error) {
	return s.read(ctx, key, func(ctx context.Context, key string) (Entry, error) {
		e, err := attempt(ctx, s.shared, attemptTime, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return s.kv.Get(ctx, key) })
		if err != nil {
			return Entry{}, err
		}
		return Entry{key, e.Value(), e.Revision()}, nil
	})
}

// read tries once, and where servers are elsewhere until ctx ends.
func (s *Store) read(ctx context.Context, key string, once func(ctx context.Context, key string) (Entry, error)) (Entry, error) {
	for {
		e, err := once(ctx, key)
		if err == nil || !s.shared || !passes(err) {
			return e, s.wrap("get", key, err)
		}
		if pause(ctx, retryPause); ctx.Err() != nil {
			return Entry{}, s.wrap("get", key, err)
		}
	}
}

const (
	// attemptTime is how long a server elsewhere may take for a request before
	// it is made again: what was sent to one that died gets no reply, ever. For a
	// write it is firstTime at first, as a server that has just begun to lead may
	// drop what it gets; one that is slow gets no more of them for that.
	attemptTime = 2 * time.Second
	firstTime   = time.Second
	// retryPause is between two attempts.
	retryPause = 100 * time.Millisecond
)

// toSend is how much longer an attempt may take for what it sends: otherwise a large
// value never gets through a slow line.
func toSend(bytes int) time.Duration { return time.Duration(bytes) * time.Second / (128 << 10) }

// put writes a value. Where servers are elsewhere, it tries until ctx ends: a
// cluster that has lost its leader has another one in some seconds.
func (s *Store) put(ctx context.Context, what string, w write) (uint64, error) {
	if limit := s.Limit(); len(w.value) > limit {
		return 0, fmt.Errorf("%s %q: %w: expected at most %d bytes, got %d", what, w.key, ErrTooLarge, limit, len(w.value))
	}
	most := firstTime
	for unsure := false; ; unsure = true {
		revision, err := s.putOnce(ctx, w, most)
		refused, isRefused := errors.AsType[refusal](err)
		if isRefused && !unsure {
			return 0, refused.error
		}
		if errors.Is(err, context.DeadlineExceeded) {
			most = attemptTime
		}
		if err == nil {
			s.wrote(Entry{w.key, there(w.value), revision})
			return revision, nil
		}
		if err = s.wrap(what, w.key, err); !s.shared {
			return 0, err
		}
		if unsure && (isRefused || errors.Is(err, ErrConflict)) {
			// An attempt without a reply may be the one that was first, before that was refused.
			last, lost := s.lastOf(ctx, w.key)
			switch {
			case lost == nil && last.Revision > w.old && bytes.Equal(last.Value, w.value):
				return last.Revision, nil
			case lost == nil && isRefused:
				return 0, refused.error
			case lost == nil && last.Revision > w.old:
				return 0, err
			}
		} else if !passes(err) {
			return 0, err
		}
		if pause(ctx, retryPause); ctx.Err() != nil {
			return 0, err
		}
	}
}

// there is a value that was not removed, also if it is empty.
func there(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// refusal is why something may not be written.
type refusal struct{ error }

// putOnce is one attempt to write a value, if it may be written.
func (s *Store) putOnce(ctx context.Context, w write, most time.Duration) (uint64, error) {
	if w.fenced {
		done, err := s.enter(ctx, &w)
		if err != nil {
			return 0, err
		}
		defer done()
	}
	if w.may != nil {
		if err := w.may(ctx); err != nil {
			return 0, refusal{err}
		}
	}
	return attempt(ctx, s.shared, most+toSend(len(w.value)), func(ctx context.Context) (uint64, error) { return s.write(ctx, w) })
}

func attempt[T any](ctx context.Context, bounded bool, most time.Duration, do func(context.Context) (T, error)) (T, error) {
	if bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	return do(ctx)
}

// Last returns what the leader of the bucket has under a key, as [Store.Get] does:
// the server that is asked there may be behind.
func (s *Store) Last(ctx context.Context, key string) (Entry, error) {
	return s.read(ctx, key, s.lastOf)
}

// lastOf is one attempt of Last.
func (s *Store) lastOf(ctx context.Context, key string) (Entry, error) {
	m, err := attempt(ctx, s.shared, attemptTime, func(ctx context.Context) (*nats.RawStreamMsg, error) {
		return s.direct.GetLastMsg(s.stream(), s.subjectOf(key), nats.Context(ctx))
	})
	if err != nil {
		return Entry{}, err
	}
	return Entry{key, m.Data, m.Sequence}, nil
}

// Mark writes a mark and returns its revision: whoever has seen it has seen all
// that anybody wrote before. A mark is no value, and one takes the place of
// another of this process. To ask for the last revision instead is not enough: a
// server that was cut off may believe for seconds that it still leads. Where
// servers are elsewhere, Mark tries until ctx ends.
func (s *Store) Mark(ctx context.Context) (uint64, error) {
	revision, err := s.note(ctx, s.mark)
	if err != nil {
		return 0, fmt.Errorf("mark: %w", err)
	}
	return revision, nil
}

// note writes under a key that has no value. A server in this process that is slow would
// be slow the next time, too.
func (s *Store) note(ctx context.Context, key string) (uint64, error) {
	for most := firstTime; ; {
		ack, err := attempt(ctx, s.shared, most, func(ctx context.Context) (*nats.PubAck, error) {
			return s.direct.PublishMsg(s.noteAt(key), nats.Context(ctx))
		})
		if err == nil {
			s.wrote(Entry{Key: key, Revision: ack.Sequence})
			return ack.Sequence, nil
		}
		if errors.Is(err, context.DeadlineExceeded) {
			most = attemptTime
		}
		if pause(ctx, retryPause); ctx.Err() != nil {
			return 0, err
		}
	}
}

func (s *Store) noteAt(key string) *nats.Msg {
	m := nats.NewMsg(s.subjectOf(key))
	m.Header.Set("KV-Operation", "DEL")
	return m
}

// stream is the stream below the bucket, and subjectOf where it has a key.
func (s *Store) stream() string              { return "KV_" + s.kv.Bucket() }
func (s *Store) subjectOf(key string) string { return "$KV." + s.kv.Bucket() + "." + key }

func (s *Store) wrap(what, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch), isCode(err, wrongLast), isCode(err, wrongLastUnknown):
		err = ErrConflict
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, nats.ErrMsgNotFound):
		err = ErrNotFound
	}
	return fmt.Errorf("%s %q: %w", what, key, err)
}
