package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

func openInside(t *testing.T) *Access {
	t.Helper()
	return acptest.Must(OpenAccess(filepath.Join(t.TempDir(), "access.json"), "the-token-of-the-owner"))
}

// serveInside serves a hub of its own, for tests that look inside.
func serveInside(t *testing.T) *Server {
	t.Helper()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	board := acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
	t.Cleanup(board.Close)
	s := New(board, openInside(t), Options{})
	t.Cleanup(s.Close)
	return s
}

// What is asked about a device ends with it: also if one of its name is there
// again before the hub has seen that it was gone, or if it is gone already. What
// is told late undoes nothing.
func TestBeing(t *testing.T) {
	a := openInside(t)
	require.Error(t, a.being(login{device: "phone"}).Err(), "there is none")
	acptest.Must(a.Add("phone", CanAnswer))
	phone := a.being(login{device: "phone"})
	require.NoError(t, phone.Err())
	require.NoError(t, a.change(nil, func(k *kept) error { k.Devices[0].Added = time.Now(); return nil }))
	require.NoError(t, phone.Err(), "it is the same one")
	before := acptest.Must(json.Marshal(a.kept.Load()))
	next := *a.kept.Load()
	next.Devices = []keptDevice{{Device: next.Devices[0].Device, Hash: []byte("another")}}
	require.NoError(t, a.take(acptest.Must(json.Marshal(next)), next.revision+1))
	require.Error(t, phone.Err(), "it is another one")
	require.NoError(t, a.take(before, next.revision))
	require.Equal(t, []byte("another"), a.kept.Load().Devices[0].Hash)
}

// A login link, a login and its pushes end with their time, with their device and
// with the logout.
func TestLoginsEnd(t *testing.T) {
	a := openInside(t)
	acptest.Must(a.pushKey())
	login := func(code string) (string, bool) {
		t.Helper()
		in, ok := acptest.Must2(a.login(code, ""))
		return in.cookie, ok
	}
	add := func() (code string) {
		t.Helper()
		acptest.Must(a.Add("phone", CanAnswer))
		return acptest.Must(a.Code("phone"))
	}
	code := add()
	require.NoError(t, a.Remove("phone"))
	late := add()
	_, ok := login(code)
	require.False(t, ok, "that was another device")
	require.NoError(t, a.change(nil, func(k *kept) error { k.Codes[0].Until = time.Now().Add(-time.Second); return nil }))
	_, ok = login(late)
	require.False(t, ok)
	code = acptest.Must(a.Code("phone"))
	session, ok := login(code)
	require.True(t, ok)
	_, ok = login(code)
	require.False(t, ok, "once")
	require.NoError(t, a.change(nil, func(k *kept) error {
		k.Pushes = []subscription{{Device: "phone", Session: k.Sessions[0].Hash, Endpoint: "https://push.example/x"}}
		return nil
	}))
	since := func(d time.Duration) {
		require.NoError(t, a.change(nil, func(k *kept) error { k.Sessions[0].Since = time.Now().Add(-d); return nil }))
	}
	for ago, holds := range map[time.Duration]bool{0: true, sessionTime - time.Hour: true, sessionTime: false} {
		since(ago)
		_, ok = a.bySession(session)
		require.Equal(t, holds, ok, ago)
		list, _ := a.pushes(&hub.Record{}, PushQuestion)
		require.Equal(t, holds, len(list) == 1, ago)
	}
	since(0)
	phone, _ := a.bySession(session)
	_, ok = login(acptest.Must(a.Code("phone")))
	require.True(t, ok)
	require.NoError(t, a.here(phone))
	require.NoError(t, a.logout(session))
	require.ErrorIs(t, a.here(phone), hub.ErrRight, "another login of it is there")
	_, ok = a.bySession(session)
	require.False(t, ok)
	require.Empty(t, a.kept.Load().Pushes, "where a browser is told is a secret")
}

