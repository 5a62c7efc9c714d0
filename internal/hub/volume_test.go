package hub

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// Whatever is in the place of a volume or a listing is read as far as it is one.
func FuzzVolume(f *testing.F) {
	in := talk{"g", "c"}
	value, told := bind([]bound{{key: keyOf(in, "q", 3), revision: 7, value: []byte("{}"), talk: in, id: "q", asked: time.Unix(1, 2), at: time.Unix(3, 4)}}, "v")
	plain, err := unpack(value)
	require.NoError(f, err)
	f.Add(plain)
	f.Add(told)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := unbind("v", text)
		if err == nil && len(list) > 0 {
			value, _ := bind(list, "v")
			again, err := unbind("v", value)
			require.NoError(t, err)
			require.ElementsMatch(t, list, again)
		}
		_, _, _ = readListing(text, nil) // it must not panic
	})
}

// What a listing says is what is in its volume.
func TestListing(t *testing.T) {
	in, other := talk{"", "c"}, talk{"team", "d"}
	at := time.Date(2026, 11, 15, 20, 0, 0, 5, time.UTC)
	list := []bound{
		{key: keyOf(other, "q", 2), revision: 9, gone: true, value: []byte(`{"a":1}`), talk: other, id: "q", asked: at, at: at.Add(time.Hour)},
		{key: keyOf(in, "\x00hash", 0), revision: 4, value: []byte(`{}`), talk: in, id: "q_minted", asked: at.Add(-time.Hour), at: at.Add(-time.Minute)},
	}
	value, told := bind(list, "v")
	head, entries, err := readListing(told, nil)
	require.NoError(t, err)
	require.Equal(t, listing{listingVersion, "v", at.Add(-time.Minute), at.Add(time.Hour), 9, []string{"", "team"}}, head)
	require.Len(t, entries, 3, "one of them is found by two names")
	var talks []uint64
	for _, l := range entries {
		talks = append(talks, l.talk)
	}
	require.Equal(t, []uint64{hashed(in.place()), hashed(in.place()), hashed(other.place())}, talks)
	require.Equal(t, listed{hashed(other.place()), hashed(short("q")), 2, at.UnixNano(), 9}, entries[2])
	read, err := unbind("v", value)
	require.NoError(t, err)
	require.Len(t, read, 2)
	require.Equal(t, list[1].key, read[0].key)
	require.True(t, read[1].gone)
	require.True(t, at.Equal(read[1].asked))
	_, _, err = readListing([]byte(`{"version":3}`), nil)
	require.ErrorContains(t, err, "a newer hub wrote it")
}

// The index finds what a list of everything finds, whatever is added and removed.
func TestArchiveIndex(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		steps, many := 200, 20
		if seed == 0 { // as many as take several parts
			steps, many = 20, entriesInPart
		}
		a := newArchive()
		volumes := map[string][]listed{}
		for step := range steps {
			key := fmt.Sprint(listings, random.IntN(8))
			a.remove(key)
			delete(volumes, key)
			if random.IntN(3) > 0 {
				for range 1 + random.IntN(many) {
					volumes[key] = append(volumes[key], listed{talk: uint64(random.IntN(4)), name: uint64(random.IntN(4)), generation: uint32(random.IntN(2)), asked: int64(random.IntN(100))})
				}
				a.add(&volume{key: key}, volumes[key])
			}
			require.Len(t, a.volumes, len(volumes))
			for talk := range uint64(4) {
				want := map[string]int{}
				for key, list := range volumes {
					for _, l := range list {
						if l.talk == talk {
							want[fmt.Sprint(key, l.name, l.generation, l.asked)]++
							require.GreaterOrEqual(t, a.talks[talk].asked, l.asked)
						}
					}
				}
				got := map[string]int{}
				a.in(talk, func(e entry, v *volume) { got[fmt.Sprint(v.key, e.name, e.generation, e.asked)]++ })
				require.Equal(t, want, got, "%d, %d", seed, step)
			}
		}
		require.LessOrEqual(t, a.gone, a.entries.len())
	}
}

