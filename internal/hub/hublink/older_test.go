package hublink_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// An older hub that does not know what is told about a question gets the question
// without it. A permission needs all that it is for: it stays in the editor.
func TestAnOlderHub(t *testing.T) {
	t.Parallel()
	h := newHubs(t)
	board := h.start(t.TempDir())
	refused := make(chan string, 10)
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err == nil && gjson.GetBytes(data, "about").Exists() {
			refused <- gjson.GetBytes(data, "kind").Str
			http.Error(w, `{"error":"about: unknown member"}`, http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		h.current.Load().server.ServeHTTP(w, r)
	}))
	t.Cleanup(older.Close)
	address, err := url.Parse(older.URL)
	require.NoError(t, err)
	var d desk.Desk
	l := hublink.Start(&d, hublink.Options{URL: address, Token: func() (string, error) { return token, nil }})
	t.Cleanup(l.Close)
	post := func(kind desk.Kind, session, id string) *desk.Ticket {
		ticket, err := d.Post(t.Context(), desk.Item{Kind: kind, About: about.About{Model: "opus"}, Call: convert.Call{Session: session, ID: id,
			Questions: []convert.Question{{Text: "Go on with " + id + "?", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}})
		require.NoError(t, err)
		t.Cleanup(ticket.Leave)
		require.NoError(t, ticket.Turn())
		return ticket
	}
	post(desk.Permission, "other", "toolu_1_x")
	require.Equal(t, "permission", <-refused)
	ticket := post(desk.Question, session, "toolu_2_x")
	require.Equal(t, "question", <-refused)
	r := await(t, board, (*hub.Record).Open)
	require.Equal(t, "Go on with toolu_2_x?", r.Call.Questions[0].Text)
	ticket.Settle(yes, "editor")
	await(t, board, func(r *hub.Record) bool { return !r.Open() })
	open, _ := board.Waiting(10)
	require.Empty(t, open, "a permission is not there without what it is for")
}

// leftBehind is an answer that was given while no process asked, at a hub behind something
// else.
func leftBehind(t *testing.T, between func(w http.ResponseWriter, r *http.Request, hub http.Handler)) (*hub.Board, *hublink.Left) {
	h, d := newHubs(t), new(desk.Desk)
	board := h.start(t.TempDir())
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		between(w, r, h.current.Load().server)
	}))
	t.Cleanup(front.Close)
	var err error
	h.url, err = url.Parse(front.URL)
	require.NoError(t, err)
	first := h.link(d, io.Discard, token)
	call := ask(t, d, "toolu_abc").Item().Call
	r := await(t, board, isOpen)
	first.Close()
	require.NoError(t, answer(board, r, "SQLite", "phone"))
	left := h.link(new(desk.Desk), io.Discard, token).Meanwhile(t.Context(), call)
	require.NotNil(t, left)
	return board, left
}

// An older hub knows nothing of claims: what it has is handed over all the same.
func TestAnOlderHubAndAClaim(t *testing.T) {
	t.Parallel()
	claims := make(chan bool, 10)
	board, left := leftBehind(t, func(w http.ResponseWriter, r *http.Request, hub http.Handler) {
		data, err := io.ReadAll(r.Body)
		if err == nil && gjson.GetBytes(data, "claim").Exists() {
			claims <- true
			http.Error(w, `{"error":"bad request: unknown member \"claim\""}`, http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		hub.ServeHTTP(w, r)
	})
	used := false
	require.NoError(t, left.Deliver(func() error { used = true; return nil }))
	require.True(t, used)
	require.True(t, <-claims)
	await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "consumed" })
}

// A hub that breaks down, or forgets, before an outcome is claimed keeps nobody from
// handing it over: it is here, and the agent waits for it.
func TestAHubThatTakesNoClaim(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusNotFound, http.StatusUnauthorized} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			_, left := leftBehind(t, func(w http.ResponseWriter, r *http.Request, hub http.Handler) {
				if broken.Load() {
					w.WriteHeader(status)
					return
				}
				hub.ServeHTTP(w, r)
			})
			broken.Store(true)
			used := false
			require.NoError(t, left.Deliver(func() error { used = true; return nil }))
			require.True(t, used)
		})
	}
}
