package hubstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// elsewhere starts a server, and a proxy in front of it.
func elsewhere(t *testing.T) (url string, proxy *netfault.Proxy) {
	t.Helper()
	s := netfault.NATS(t, 0)
	proxy = netfault.Between(t, s.ClientURL())
	return s.ClientURL(), proxy
}

func openAt(t *testing.T, url string) *hubstore.Store {
	t.Helper()
	s := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{URL: url}))
	t.Cleanup(s.Close)
	return s
}

// A server asks a client that is slow to connect whether it is there, in the middle of
// the greeting: it is tried again.
func TestAServerThatAsksTooEarly(t *testing.T) {
	t.Parallel()
	url, proxy := elsewhere(t)
	early := acptest.Must(net.Listen("tcp", "127.0.0.1:0"))
	defer early.Close()
	proxy.Point(early.Addr().String())
	go func() {
		c, err := early.Accept()
		if err != nil {
			return
		}
		proxy.Point(strings.TrimPrefix(url, "nats://"))
		fmt.Fprint(c, "INFO {\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\nPING\r\n")
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	}()
	acptest.Must(openAt(t, "nats://"+proxy.Addr()).Create(t.Context(), "a", []byte("open")))
}

// A server that says nothing for longer than one try to connect takes is tried again.
func TestAServerThatIsSlowToSpeak(t *testing.T) {
	t.Parallel()
	_, proxy := elsewhere(t)
	_, release := proxy.Hold()
	time.AfterFunc(nats.DefaultTimeout+500*time.Millisecond, release)
	openAt(t, "nats://"+proxy.Addr())
}

// A write whose reply got lost is made again, and is no conflict with itself.
func TestAWriteWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	url, proxy := elsewhere(t)
	direct, s := openAt(t, url), openAt(t, "nats://"+proxy.Addr())
	seen := make(chan hubstore.Entry, 10)
	go func() { _ = direct.Watch(t.Context(), func(e hubstore.Entry) { seen <- e }, func() {}) }()
	first := acptest.Must(s.Create(t.Context(), "a", []byte("0")))
	require.Equal(t, first, (<-seen).Revision)
	fourth := acptest.Must(s.Create(t.Context(), "d", []byte("0")))
	require.Equal(t, fourth, (<-seen).Revision)
	type written struct {
		revision uint64
		err      error
	}
	for name, write := range map[string]func() (uint64, error){
		"update": func() (uint64, error) { return s.Update(t.Context(), "a", []byte("mine"), first) },
		"create": func() (uint64, error) { return s.Create(t.Context(), "b", []byte("mine")) },
		"refused since": func() (uint64, error) {
			var once error // who may write is removed behind it
			return s.UpdateIf(t.Context(), "d", []byte("mine"), fourth, func(context.Context) (err error) {
				err, once = once, errors.New("no longer")
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			proxy.Set(netfault.LoseReplies)
			done := make(chan written, 1)
			go func() {
				revision, err := write()
				done <- written{revision, err}
			}()
			e := <-seen // it is there
			proxy.Set(netfault.Pass)
			require.Equal(t, written{e.Revision, nil}, <-done)
		})
	}
	// Somebody else's value is a conflict all the same.
	proxy.Set(netfault.LoseAll)
	done := make(chan error, 1)
	go func() { done <- acptest.Err(s.Create(t.Context(), "c", []byte("mine"))) }()
	acptest.Must(direct.Create(t.Context(), "c", []byte("theirs")))
	proxy.Set(netfault.Pass)
	require.ErrorIs(t, <-done, hubstore.ErrConflict)
}

// The same words of somebody else are a conflict: only who is unsure whether an
// attempt was made looks for its own.
func TestTheSameWordsOfAnother(t *testing.T) {
	url, _ := elsewhere(t)
	one, two := openAt(t, url), openAt(t, url)
	first := acptest.Must(one.Create(t.Context(), "a", []byte("over")))
	require.ErrorIs(t, acptest.Err(two.Create(t.Context(), "a", []byte("over"))), hubstore.ErrConflict)
	acptest.Must(one.Update(t.Context(), "a", []byte("again"), first))
	require.ErrorIs(t, acptest.Err(two.Update(t.Context(), "a", []byte("again"), first)), hubstore.ErrConflict)
}

// A bucket that an operator made stays as it is.
func TestABucketOfAnOperator(t *testing.T) {
	url, _ := elsewhere(t)
	conn := acptest.Must(nats.Connect(url, nats.Timeout(time.Minute), nats.RetryOnFailedConnect(true)))
	t.Cleanup(conn.Close)
	js := acptest.Must(conn.JetStream(nats.MaxWait(time.Minute)))
	acptest.Must(js.CreateKeyValue(&nats.KeyValueConfig{Bucket: "questions"}))
	before := acptest.Must(js.StreamInfo("KV_questions"))
	acptest.Must(openAt(t, url).Create(t.Context(), "a", []byte("1")))
	reply := acptest.Must(conn.Request("$JS.API.STREAM.INFO.KV_questions", nil, time.Minute))
	require.NotContains(t, string(reply.Data), "allow_atomic")
	require.Equal(t, before.Config, acptest.Must(js.StreamInfo("KV_questions")).Config)
}

