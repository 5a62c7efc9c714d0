package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// Close waits for what has begun, and nothing begins behind it.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ran := newBoard(nil, Options{}), 0
		b.own, b.stop = context.WithCancel(t.Context())
		b.begin(func() { <-b.own.Done(); time.Sleep(time.Second); ran++ })
		b.Close()
		require.Equal(t, 1, ran)
		b.begin(func() { ran++ })
		b.done.Wait()
		require.Equal(t, 1, ran)
	})
}

// An asker that another hub tells of is there for a lease from then on.
func TestToldOfAnAsker(t *testing.T) {
	late := time.Now().Add(24 * time.Hour)
	b := newBoard(nil, Options{Lease: time.Hour})
	b.records = map[string]*Record{"a": {Asker: "p"}, "b": {}, "c": {Asker: "q"}}
	b.leases = map[string]*lease{"a": {}, "b": {until: late}, "c": {}}
	began := time.Now()
	b.told(clean.JSON([]asking{{Key: "a", Asker: "p"}, {Key: "b"}, {Key: "c", Asker: "p"}, {Key: "of nobody"}}))
	require.False(t, b.leases["a"].until.Before(began.Add(time.Hour)))
	require.Equal(t, late, b.leases["b"].until, "what is known already is not less")
	require.True(t, b.leases["a"].elsewhere)
	require.Zero(t, b.leases["c"].until, "that one has it no more")
}

// Other hubs are told of all askers, however many, and again before they count as gone.
func TestAllAskersAreTold(t *testing.T) {
	t.Parallel()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	var mu sync.Mutex
	heard := map[string]int{}
	stop := acptest.Must(store.Hear(func(data []byte) {
		var list []asking
		_ = json.Unmarshal(data, &list) // or the test hears nothing
		mu.Lock()
		defer mu.Unlock()
		for _, a := range list {
			heard[a.Key]++
		}
	}))
	defer stop()
	const many = 2*maxTold + 1
	b := newBoard(store, Options{Lease: time.Minute})
	b.leases, b.records = map[string]*lease{"left": {}}, map[string]*Record{"last": {}}
	for i := range many {
		b.leases[fmt.Sprint(i)], b.records[fmt.Sprint(i)] = &lease{listening: 1}, &Record{}
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
	var c Stats
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
	n := netfault.NATS(t, 0)
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{URL: n.ClientURL()}))
	t.Cleanup(store.Close)
	b := newBoard(store, Options{})
	require.NoError(t, b.Ready())
	n.Shutdown()
	require.Eventually(t, func() bool { return b.Ready() != nil }, time.Minute, time.Millisecond)
	require.ErrorContains(t, b.Ready(), "no connection to NATS")
}

// The table of [state.gone], row by row.
func TestGone(t *testing.T) {
	b, now := newBoard(nil, Options{Lease: time.Hour}), time.Now()
	b.using = time.Minute
	began, given := now.Add(time.Hour), End{Outcome: "answered", By: "phone", Taken: now}
	handed := given
	handed.Claimed = now
	for what, c := range map[string]struct {
		r     Record
		l     *lease
		began time.Time
		want  string
	}{
		"asks itself":       {Record{Asker: "me"}, nil, began, "there"},
		"looks itself":      {Record{Asker: "me"}, nil, time.Time{}, "gone"},
		"was given it":      {Record{End: &given, known: now}, nil, began, "soon"},
		"has not used it":   {Record{End: &given, known: now.Add(-time.Hour / 2)}, nil, began, "gone"},
		"hands it on":       {Record{End: &handed, known: now.Add(-time.Hour / 2)}, nil, began, "there"},
		"handed it on":      {Record{End: &handed, known: now.Add(-2 * time.Hour)}, nil, began, "gone"},
		"waits":             {Record{}, &lease{listening: 1}, began, "soon"},
		"waits for long":    {Record{}, &lease{listening: 1}, now.Add(-time.Minute), "there"},
		"elsewhere since":   {Record{}, &lease{elsewhere: true, heard: began.Add(time.Hour/toldShare + 1)}, began, "there"},
		"told late":         {Record{}, &lease{elsewhere: true, heard: began.Add(1)}, began, "soon"},
		"elsewhere, looked": {Record{}, &lease{elsewhere: true, heard: now}, time.Time{}, "soon"},
		"elsewhere before":  {Record{}, &lease{elsewhere: true, heard: now.Add(-time.Minute)}, began, "soon"},
		"nowhere":           {Record{}, &lease{elsewhere: true, heard: now.Add(-time.Hour / 2)}, began, "gone"},
		"not heard":         {Record{}, &lease{until: began}, began, "soon"},
		"never heard":       {Record{}, &lease{until: now}, began, "gone"},
		"was here just now": {Record{}, &lease{heard: began}, began, "soon"},
		"was here":          {Record{}, &lease{heard: now.Add(-time.Minute)}, began, "gone"},
	} {
		if b.leases["k"] = c.l; c.l == nil {
			delete(b.leases, "k")
		}
		c.r.key = "k"
		gone, soon := b.gone(&c.r, "me", c.began)
		require.Equal(t, c.want, map[bool]string{gone: "gone", !gone && soon > 0: "soon", !gone && soon == 0: "there"}[true], what)
	}
}
