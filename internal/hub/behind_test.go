package hub_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// untold are two hubs that nobody tells anything: they ask from time to time.
func untold(t *testing.T) []*hub.Board {
	url := natsServer(t)
	conn := acptest.Must(nats.Connect(url, nats.Timeout(patience), nats.RetryOnFailedConnect(true)))
	t.Cleanup(conn.Close)
	js := acptest.Must(conn.JetStream(nats.MaxWait(patience)))
	acptest.Must(js.AddStream(&nats.StreamConfig{
		Name: "KV_questions", Subjects: []string{"$KV.questions.>"}, MaxMsgsPerSubject: 1,
		AllowDirect: true, AllowRollup: true, DenyDelete: true, MaxConsumers: 2,
	}))
	boards := []*hub.Board{boardAt(t, url, hub.Options{}), boardAt(t, url, hub.Options{})}
	for taken := 0; taken < 2; { // both places
		for name := range js.ConsumerNames("KV_questions") {
			if !strings.HasPrefix(name, "other") {
				_ = js.DeleteConsumer("KV_questions", name) // its owner may be first
			}
		}
		if _, err := js.AddConsumer("KV_questions", &nats.ConsumerConfig{Durable: fmt.Sprint("other", taken)}); err == nil {
			taken++
		}
	}
	return boards
}

// A hub that is told late what others wrote denies nothing either: also not what
// was asked before it looked and answered after that, of which the store has only
// the answer.
func TestNoHubDeniesWhatItWasNotTold(t *testing.T) {
	t.Parallel()
	boards := untold(t)
	for i := range 8 {
		ref := hub.Ref{Conversation: fmt.Sprint("c", i), ID: "q"}
		words := func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }
		acptest.Must(boards[0].Ask(t.Context(), asking(ref.Conversation, ref.ID, "Go?")))
		var both sync.WaitGroup
		for by, b := range boards {
			both.Go(func() {
				_, err := b.Answer(t.Context(), ref, words, fmt.Sprint("hub ", by))
				assert.NotErrorIs(t, err, hub.ErrNotFound)
			})
		}
		both.Wait()
	}
}

// What was used at one hub is not had at another one once more.
func TestUsedAtAnotherHub(t *testing.T) {
	t.Parallel()
	boards := untold(t)
	r := answer(t, boards[0], ask(t, boards[0], "d", "q", "Go?"), "Yes", "phone")
	require.NoError(t, boards[1].CatchUp(t.Context()))
	acptest.Must(boards[0].Consumed(t.Context(), r.Ref()))
	require.True(t, ask(t, boards[1], "d", "q", "Go?").Open())
}

// What was left at one hub is taken over at another one that may not have heard of it yet,
// under whatever name.
func TestLeftAtAnotherHub(t *testing.T) {
	t.Parallel()
	one, two := elsewhere(t, hub.Options{Lease: 20 * time.Millisecond})
	for i := range 40 {
		left := askBy(t, one, "p", fmt.Sprint(i), "Go?")
		require.Equal(t, left.Key(), askBy(t, two, "s", fmt.Sprint(i, "/s"), "Go?").Key())
	}
}

// What one hub has told, another one knows: the answer may come in there, and so
// may what the agent says of it.
func TestNoHubDeniesWhatAnotherHasTold(t *testing.T) {
	t.Parallel()
	left, right := elsewhere(t, hub.Options{})
	boards := []*hub.Board{left, right}
	for i := range leaktest.Often(200) {
		one, two := boards[i%2], boards[(i+1)%2]
		ref := hub.Ref{Conversation: fmt.Sprint("c", i), ID: "q"}
		words := func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }
		acptest.Must(one.Ask(t.Context(), asking(ref.Conversation, ref.ID, "Go?")))
		acptest.Must(two.Answer(t.Context(), ref, words, "me"))
		acptest.Must(one.Consumed(t.Context(), ref))
		done := acptest.Must(two.ForgetBy(t.Context(), "me", everything, nil))
		require.Equal(t, hub.Forgotten{Answers: 1}, done)
		// The answer was consumed: the same again is another question.
		acptest.Must(two.Ask(t.Context(), asking(ref.Conversation, ref.ID, "Go?")))
		acptest.Must(one.TakeBack(t.Context(), ref, convert.Outcome{Status: convert.Cancelled}, ""))
	}
}