// A batch whose reply got lost was made all the same, and each of its writes is
// told so.
func TestABatchWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	url, proxy := elsewhere(t)
	direct, s := openAt(t, url), openAt(t, "nats://"+proxy.Addr())
	const n = 50
	seen := make(chan hubstore.Entry, n)
	go func() { _ = direct.Watch(t.Context(), func(e hubstore.Entry) { seen <- e }, func() {}) }()
	release := s.Hold()
	var mu sync.Mutex
	got := map[string]uint64{}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			key := fmt.Sprint("k", i)
			revision := acptest.Must(s.Create(t.Context(), key, []byte(key)))
			mu.Lock()
			defer mu.Unlock()
			got[key] = revision
		})
	}
	require.Eventually(t, func() bool { return s.Queued() == n }, time.Minute, time.Millisecond)
	proxy.Set(netfault.LoseReplies)
	go release()
	want := map[string]uint64{}
	for range n {
		e := <-seen
		want[e.Key] = e.Revision
	}
	proxy.Set(netfault.Pass)
	all.Wait()
	require.Equal(t, want, got)
}

// Who watches goes on where it was, with nothing left out, when the connection
// was silent for a while.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	url, proxy := elsewhere(t)
	direct, s := openAt(t, url), openAt(t, "nats://"+proxy.Addr())
	ctx, stop := context.WithCancel(t.Context())
	seen, ready, ended := make(chan hubstore.Entry, 100), make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Watch(ctx, func(e hubstore.Entry) { seen <- e }, func() { close(ready) }) }()
	<-ready
	for round, key := range []string{"a", "b", "c"} {
		proxy.Set(netfault.LoseAll)
		first := acptest.Must(direct.Create(t.Context(), key+"1", []byte("1")))
		acptest.Must(direct.Create(t.Context(), key+"2", []byte("2")))
		require.NoError(t, direct.Delete(t.Context(), key+"1", first))
		require.Empty(t, seen, round)
		proxy.Set(netfault.Pass)
		require.Equal(t, key+"2", (<-seen).Key)
		gone := <-seen
		require.Equal(t, key+"1", gone.Key)
		require.Nil(t, gone.Value)
	}
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// Who watches sees what is written also where nobody may tell of it: the bucket is
// asked.
func TestWatchWithoutAConsumer(t *testing.T) {
	t.Parallel()
	url, _ := elsewhere(t)
	conn := acptest.Must(nats.Connect(url, nats.Timeout(time.Minute), nats.RetryOnFailedConnect(true)))
	t.Cleanup(conn.Close)
	js := acptest.Must(conn.JetStream(nats.MaxWait(time.Minute)))
	acptest.Must(js.AddStream(&nats.StreamConfig{
		Name: "KV_questions", Subjects: []string{"$KV.questions.>"}, MaxMsgsPerSubject: 1,
		AllowDirect: true, AllowRollup: true, DenyDelete: true, MaxConsumers: 1,
	}))
	s := openAt(t, url)
	seen, ready := make(chan hubstore.Entry, 100), make(chan struct{})
	go func() { _ = s.Watch(t.Context(), func(e hubstore.Entry) { seen <- e }, func() { close(ready) }) }()
	<-ready
	for taken := false; !taken; { // the only place, before another one is made
		for name := range js.ConsumerNames("KV_questions") {
			_ = js.DeleteConsumer("KV_questions", name) // its owner may be first
		}
		_, err := js.AddConsumer("KV_questions", &nats.ConsumerConfig{Durable: "other"})
		taken = err == nil
	}
	for _, key := range []string{"a", "b"} {
		revision := acptest.Must(s.Create(t.Context(), key, []byte("1")))
		require.Equal(t, hubstore.Entry{Key: key, Value: []byte("1"), Revision: revision}, <-seen)
		require.NoError(t, s.Delete(t.Context(), key, revision))
		gone := <-seen
		require.Equal(t, key, gone.Key)
		require.Nil(t, gone.Value)
	}
}

// A bucket beside another has values of its own.
func TestBeside(t *testing.T) {
	s := open(t, t.TempDir())
	other := acptest.Must(s.Beside(t.Context(), "-access", "who may use the hub", 0))
	acptest.Must(s.Create(t.Context(), "a", []byte("1")))
	require.ErrorIs(t, acptest.Err(other.Get(t.Context(), "a")), hubstore.ErrNotFound)
	other.Close() // is not the end of the first
	acptest.Must(s.Get(t.Context(), "a"))
}

// A bucket whose servers cannot tell yet what is in it is asked again.
func TestGetOfANewBucket(t *testing.T) {
	t.Parallel()
	at, _ := elsewhere(t)
	s := openAt(t, at)
	conn := acptest.Must(nats.Connect(at, nats.Timeout(time.Minute), nats.RetryOnFailedConnect(true)))
	t.Cleanup(conn.Close)
	require.NoError(t, acptest.Must(conn.JetStream(nats.MaxWait(time.Minute))).DeleteStream("KV_questions"))
	asked := 0
	acptest.Must(conn.Subscribe("$JS.API.DIRECT.GET.KV_questions.>", func(m *nats.Msg) { // in its place
		reply := nats.NewMsg(m.Reply)
		if asked++; asked < 3 {
			reply.Header.Set("Status", "503")
		} else {
			for name, value := range map[string]string{
				"Nats-Stream": "KV_questions", "Nats-Subject": "$KV.questions.a", "Nats-Sequence": "7", "Nats-Time-Stamp": "2026-11-16T00:00:00Z",
			} {
				reply.Header.Set(name, value)
			}
			reply.Data = []byte("1")
		}
		_ = m.RespondMsg(reply) // or the test sees nothing
	}))
	require.NoError(t, conn.Flush())
	e := acptest.Must(s.Get(t.Context(), "a"))
	require.Equal(t, hubstore.Entry{Key: "a", Value: []byte("1"), Revision: 7}, e)
}
