package hubstore_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

func open(t testing.TB, dir string) *hubstore.Store {
	t.Helper()
	s := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: dir}))
	t.Cleanup(s.Close)
	return s
}

func TestOneOfManyWritersWins(t *testing.T) {
	s := open(t, t.TempDir())
	rev := acptest.Must(s.Create(t.Context(), "a", []byte("open")))
	require.ErrorIs(t, acptest.Err(s.Create(t.Context(), "a", []byte("again"))), hubstore.ErrConflict)

	var won atomic.Int32
	var winner atomic.Value
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			value := strconv.Itoa(i)
			switch _, err := s.Update(t.Context(), "a", []byte(value), rev); {
			case err == nil:
				won.Add(1)
				winner.Store(value)
			default:
				require.ErrorIs(t, err, hubstore.ErrConflict)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
	e := acptest.Must(s.Get(t.Context(), "a"))
	require.Equal(t, winner.Load(), string(e.Value))
	require.Greater(t, e.Revision, rev)
}

func TestValuesOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	rev := acptest.Must(s.Create(t.Context(), "a", []byte("1")))
	gone := acptest.Must(s.Create(t.Context(), "b", []byte("2")))
	require.NoError(t, s.Delete(t.Context(), "b", gone))
	s.Close()

	s = open(t, dir)
	e := acptest.Must(s.Get(t.Context(), "a"))
	require.Equal(t, hubstore.Entry{Key: "a", Value: []byte("1"), Revision: rev}, e)
	require.ErrorIs(t, acptest.Err(s.Get(t.Context(), "b")), hubstore.ErrNotFound)
	require.Greater(t, acptest.Must(s.Create(t.Context(), "c", []byte("3"))), gone, "revisions go on")
}

func TestWatchTellsWhatIsAndThenWhatChangesInOrder(t *testing.T) {
	s := open(t, t.TempDir())
	acptest.Must(s.Create(t.Context(), "a", []byte("1")))
	ctx, stop := context.WithCancel(t.Context())
	ready, entries, ended := make(chan struct{}), make(chan hubstore.Entry, 100), make(chan error, 1)
	go func() { ended <- s.Watch(ctx, func(e hubstore.Entry) { entries <- e }, func() { close(ready) }) }()
	<-ready
	require.Equal(t, "a", (<-entries).Key)
	last := uint64(0)
	for i := range 20 {
		acptest.Must(s.Create(t.Context(), fmt.Sprintf("k.%d", i), []byte("x")))
		e := <-entries
		require.Greater(t, e.Revision, last)
		last = e.Revision
	}
	require.NoError(t, s.Delete(t.Context(), "k.19", last))
	require.Nil(t, (<-entries).Value)
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// The embedded server has no socket of any kind: what can be reached can be
// attacked.
func TestListensNowhere(t *testing.T) {
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("sockets are counted on Linux")
	}
	if dir := os.Getenv("JETSTREAM_TEST_DIR"); dir != "" {
		open(t, dir)
		fmt.Println("sockets:", ownSockets(t))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestListensNowhere$", "-test.v")
	cmd.Env = append(os.Environ(), "JETSTREAM_TEST_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "sockets: 0\n")
	l, err := net.Listen("tcp", "127.0.0.1:0") // the count can see one
	require.NoError(t, err)
	defer l.Close()
	require.Positive(t, ownSockets(t))
}

func ownSockets(t *testing.T) (n int) {
	for _, fd := range acptest.Must(filepath.Glob("/proc/self/fd/*")) {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

func TestNeedsAPlace(t *testing.T) {
	require.ErrorContains(t, acptest.Err(hubstore.Open(t.Context(), hubstore.Options{})), "expected a folder or an address")
}

// A password in an address is in no error, also where the address is wrong.
func TestErrorsHaveNoPassword(t *testing.T) {
	for _, url := range []string{
		"nats://u:secret@127.0.0.1:1", "u:secret@127.0.0.1:1", "nats://secret@127.0.0.1:1",
		"nats://u:%zzsecret@127.0.0.1:1", "nats://u: secret@127.0.0.1:1", "nats://u:secret#@127.0.0.1:1", "nats://u:secret@[::1",
		"nats://u:secret,secret@127.0.0.1:1", "nats://u:secret@127.0.0.1:x", "nats://127.0.0.1:1,nats://u:secret@127.0.0.1:x",
		"ws://u:secret@127.0.0.1:1,nats://127.0.0.1:1",
	} {
		_, err := hubstore.Open(t.Context(), hubstore.Options{URL: url})
		require.ErrorContains(t, err, "NATS", url)
		require.NotContains(t, err.Error(), "secret", url)
	}
}

// Whoever has seen a mark has seen what was written before it. It is no value.
func TestMark(t *testing.T) {
	s := open(t, t.TempDir())
	written := acptest.Must(s.Create(t.Context(), "a", []byte("1")))
	var seen []hubstore.Entry
	ctx, cancel := context.WithCancel(t.Context())
	marks := []uint64{0, 0}
	for i := range marks {
		marks[i] = acptest.Must(s.Mark(t.Context()))
	}
	require.Less(t, written, marks[0])
	require.Less(t, marks[0], marks[1])
	require.ErrorIs(t, s.Watch(ctx, func(e hubstore.Entry) { seen = append(seen, e) }, cancel), context.Canceled)
	require.Len(t, seen, 2, "the first mark is gone")
	require.Regexp(t, "^mark.$", seen[1].Key)
	require.Equal(t, hubstore.Entry{Key: seen[1].Key, Revision: marks[1]}, seen[1])
}
