package hub_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

func everything(*hub.Record) bool { return true }

// own is an answer in somebody's words, with a note.
func own(*hub.Record) ([]convert.Answer, error) {
	return []convert.Answer{{Text: "the purple one", Note: "my aunt says so"}}, nil
}

func TestForgetBy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, store := openWithStore(t, dir, hub.Options{})
	settle := func(id, by string) *hub.Record {
		return acptest.Must(b.Answer(t.Context(), ref(ask(t, b, "c", id, "Which "+id+"?")), own, by))
	}
	consumed, delivered, waits, others := settle("consumed", "anna"), settle("delivered", "anna"), settle("waits", "anna"), settle("others", "bert")
	for _, r := range []*hub.Record{consumed, others} {
		acptest.Must(b.Consumed(t.Context(), r.Ref()))
	}
	acptest.Must(b.Delivered(t.Context(), delivered.Ref()))
	// An editor's user was first; the answer of the hub can never be delivered.
	late := settle("late", "bert")
	_, err := b.TakeBack(t.Context(), late.Ref(), convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "x"}}}, "anna")
	require.ErrorIs(t, err, hub.ErrSettled)
	refused := settle("refused", "bert") // by the asker's process, in its words
	acptest.Must(b.Refuse(t.Context(), refused.Ref(), "it was answered before by anna"))
	still := ask(t, b, "c", "open", "Which open?")

	done := acptest.Must(b.ForgetBy(t.Context(), "anna", everything, nil))
	require.Equal(t, hub.Forgotten{Answers: 2, Left: 1}, done)
	check := func(b *hub.Board) {
		for _, r := range []*hub.Record{consumed, delivered} {
			now := acptest.Must(b.Find("c", r.ID))
			require.Equal(t, "answered", now.End.Outcome, "it was settled")
			require.True(t, now.End.At.Equal(r.End.At))
			require.True(t, now.End.Forgotten)
			require.Empty(t, now.End.Answers)
			require.Empty(t, now.End.By)
			require.Equal(t, convert.Failed, now.End.Result().Status, "nothing is told as the person's answer")
		}
		for _, id := range []string{"late", "refused"} {
			now := acptest.Must(b.Find("c", id))
			require.Equal(t, "bert", now.End.By)
			require.NotContains(t, now.End.Undelivered, "anna")
		}
		require.Equal(t, still.Revision, acptest.Must(b.Find("c", "open")).Revision)
		for _, r := range []*hub.Record{waits, others} {
			now := acptest.Must(b.Find("c", r.ID))
			require.Equal(t, "the purple one", now.End.Answers[0].Text, r.ID)
			require.Equal(t, r.End.By, now.End.By)
		}
		list, _ := b.Search(hub.Search{Text: "purple anna"})
		require.Len(t, list, 1, "only what waits for its agent")
		require.Empty(t, b.Settled("annaanswered", 1), "no word is of two places")
	}
	check(b)
	b = reopened(t, b, store, dir, hub.Options{})
	check(b)
	// Who asks again for what was forgotten is asked anew; what waits gets there.
	require.True(t, ask(t, b, "c", "delivered", "Which delivered?").Open())
	again := ask(t, b, "c", "waits", "Which waits?")
	require.Equal(t, "the purple one", again.End.Answers[0].Text)
	acptest.Must(b.Consumed(t.Context(), again.Ref()))
	done = acptest.Must(b.ForgetBy(t.Context(), "anna", everything, nil))
	require.Equal(t, hub.Forgotten{Answers: 1}, done)
	done = acptest.Must(b.ForgetBy(t.Context(), "anna", everything, nil))
	require.Zero(t, done)
	// Nor does a successor take it over.
	had := answer(t, b, askBy(t, b, "p", "left", "Go?"), "Yes", "carl")
	acptest.Must(b.Delivered(t.Context(), as(had, "p")))
	acptest.Must(b.ForgetBy(t.Context(), "carl", everything, nil))
	b.UsedWithin(0)
	require.True(t, askBy(t, b, "q", "left", "Go?").Open())
}

// Hubs that share a bucket which keeps earlier values, as an operator made it:
// after forgetting, none of them has a word of it, and nor has the bucket.
func TestForgetByWithSeveralHubs(t *testing.T) {
	t.Parallel()
	n := netfault.NATS(t, 0)
	operator := acptest.Must(nats.Connect(n.ClientURL(), nats.Timeout(patience), nats.RetryOnFailedConnect(true)))
	defer operator.Close()
	js := acptest.Must(natsjs.New(operator, natsjs.WithDefaultTimeout(patience)))
	acptest.Must(js.CreateKeyValue(t.Context(), natsjs.KeyValueConfig{Bucket: "questions", History: 5}))
	boards := make([]*hub.Board, 2)
	for i := range boards {
		store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{URL: n.ClientURL()}))
		defer store.Close()
		boards[i] = acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
		defer boards[i].Close()
	}
	const many = 20
	for i := range many {
		r := acptest.Must(boards[0].Answer(t.Context(), ref(ask(t, boards[0], "c", fmt.Sprint("q", i), "Go?"+fmt.Sprint(i))), own, "anna"))
		acptest.Must(boards[0].Delivered(t.Context(), r.Ref()))
	}
	last := acptest.Must(boards[0].Find("c", fmt.Sprint("q", many-1)))
	require.Eventually(t, func() bool {
		r, err := boards[1].Find("c", last.ID)
		return err == nil && r.Revision == last.Revision
	}, patience, time.Millisecond)
	// Both forget, while the agent notes that it has used the answers.
	var all sync.WaitGroup
	for _, b := range boards {
		all.Go(func() { require.Zero(t, acptest.Must(b.ForgetBy(t.Context(), "anna", everything, nil)).Left) })
		all.Go(func() {
			for i := range many {
				acptest.Must(b.Consumed(t.Context(), hub.Ref{Conversation: "c", ID: fmt.Sprint("q", i)}))
			}
		})
	}
	all.Wait()
	for _, b := range boards {
		require.Eventually(t, func() bool {
			list, _ := b.Search(hub.Search{})
			for _, r := range list {
				if !r.End.Forgotten || r.End.Receipt() != "consumed" || r.End.By != "" || len(r.End.Answers) > 0 {
					return false
				}
			}
			return len(list) == many
		}, patience, time.Millisecond)
	}
	stream := acptest.Must(js.Stream(t.Context(), "KV_questions"))
	info := acptest.Must(stream.Info(t.Context()))
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		if m, err := stream.GetMsg(t.Context(), seq); err == nil {
			require.NotContains(t, string(m.Data), "purple")
			require.NotContains(t, string(m.Data), "anna")
		}
	}
}