// A device has as many browsers as it may, and no more; one more of another may.
func TestManyBrowsers(t *testing.T) {
	a := openInside(t)
	acptest.Must(a.Add("phone", CanAnswer))
	for i := range maxPushesOf {
		require.NoError(t, a.addPush(nil, subscription{Device: "phone", Endpoint: "https://push.example/" + string(rune('a'+i))}))
	}
	require.ErrorContains(t, a.addPush(nil, subscription{Device: "phone", Endpoint: "https://push.example/more"}), "too many")
	require.NoError(t, a.addPush(nil, subscription{Device: "phone", Endpoint: "https://push.example/a"}), "the same one")
	require.NoError(t, a.addPush(nil, subscription{Device: Owner, Endpoint: "https://push.example/more"}))
	require.ErrorIs(t, a.addPush(nil, subscription{Device: "nobody"}), ErrNoDevice)
	require.NoError(t, a.SetOwner("another-token-of-the-owner"))
	require.Len(t, a.kept.Load().Pushes, maxPushesOf, "the owner's ended")
}

// A stream that rests goes on after it.
func TestAStreamGoesOnAfterItsRest(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Duration{0, shortRest, longRest} {
		followed(t, now, func(board *hub.Board, next func() *hub.Record) {
			for _, id := range []string{"a", "b", "c"} {
				asked, err := board.Ask(t.Context(), hub.Asking{Conversation: "c", Call: convert.Call{ID: id, Questions: []convert.Question{{Text: "Go " + id + "?"}}}})
				require.NoError(t, err)
				require.Equal(t, id, next().ID)
				acptest.Must(board.Cancel(t.Context(), asked.Ref(), "you"))
				require.Equal(t, "accepted", next().End.Receipt())
				acptest.Must(board.Delivered(t.Context(), asked.Ref()))
				require.Equal(t, "delivered", next().End.Receipt())
			}
		})
	}
}

// A stream that rests for long tells of a question all the same, with what came before it.
func TestAQuestionEndsALongRest(t *testing.T) {
	t.Parallel()
	followed(t, time.Hour, func(board *hub.Board, next func() *hub.Record) {
		for i, id := range []string{"a", "b", "c"} {
			asked, err := board.Ask(t.Context(), hub.Asking{Conversation: "c", Call: convert.Call{ID: id, Questions: []convert.Question{{Text: "Go " + id + "?"}}}})
			require.NoError(t, err)
			if i > 0 {
				require.False(t, next().Open())
			}
			require.Equal(t, id, next().ID)
			acptest.Must(board.Cancel(t.Context(), asked.Ref(), "you"))
		}
	})
}

// A stream that has nothing to say says that.
func TestAStreamThatIsStillHere(t *testing.T) {
	s, reply, rounds := serveInside(t), httptest.NewRecorder(), 0
	ctx, stop := context.WithCancel(t.Context())
	turns := func(*stream) <-chan struct{} {
		if rounds++; rounds > 1 {
			stop()
		}
		return nil
	}
	require.NoError(t, s.follow(reply, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil), Device{Name: Owner}, feed{reader: s.board.Read(0), beat: time.Millisecond, turns: turns}))
	require.Contains(t, reply.Body.String(), ": still here\n\n")
}

// followed runs a stream that rests for so long, and calls f with what it tells.
func followed(t *testing.T, now time.Duration, f func(board *hub.Board, next func() *hub.Record)) {
	t.Helper()
	s := serveInside(t)
	s.pace = pace{since: time.Now().Add(time.Hour), now: now}
	ctx, stop := context.WithCancel(t.Context())
	seen, ended := make(chan *hub.Record, 10), make(chan struct{})
	go func() {
		defer close(ended)
		s.follow(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil), Device{Name: Owner}, feed{
			reader: s.board.Read(0), beat: time.Hour,
			change: func(_ *stream, r *hub.Record) { seen <- r },
			turns:  func(*stream) <-chan struct{} { return nil },
		})
	}()
	f(s.board, func() *hub.Record { return acptest.Next(t, seen) })
	stop()
	<-ended
}
