package hubstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// group joins writes that come at the same time. A server that is alone makes the
// disk keep each write before the next one, and a cluster agrees on each: of many
// at once, that is most of the work. Together they are one batch, which a server
// takes or refuses as a whole. The zero value works.
type group struct {
	proc.Shared
	flying map[string]int // writes under way, by key
	alone  int            // of them, those that are no part of a batch
	queue  []*joined
	drains bool // a goroutine takes what is in the queue
	asked  time.Time
}

// joined is a write in the queue.
type joined struct {
	write
	done chan wrote
}

type wrote struct {
	revision uint64
	err      error
}

const (
	// fewAlone is how many writes go one by one: below it a batch costs more, as
	// the server puts it on the disk first. Servers of a cluster do not.
	fewAlone, fewInCluster = 24, 4
	// mostJoined bounds a batch, and so do mostBytes: nobody waits for long.
	mostJoined, mostBytes = 500, 1 << 20
	// askAgain is how often a server is asked whether it takes batches by now.
	askAgain = 30 * time.Second
)

// errAlone means that a batch was refused: each write has to be made by itself.
var errAlone = errors.New("the batch was refused")

// write makes a write by itself, or together with others.
func (s *Store) write(ctx context.Context, w write) (uint64, error) {
	if w.fenced && s.shared && s.batches.Load() { // a bucket of an operator may take none: then the check has to do
		return s.writeFenced(ctx, w)
	}
	j := s.join(w)
	if j == nil {
		defer s.group.Step(func() {
			s.group.alone--
			s.group.landed(w.key)
		})
		return s.writeAlone(ctx, w)
	}
	select {
	case wrote := <-j.done:
		if errors.Is(wrote.err, errAlone) {
			return s.writeAlone(ctx, w)
		}
		return wrote.revision, wrote.err
	case <-ctx.Done():
		s.unjoin(j)
		return 0, ctx.Err()
	}
}

func (s *Store) writeAlone(ctx context.Context, w write) (uint64, error) {
	if w.old == 0 {
		return s.kv.Create(ctx, w.key, w.value)
	}
	return s.kv.Update(ctx, w.key, w.value, w.old)
}

// join puts a write into the queue, or returns nil if it is made by itself: few
// are under way, or another one of the same key, and of these one will fail.
func (s *Store) join(w write) (j *joined) {
	g := &s.group
	g.Step(func() {
		if g.flying == nil {
			g.flying = map[string]int{}
		}
		g.flying[w.key]++
		if g.flying[w.key] > 1 || !g.drains && g.alone < s.few() || !plain(w.key) || !s.takesBatches() {
			g.alone++
			return
		}
		j = &joined{w, make(chan wrote, 1)}
		g.queue = append(g.queue, j)
		if !g.drains {
			g.drains = true
			go s.drain()
		}
	})
	return j
}

func (s *Store) few() int {
	if s.replicas > 1 {
		return fewInCluster
	}
	return fewAlone
}

// plain reports whether a key is what it is in a subject, too.
func plain(key string) bool {
	return key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == "" && key[0] != '.' && key[len(key)-1] != '.'
}

// takesBatches reports whether the bucket takes batches. One that an operator made
// may not, and another hub that made it may not be done yet. It is called in a step.
func (s *Store) takesBatches() bool {
	if !s.batches.Load() && time.Since(s.group.asked) > askAgain {
		s.group.asked = time.Now()
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
			defer cancel()
			if stream, err := s.js.Stream(ctx, s.stream()); err == nil && stream.CachedInfo().Config.AllowAtomicPublish {
				s.batches.Store(true)
			}
		}()
	}
	return s.batches.Load()
}

// landed notes that a write has ended. It is called in a step.
func (g *group) landed(key string) {
	if g.flying[key]--; g.flying[key] == 0 {
		delete(g.flying, key)
	}
}

// unjoin takes a write out of the queue, if it is still there.
func (s *Store) unjoin(j *joined) {
	s.group.Step(func() {
		if i := slices.Index(s.group.queue, j); i >= 0 {
			s.group.queue = slices.Delete(s.group.queue, i, i+1)
			s.group.landed(j.key)
		}
	})
}

// drain makes the writes of the queue, one batch after another, until there are
// none.
func (s *Store) drain() {
	g := &s.group
	for {
		var batch []*joined
		g.Step(func() {
			batch = slices.Clone(g.queue[:next(g.queue)])
			if g.queue = slices.Delete(g.queue, 0, len(batch)); len(batch) == 0 {
				g.queue, g.drains = nil, false
			}
		})
		n := len(batch)
		if n == 0 {
			return
		}
		first, err := uint64(0), errAlone
		if n > 1 && n >= s.few() {
			first, err = s.publish(batch, attemptTime)
		}
		g.Step(func() {
			for _, j := range batch {
				g.landed(j.key)
			}
		})
		for i, j := range batch {
			j.done <- wrote{first + uint64(i), err}
		}
	}
}

// next is how many of a queue make a batch.
func next[T interface{ size() int }](queue []T) (n int) {
	for size := 0; n < min(len(queue), mostJoined); n++ {
		if size += queue[n].size(); size > mostBytes && n > 0 {
			break
		}
	}
	return n
}

func (j *joined) size() int { return len(j.value) }

// publish writes a batch and returns the revision of its first value. The others
// have the next ones. Most is how long a server elsewhere may take.
func (s *Store) publish(batch []*joined, most time.Duration) (first uint64, err error) {
	wait := readyTime
	if s.shared {
		wait = most
	}
	id := rand.Text()
	messages := s.messages(batch)
	for _, m := range messages {
		wait += toSend(len(m.Data))
	}
	for i, m := range messages {
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i < len(messages)-1 {
			if err := s.conn.PublishMsg(m); err != nil {
				return 0, err
			}
			continue
		}
		m.Header.Set("Nats-Batch-Commit", "1")
		reply, err := s.conn.RequestMsg(m, wait)
		if err != nil {
			return 0, err
		}
		var ack struct {
			Seq   uint64
			Count int
			Error *jetstream.APIError
		}
		switch err := json.Unmarshal(reply.Data, &ack); {
		case err != nil:
			return 0, fmt.Errorf("the reply to a batch: %w", err)
		case ack.Error != nil:
			return 0, errors.Join(errAlone, ack.Error)
		case ack.Count != len(messages):
			return 0, fmt.Errorf("the reply to a batch: expected %d writes, got %d", len(messages), ack.Count)
		}
		first = ack.Seq + 1 - uint64(len(messages))
	}
	return first, nil
}

// messages are those of a batch. If a write is fenced, the last one needs the fence
// to be where the first of those is: of a batch of which that is not true, each is
// made by itself.
func (s *Store) messages(batch []*joined) (list []*nats.Msg) {
	expect := func(m *nats.Msg, revision uint64) {
		m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(revision, 10))
		list = append(list, m)
	}
	for _, j := range batch {
		m := nats.NewMsg(s.subjectOf(j.key))
		m.Data = j.value
		expect(m, j.old)
	}
	fenced := slices.DeleteFunc(slices.Clone(batch), func(j *joined) bool { return !s.shared || !j.fenced })
	if len(fenced) > 0 {
		first := slices.MinFunc(fenced, func(a, b *joined) int { return cmp.Compare(a.behind, b.behind) })
		m := s.noteAt(s.mark)
		m.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", s.subjectOf(fenceKey))
		expect(m, first.behind)
	}
	return list
}
