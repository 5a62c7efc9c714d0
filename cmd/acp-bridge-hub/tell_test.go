package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// What is asked once more is told once more, and each address has its own turn.
func TestNamesOfNotices(t *testing.T) {
	r := hub.Record{Conversation: "c", ID: "q", Asked: time.Unix(1000, 1)}
	again := r
	again.Asked = time.Unix(1000, 2)
	require.NotEqual(t, noticeID(&r), noticeID(&again))
	require.NotEqual(t, turnKey("https://one.example", "x"), turnKey("https://two.example", "x"))
}

// listener is told.
type listener chan string

func (listener) name() string                                          { return "a test" }
func (listener) wants(*hub.Record) bool                                { return true }
func (l listener) tell(_ context.Context, r *hub.Record, _ string)     { l <- "told of " + r.ID }
func (l listener) takeBack(_ context.Context, r *hub.Record, _ string) { l <- r.ID + " is over" }

// A hub that is started again does not tell of what waits once more, and takes back what
// it told before.
func TestToldBeforeTheHubWasStartedAgain(t *testing.T) {
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	defer store.Close()
	open := func() *hub.Board {
		return acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
	}
	ask := func(b *hub.Board, id string) *hub.Record {
		return acptest.Must(b.Ask(t.Context(), hub.Asking{Conversation: "c", Call: convert.Call{ID: id, Questions: []convert.Question{{Text: id}}}}))
	}
	cancel := func(b *hub.Board, r *hub.Record) {
		acptest.Must(b.Cancel(t.Context(), r.Ref(), "phone"))
	}
	before := open()
	waits, over := ask(before, "waits"), ask(before, "over")
	cancel(before, over)
	before.Close()

	board := open()
	defer board.Close()
	heard, stop, done := make(listener, 9), make(chan struct{}), make(chan struct{})
	run := follow(t.Context(), stop, board, turn{}, heard)
	go func() { run(); close(done) }()
	fresh := ask(board, "new")
	require.Equal(t, "told of new", <-heard)
	cancel(board, waits)
	require.Equal(t, "waits is over", <-heard)
	cancel(board, fresh)
	require.Equal(t, "new is over", <-heard)
	close(stop)
	<-done
	require.Empty(t, heard)
}