// A question that was changed since it was archived is the one that counts.
func TestAChangeIsNotArchivedAway(t *testing.T) {
	in := talk{"", "c"}
	for revision, stays := range map[uint64]bool{9: false, 10: false, 11: true} {
		r := &Record{Conversation: "c", ID: "q", key: keyOf(in, "q", 0), Revision: revision, End: &End{}}
		b := &Board{records: map[string]*Record{}, talks: map[talk][]*Record{}, groups: map[string]bool{}, archive: newArchive()}
		b.put(r)
		v := &volume{listing: listing{Newest: 20}}
		b.dropArchived(v, bound{key: r.key, talk: in, id: "q", revision: 10}.entries())
		require.Equal(t, stays, b.records[r.key] != nil, revision)
	}
}

// Two hubs have the same questions, and one of them is behind. What the first one archives
// is archived once, changed where it is, and told to whoever waits at the other.
func TestOneHubArchives(t *testing.T) {
	t.Parallel()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	require.True(t, n.ReadyForConnections(time.Minute))
	var boards []*Board
	for range 2 {
		store, err := hubstore.Open(t.Context(), hubstore.Options{URL: n.ClientURL()})
		require.NoError(t, err)
		t.Cleanup(store.Close)
		b, err := Open(t.Context(), store, Options{})
		require.NoError(t, err)
		t.Cleanup(b.Close)
		boards = append(boards, b)
	}
	one, two := boards[0], boards[1]
	used := func(id string) *Record {
		r, err := one.Ask(t.Context(), Asking{Conversation: "c", Asker: "p", Call: convert.Call{ID: id, Questions: []convert.Question{{Text: "Go?"}}}})
		require.NoError(t, err)
		_, err = one.Answer(t.Context(), r.Ref(), func(*Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "purple"}}, nil }, "phone")
		require.NoError(t, err)
		r, err = one.Consumed(t.Context(), r.Ref())
		require.NoError(t, err)
		require.NoError(t, two.CatchUp(t.Context()))
		return r
	}
	r := used("q")
	require.NoError(t, one.archiveAs(t.Context(), []bound{boundOf(r)}))
	require.NoError(t, two.CatchUp(t.Context()))
	require.ErrorIs(t, two.archiveAs(t.Context(), []bound{boundOf(r)}), hubstore.ErrConflict, "it is archived")
	require.NoError(t, two.unarchive(t.Context(), r.key, r.Revision)) // as if it were the first to archive it
	archived, err := two.get(r.key)
	require.NoError(t, err)
	require.NotNil(t, archived, "nobody else has it")

	// Both have seen it as it was, and change it.
	seen, err := one.get(r.key)
	require.NoError(t, err)
	next := *seen
	end := *seen.End
	next.End, end.Ended = &end, time.Now()
	_, err = two.ForgetBy(t.Context(), "phone", func(*Record) bool { return true }, nil)
	require.NoError(t, err)
	_, err = one.write(t.Context(), &next, seen, nil)
	require.ErrorIs(t, err, hubstore.ErrConflict)
	_, err = one.Ended(t.Context(), r.Ref())
	require.NoError(t, err)
	require.NoError(t, two.CatchUp(t.Context()))
	found, err := two.get(r.key)
	require.NoError(t, err)
	require.True(t, found.End.Forgotten, "and stays so")
	require.False(t, found.End.Ended.IsZero())

	// The second hub knows a question as it was asked, and nothing since.
	r = used("behind")
	open := *r
	open.End, open.Revision = nil, r.Revision-2
	two.mu.Lock()
	two.drop(two.records[r.key])
	two.put(&open)
	two.mu.Unlock()
	waited := make(chan *Record)
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("nobody is told"))
	defer cancel()
	go func() { waited <- two.Wait(ctx, &open) }()
	require.Eventually(t, func() bool {
		two.mu.Lock()
		defer two.mu.Unlock()
		return two.waiters[r.key] != nil
	}, time.Minute, time.Millisecond)
	reader := two.Read(0)
	reader.Next()
	_, more := reader.Next()
	require.NoError(t, one.archiveAs(t.Context(), []bound{boundOf(r)}))
	require.Equal(t, "purple", (<-waited).End.Answers[0].Text)
	<-more
	changes, _ := reader.Next()
	require.Equal(t, "purple", changes[0].End.Answers[0].Text)
}
