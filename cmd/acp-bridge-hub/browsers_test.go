package main

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// pushes is a hub whose owner has a browser that wants to be told of kinds, and what it
// is told: the names of askings.
func pushes(t *testing.T, kinds string) (store *hubstore.Store, board *hub.Board, server *web.Server, topics chan string) {
	topics = make(chan string, 10)
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		topics <- r.Header.Get("Topic")
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(service.Close)
	store = acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	board = acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
	t.Cleanup(board.Close)
	const token = "a-token-of-the-owner"
	access := acptest.Must(web.OpenAccess(filepath.Join(t.TempDir(), accessName), token))
	server = web.New(board, access, web.Options{PushClient: service.Client()})
	key := acptest.Must(ecdh.P256().GenerateKey(rand.Reader))
	encode := base64.RawURLEncoding.EncodeToString
	request := func(method, body string) {
		r := httptest.NewRequest(method, "http://localhost/push", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
	}
	request("GET", "")
	request("POST", fmt.Sprintf(`{"endpoint":"%s/x","keys":{"p256dh":%q,"auth":%q},"kinds":%s}`, service.URL, encode(key.PublicKey().Bytes()), encode(make([]byte, 16)), kinds))
	return store, board, server, topics
}

// asks puts a question to a board.
func asks(t *testing.T, board *hub.Board, conversation string) {
	acptest.Must(board.Ask(t.Context(), hub.Asking{Conversation: conversation, Call: convert.Call{ID: "q", Questions: []convert.Question{{Text: "Go on?"}}}}))
}

// A browser is pushed a new question, and its end under the same name.
func TestBrowsersAreTold(t *testing.T) {
	store, board, server, topics := pushes(t, `["question"]`)
	finish := acptest.Must(startTelling(t.Context(), options{}, store, board, server, "", slog.New(slog.DiscardHandler)))
	asks(t, board, "c")
	first := <-topics
	require.Regexp(t, `^[0-9a-f]{16}$`, first)
	acptest.Must(board.Cancel(t.Context(), hub.Ref{Conversation: "c"}, "phone"))
	finish() // tells what is left
	require.Equal(t, first, <-topics)
	require.Empty(t, topics)
}

// One that wants to know what waits for long is told so once, and of its end; not of
// what is settled before, nor of what had waited so long when the hub was started.
func TestBrowsersAreToldOfWhatWaitsForLong(t *testing.T) {
	_, board, server, topics := pushes(t, `["waiting"]`)
	asks(t, board, "old")
	b := browsers{server, false, time.Nanosecond}
	stop := make(chan struct{})
	run := b.tellLong(t.Context(), stop, board, turn{})
	ended := make(chan struct{})
	go func() { defer close(ended); run() }()
	asks(t, board, "c")
	first := <-topics
	acptest.Must(board.Cancel(t.Context(), hub.Ref{Conversation: "c"}, "phone"))
	require.Equal(t, first, <-topics)
	close(stop)
	<-ended
	require.Empty(t, topics)

	b.long = time.Hour
	stop = make(chan struct{})
	asks(t, board, "soon")
	acptest.Must(board.Cancel(t.Context(), hub.Ref{Conversation: "soon"}, "phone"))
	asks(t, board, "waits")
	run = b.tellLong(t.Context(), stop, board, turn{})
	close(stop)
	run()
	require.Empty(t, topics)
}

// It is looked at all that waits when the first of them is due, and not with every change.
func TestWhenSomethingIsDue(t *testing.T) {
	_, board, server, _ := pushes(t, `[]`)
	var asked []*hub.Record
	for _, c := range []string{"a", "b"} {
		asks(t, board, c)
		asked = append(asked, acptest.Must(board.Find(c, "")))
	}
	l := longWait{browsers: browsers{server, false, time.Hour}, begin: time.Now(), waits: map[string]*hub.Record{}, told: map[string]bool{}}
	require.Equal(t, time.Hour, l.tell(t.Context(), l.begin), "nothing waits")
	for _, r := range asked {
		l.change(t.Context(), r)
	}
	first, second := asked[0].Asked.Add(time.Hour), asked[1].Asked.Add(time.Hour)
	require.Equal(t, time.Minute, l.tell(t.Context(), first.Add(-time.Minute)))
	l.change(t.Context(), acptest.Must(board.Cancel(t.Context(), asked[0].Ref(), "phone")))
	require.Equal(t, time.Minute, l.tell(t.Context(), first.Add(-time.Minute)))
	require.Equal(t, max(second.Sub(first), time.Hour/600), l.tell(t.Context(), first))
	require.Len(t, l.waits, 1)
	require.Equal(t, time.Hour, l.tell(t.Context(), second.Add(time.Minute)))
	require.Empty(t, l.waits)
	require.Empty(t, l.told, "nobody wants to know")
}
