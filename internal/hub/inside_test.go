package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// An asker that another hub tells of is there for a lease from then on.
func TestToldOfAnAsker(t *testing.T) {
	late := time.Now().Add(24 * time.Hour)
	b := &Board{opts: Options{Lease: time.Hour}, records: map[string]*Record{"a": {}, "b": {}}, leases: map[string]*lease{"a": {}, "b": {until: late}}}
	began := time.Now()
	b.told(clean.JSON([]asking{{Key: "a", Asker: "p"}, {Key: "b"}, {Key: "of nobody"}}))
	require.False(t, b.leases["a"].until.Before(began.Add(time.Hour)))
	require.Equal(t, late, b.leases["b"].until, "what is known already is not less")
	require.Equal(t, "p", b.leases["a"].asker)
}

// Other hubs are told of all askers, however many, and again before they count as gone.
func TestAllAskersAreTold(t *testing.T) {
	t.Parallel()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	var mu sync.Mutex
	heard := map[string]int{}
	stop, err := store.Hear(func(data []byte) {
		var list []asking
		_ = json.Unmarshal(data, &list) // or the test hears nothing
		mu.Lock()
		defer mu.Unlock()
		for _, a := range list {
			heard[a.Key]++
		}
	})
	require.NoError(t, err)
	defer stop()
	const many = 2*maxTold + 1
	b := &Board{store: store, opts: Options{Lease: time.Minute}, leases: map[string]*lease{"left": {}}}
	for i := range many {
		b.leases[fmt.Sprint(i)] = &lease{listening: 1}
	}
	now := time.Now()
	for tick := range 7 { // of two seconds
		b.tellAskers(now.Add(time.Duration(tick) * 2 * time.Second))
	}
	b.leases = map[string]*lease{"last": {listening: 1}}
	b.tellAskers(now)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return heard["last"] > 0
	}, time.Minute, time.Millisecond)
	require.Len(t, heard, many+1)
	for key, times := range heard {
		require.Equal(t, map[bool]int{true: 1, false: 2}[key == "last"], times, "at once, and after a fifth of a lease")
	}
}

// A record that cannot be read is told in a log, without a word of it.
func TestUnreadableRecordsAreNotToldInWords(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`{"asked":"purple"}`, `{"asked":"purple","more":1}`, `{"id":{"purple":1}}`, `{"end":{"at":"purple"}}`, `{"id":"purple`, `purple`, string(packedMark) + "purple", string(pack([]byte(strings.Repeat("purple", packFrom))))} {
		_, err := decode("k", []byte(value), 1)
		require.ErrorContains(t, err, `record "k"`, value)
		require.NotContains(t, err.Error(), "purple", value)
	}
}

// Names come from askers, too: what is counted by name is bounded.
func TestCountedNamesAreBounded(t *testing.T) {
	var c counter
	for i := range 2 * maxEndings {
		c.ended(&Record{End: &End{Outcome: "cancelled", By: fmt.Sprint(i)}})
	}
	require.Len(t, c.Ended, maxEndings+1)
	require.EqualValues(t, maxEndings, c.Ended[Ending{Outcome: "cancelled", By: Others}])
	c.ended(&Record{End: &End{Outcome: "cancelled", By: "0"}})
	require.EqualValues(t, 2, c.Ended[Ending{Outcome: "cancelled", By: "0"}], "who is known is counted on")
}

// A hub whose NATS server is gone says that it is not ready.
func TestNotReadyWithoutNATS(t *testing.T) {
	t.Parallel()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	require.True(t, n.ReadyForConnections(time.Minute))
	store, err := hubstore.Open(t.Context(), hubstore.Options{URL: n.ClientURL()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	b := &Board{store: store, ended: make(chan struct{})}
	require.NoError(t, b.Ready())
	n.Shutdown()
	require.Eventually(t, func() bool { return b.Ready() != nil }, time.Minute, time.Millisecond)
	require.ErrorContains(t, b.Ready(), "no connection to NATS")
}

// To find what was asked last, what was archived before it is not read: streams look for
// it with every change.
func TestTheLastQuestionIsFoundWithoutThosePast(t *testing.T) {
	in, at := talk{"", "c"}, time.Now()
	b := &Board{talks: map[talk][]*Record{in: {{Conversation: "c", key: "0", Asked: at, End: &End{}}}}, archive: newArchive()}
	b.archive.add(&volume{key: "volumes.1", listing: listing{Value: "cannot be read"}}, []listed{{talk: hashed(in.place()), asked: at.Add(-time.Hour).UnixNano()}})
	for _, device := range []string{"", "bot"} {
		r, err := b.find(Ref{Conversation: "c", Device: device})
		require.NoError(t, err)
		require.Equal(t, "0", r.key)
	}
	same := boundOf(&Record{Conversation: "c", ID: "q", key: keyOf(in, "q", 0), Asked: at, End: &End{}})
	b.archive.add(&volume{key: "volumes.2", listing: listing{Value: "read"}}, same.entries())
	b.archive.read = []book{{"read", []bound{same}}}
	r, err := b.find(Ref{Conversation: "c"})
	require.NoError(t, err)
	require.Equal(t, same.key, r.key, "of two of one moment")
}
