package hubstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// watched follows an embedded store, and returns what it is told.
func watched(t *testing.T, s *Store) <-chan Entry {
	t.Helper()
	told, ready := make(chan Entry, 100), make(chan struct{})
	go func() { _ = s.Watch(t.Context(), func(e Entry) { told <- e }, func() { close(ready) }) }()
	<-ready
	return told
}

// What this process writes is told without being read back.
func TestOwnWritesAreToldByWhoMadeThem(t *testing.T) {
	t.Parallel()
	s := openEmbedded(t)
	told := watched(t, s)
	require.Eventually(t, func() bool {
		info, err := s.direct.StreamInfo(s.stream())
		return err == nil && info.State.Consumers == 0
	}, time.Minute, time.Millisecond)
	first := acptest.Must(s.Create(t.Context(), "a", nil))
	second := acptest.Must(s.Update(t.Context(), "a", []byte("2"), first))
	mark := acptest.Must(s.Mark(t.Context()))
	require.NoError(t, s.Delete(t.Context(), "a", second))
	require.ErrorIs(t, s.Delete(t.Context(), "a", second), ErrConflict)
	for _, e := range []Entry{{"a", []byte{}, first}, {"a", []byte("2"), second}, {s.mark, nil, mark}, {"a", nil, mark + 1}} {
		require.Equal(t, e, <-told)
	}
	require.Empty(t, told)
}

// Replies overtake each other, and what they tell of does not. What was told while the
// watch began is not told again.
func TestOwnWritesAreToldInOrder(t *testing.T) {
	t.Parallel()
	var told []uint64
	w := watch{own: true, last: 3, ahead: map[uint64]Entry{}, f: func(e Entry) { told = append(told, e.Revision) }}
	for _, revision := range []uint64{5, 7, 3, 4, 6, 8} {
		w.wrote(Entry{Revision: revision})
	}
	require.Equal(t, []uint64{4, 5, 6, 7, 8}, told)
	require.Empty(t, w.ahead)
	w.Store, w.ahead[8] = openEmbedded(t), Entry{Revision: 8}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.followOwn(ctx, 9), context.Canceled)
	require.Empty(t, w.ahead, "the server was quicker")
}

func TestOwnWritesWhileAWatchBegins(t *testing.T) {
	t.Parallel()
	s := openEmbedded(t)
	acptest.Must(s.Create(t.Context(), "a", []byte("1")))
	told, begun := make(chan Entry, 10), make(chan struct{})
	go func() {
		_ = s.Watch(t.Context(), func(e Entry) {
			if told <- e; e.Key == "a" {
				go func() {
					_, err := s.Create(t.Context(), "b", []byte("2"))
					if err == nil {
						close(begun)
					}
				}()
			}
		}, func() {})
	}()
	<-begun
	acptest.Must(s.Create(t.Context(), "c", []byte("3")))
	for _, key := range []string{"a", "b", "c"} {
		require.Equal(t, key, (<-told).Key)
	}
	require.Empty(t, told)
}

// A write whose reply is lost is told before the next one, also if there is none, and a
// revision that is not there holds up nothing.
func TestOwnWritesBehindOneThatIsNotKnown(t *testing.T) {
	t.Parallel()
	s := openEmbedded(t)
	told := watched(t, s)
	write := func(key string) uint64 { return acptest.Must(s.Create(t.Context(), key, []byte("1"))) }
	next := func() (key string) {
		for key = "gone"; key == "gone"; key = (<-told).Key { // it may be told while it is there
		}
		return key
	}
	write("a")
	acptest.Must(s.kv.Put(t.Context(), "lost", []byte("1")))
	write("b")
	require.Equal(t, []string{"a", "lost", "b"}, []string{next(), next(), next()})
	for _, key := range []string{"c", "d"} {
		gone := acptest.Must(s.kv.Put(t.Context(), "gone", []byte("1")))
		require.NoError(t, s.Purge(t.Context(), "gone", gone+1))
		if last := write(key); key == "d" { // what is known was removed since, too
			require.NoError(t, s.Purge(t.Context(), key, last+1))
		}
	}
	require.Equal(t, []string{"c", "d"}, []string{next(), next()})
	write("e")
	require.Equal(t, "e", next())
	acptest.Must(s.kv.Put(t.Context(), "last", []byte("1")))
	require.Equal(t, "last", next(), "and nothing comes behind it")
	require.Empty(t, told)
}

// A watch ends with its store.
func TestOwnWritesEndWithTheStore(t *testing.T) {
	t.Parallel()
	s := openEmbedded(t)
	ready, ended := make(chan struct{}), make(chan error)
	go func() { ended <- s.Watch(context.Background(), func(Entry) {}, func() { close(ready) }) }()
	<-ready
	s.Close()
	require.Error(t, <-ended)
	s.watches.Range(func(any, any) bool { panic("it is still told of writes") })
}

// A file with neither is refused, and none of it is in the error.
func TestCredentials(t *testing.T) {
	name := filepath.Join(t.TempDir(), "creds")
	require.ErrorIs(t, acptest.Err(credentials(name)), os.ErrNotExist)
	for text, want := range map[string][2]string{
		"hub:pass:word\r\n": {"hub", "pass:word"}, "hub:secret": {"hub", "secret"},
		"": {}, "secret": {}, ":secret": {}, "hub:": {}, "hub:secret\nmore": {},
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		option, err := credentials(name)
		if want[0] == "" {
			require.ErrorContains(t, err, "expected what NATS makes for a user, or one line USER:PASSWORD", text)
			require.NotContains(t, err.Error(), "secret")
			continue
		}
		require.NoError(t, err, text)
		o := nats.GetDefaultOptions()
		require.NoError(t, option(&o))
		require.Equal(t, want, [2]string{o.User, o.Password})
	}
}

// deadline notes until when a write may take.
type deadline struct {
	nats.JetStreamContext
	until time.Time
}

func (d *deadline) PublishMsg(m *nats.Msg, opts ...nats.PubOpt) (*nats.PubAck, error) {
	d.until, _ = opts[0].(nats.ContextOpt).Deadline()
	return d.JetStreamContext.PublishMsg(m, opts...)
}

// A mark of a store of our own has all the time that there is: on a busy machine each of
// many short attempts would come too late, and the hub would take its disk for broken.
func TestAMarkOfASlowMachine(t *testing.T) {
	s := acptest.Must(Open(t.Context(), Options{Dir: t.TempDir()}))
	defer s.Close()
	d := &deadline{JetStreamContext: s.direct}
	s.direct = d
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	acptest.Must(s.Mark(ctx))
	require.Greater(t, time.Until(d.until), time.Minute)
}
