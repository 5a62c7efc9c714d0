package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	leaktest.Parallel(32)
	leaktest.Main(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*Server).Start.func1"))
}

// open opens a board over a folder.
func open(t *testing.T, dir string, o hub.Options) *hub.Board {
	t.Helper()
	b, _ := openWithStore(t, dir, o)
	return b
}

// boardBeside is a board of a test that runs beside others.
func boardBeside(t *testing.T) *hub.Board {
	t.Helper()
	t.Parallel()
	return open(t, t.TempDir(), hub.Options{})
}

// openWithStore is open, and what the board keeps its questions in.
func openWithStore(t *testing.T, dir string, o hub.Options) (*hub.Board, *hubstore.Store) {
	t.Helper()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: dir}))
	b := acptest.Must(hub.Open(t.Context(), store, o))
	t.Cleanup(func() { b.Close(); store.Close() })
	return b, store
}

// reopened is a board after a restart of its hub.
func reopened(t *testing.T, b *hub.Board, store *hubstore.Store, dir string, o hub.Options) *hub.Board {
	b.Close()
	store.Close()
	return open(t, dir, o)
}

// asking is asked again after whoever asked it before is gone. What is behind a slash in the
// name is not of the agent's id.
func asking(conversation, name, text string) hub.Asking {
	id, _, _ := strings.Cut(name, "/")
	return hub.Asking{Conversation: conversation, Name: name, Again: true, Agent: "a", Call: convert.Call{ID: id, Questions: []convert.Question{
		{Text: text, Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}}
}

func ask(t *testing.T, b *hub.Board, conversation, id, text string) *hub.Record {
	t.Helper()
	return acptest.Must(b.Ask(t.Context(), asking(conversation, id, text)))
}

func says(labels ...string) func(*hub.Record) ([]convert.Answer, error) {
	return func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Selected: labels}}, nil }
}

func ref(r *hub.Record) hub.Ref { return hub.Ref{Conversation: r.Conversation, ID: r.ID} }

func answer(t *testing.T, b *hub.Board, r *hub.Record, label, by string) *hub.Record {
	t.Helper()
	return acptest.Must(b.Answer(t.Context(), r.Ref(), says(label), by))
}

// The same call again is the same question; the same words are not.
func TestSameQuestion(t *testing.T) {
	b := boardBeside(t)
	first := ask(t, b, "c", "id1", "Go?")
	require.Equal(t, first, ask(t, b, "c", "id1", "Go?"), "the same id")
	unnamed := ask(t, b, "c", "", "Go?")
	require.NotEqual(t, first.ID, unnamed.ID, "the same words")
	require.NotEqual(t, unnamed.ID, ask(t, b, "c", "", "Go?").ID, "with no id each is a question of its own")
	require.NotEqual(t, first.ID, ask(t, b, "c", "id2", "Go?").ID, "another id")
	require.NotEqual(t, first.ID, ask(t, b, "c", "id3", "Stop?").ID, "other questions")
	other := ask(t, b, "d", "id1", "Go?")
	require.Equal(t, "d", other.Conversation)
	require.NotEqual(t, first.Revision, other.Revision, "in another conversation it is another one")
	_, total := b.Waiting(10)
	require.Equal(t, 6, total)

	// An answer is there for whoever asks again under its id, until it was used.
	for _, r := range []*hub.Record{first, unnamed} {
		answer(t, b, r, "Yes", "phone")
		again := ask(t, b, "c", r.ID, "Go?")
		require.False(t, again.Open())
		require.Equal(t, "Yes", again.End.Answers[0].Selected[0])
		acptest.Must(b.Consumed(t.Context(), ref(r)))
		require.True(t, ask(t, b, "c", r.ID, "Go?").Open(), "once it was used it is asked anew")
	}
	require.True(t, ask(t, b, "c", "id9", "Go?").Open())
}

// Of whoever has no name nothing is taken over: another id is another question, also if
// nobody waits for the first.
func TestNothingIsTakenOverWithoutAName(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{Lease: 40 * time.Millisecond})
	first := ask(t, b, "c", "id1", "Go?")
	require.Eventually(t, func() bool {
		r, err := b.Find("c", "id1")
		return err == nil && r.Gone
	}, patience, time.Millisecond)
	answer(t, b, first, "Yes", "phone")
	for _, id := range []string{"id2", ""} {
		require.True(t, ask(t, b, "c", id, "Go?").Open(), id)
	}
	require.ErrorIs(t, acptest.Err(b.Left(t.Context(), asking("c", "", "Go?"))), hub.ErrNotFound)
	require.Equal(t, "Yes", ask(t, b, "c", "id1", "Go?").End.Answers[0].Selected[0])
}

// An id that comes with other questions ends what was open under it.
func TestOtherQuestionUnderTheSameID(t *testing.T) {
	b := boardBeside(t)
	old := ask(t, b, "c", "id", "Go?")
	require.True(t, ask(t, b, "c", "id", "Stop?").Open())
	_, err := b.Answer(t.Context(), hub.Ref{Conversation: "c", ID: "id", Revision: old.Revision}, says("Yes"), "phone")
	require.ErrorIs(t, err, hub.ErrRevision, "what was seen is not what would be answered")
	list, total := b.Waiting(10)
	require.Equal(t, 1, total)
	require.Equal(t, "Stop?", list[0].Call.Questions[0].Text)
	require.Equal(t, "failed", b.Settled("Go?", 10)[0].End.Outcome)
}

func TestFirstAnswerStands(t *testing.T) {
	b := boardBeside(t)
	r := ask(t, b, "c", "id", "Go?")
	require.ErrorIs(t, acptest.Err(b.Answer(t.Context(), ref(r), says("Maybe"), "phone")), convert.ErrBadAnswer)
	answer(t, b, r, "Yes", "phone")
	answer(t, b, r, "Yes", "phone") // the same again, by the same
	for label, by := range map[string]string{"Yes": "laptop", "No": "phone"} {
		_, err := b.Answer(t.Context(), ref(r), says(label), by)
		var settled *hub.SettledError
		require.ErrorAs(t, err, &settled)
		require.Equal(t, "phone", settled.By)
	}
	require.ErrorIs(t, acptest.Err(b.Cancel(t.Context(), ref(r), "phone")), hub.ErrSettled)
	for _, unknown := range []hub.Ref{{Conversation: "x"}, {Conversation: "c", ID: "i"}, {Conversation: "c", ID: "id2"}} {
		require.ErrorIs(t, acptest.Err(b.Cancel(t.Context(), unknown, "phone")), hub.ErrNotFound, "an id is matched whole")
	}
}

func TestManyAnswerAtOnce(t *testing.T) {
	b := boardBeside(t)
	r := ask(t, b, "c", "id", "Go?")
	won := make(chan string, 20)
	done := make(chan struct{})
	for i := range 20 {
		go func() {
			defer func() { done <- struct{}{} }()
			by := fmt.Sprint("device", i)
			if _, err := b.Answer(context.Background(), ref(r), says("Yes"), by); err == nil {
				won <- by
			}
		}()
	}
	for range 20 {
		<-done
	}
	require.Len(t, won, 1)
	require.Equal(t, <-won, acptest.Must(b.Find("c", "id")).End.By)
}

func TestReceipts(t *testing.T) {
	b := boardBeside(t)
	r := answer(t, b, ask(t, b, "c", "id", "Go?"), "Yes", "phone")
	require.Equal(t, "accepted", r.End.Receipt())
	for _, step := range []struct {
		do   func(context.Context, hub.Ref) (*hub.Record, error)
		want string
	}{{b.Delivered, "delivered"}, {b.Consumed, "consumed"}, {b.Delivered, "consumed"}} {
		require.Equal(t, step.want, acptest.Must(step.do(t.Context(), ref(r))).End.Receipt())
	}
	now := acptest.Must(b.Refuse(t.Context(), ref(r), "too late"))
	require.Equal(t, "consumed", now.End.Receipt(), "what was used cannot be refused")

	// An asker that has an outcome from elsewhere.
	r = ask(t, b, "d", "id", "Go?")
	now = acptest.Must(b.TakeBack(t.Context(), ref(r), convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"No"}}}}, "editor"))
	require.Equal(t, "consumed", now.End.Receipt())
	require.Equal(t, "editor", now.End.By)
	r = ask(t, b, "s", "id", "What is your API key?")
	now = acptest.Must(b.TakeBack(t.Context(), ref(r), convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "sk-live-123"}}}, "editor"))
	require.Equal(t, "(not shown)", now.End.Answers[0].Text, "a secret is not kept, whoever says it")
	r = answer(t, b, ask(t, b, "e", "id", "Go?"), "Yes", "phone")
	require.ErrorIs(t, acptest.Err(b.TakeBack(t.Context(), ref(r), convert.Outcome{Status: convert.Cancelled}, "editor")), hub.ErrSettled)
	now = acptest.Must(b.Find("e", "id"))
	require.Equal(t, "undeliverable", now.End.Receipt())
	require.Equal(t, "Yes", now.End.Answers[0].Selected[0], "the answer is kept, and is not delivered")
	require.True(t, ask(t, b, "e", "id", "Go?").Open())
}

func TestAskerIsGoneAndComesBack(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{Lease: 40 * time.Millisecond})
	reader := b.Read(0)
	reader.Next()
	r := ask(t, b, "c", "id", "Go?")
	var changes []*hub.Record // some may come at once
	await := func(gone bool) {
		t.Helper()
		for {
			for len(changes) > 0 {
				c := changes[0]
				if changes = changes[1:]; c.Gone == gone {
					return
				}
			}
			var more <-chan struct{}
			if changes, more = reader.Next(); len(changes) == 0 {
				<-more
			}
		}
	}
	await(false)
	await(true)
	require.True(t, acptest.Must(b.Find("c", "id")).Open())
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan *hub.Record)
	go func() { waited <- b.Wait(ctx, r) }()
	await(false)
	cancel()
	<-waited
	await(true)
	ask(t, b, "c", "id", "Go?")
	await(false)
	go func() { waited <- b.Wait(t.Context(), r) }()
	answer(t, b, r, "Yes", "phone")
	require.Equal(t, "Yes", (<-waited).End.Answers[0].Selected[0])
}

// All that was written is there again, and what is old goes.
func TestRestartAndKeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	during := func(o hub.Options, do func(b *hub.Board)) {
		b, store := openWithStore(t, dir, o)
		defer store.Close()
		defer b.Close()
		do(b)
	}
	during(hub.Options{}, func(b *hub.Board) {
		ask(t, b, "c", "open", "Go?")
		had := answer(t, b, ask(t, b, "c", "answered", "Stop?"), "No", "phone")
		acptest.Must(b.Consumed(t.Context(), had.Ref()))
		for _, id := range []string{"nor this", "unfetched"} {
			answer(t, b, ask(t, b, "c", id, "Wait?"), "Yes", "phone")
		}
	})
	during(hub.Options{}, func(b *hub.Board) {
		require.True(t, acptest.Must(b.Find("c", "open")).Open())
		require.Equal(t, "No", b.Settled("stop no phone", 10)[0].End.Answers[0].Selected[0])
		require.Empty(t, b.Settled("stop yes", 10))
	})
	during(hub.Options{Keep: 30 * time.Millisecond}, func(b *hub.Board) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for len(b.Settled("", 10)) > 2 {
			<-tick.C
		}
		require.Equal(t, "unfetched", b.Settled("", 10)[0].ID, "the agent may come back for it")
		b.Tidy(time.Now().Add(25 * time.Hour))
		require.NoError(t, b.CatchUp(t.Context()))
		require.Empty(t, b.Settled("", 10), "all that is old, at once")
		_, total := b.Waiting(10)
		require.Equal(t, 1, total, "what is open stays, however old")
	})
}

// An outcome that came from a machine whose clock is far behind is not old because
// of that: its agent may not have it yet.
func TestKeepWithAWrongClock(t *testing.T) {
	b, store := openWithStore(t, t.TempDir(), hub.Options{Keep: 24 * time.Hour})
	settled := answer(t, b, ask(t, b, "c", "q", "Go?"), "Yes", "phone")
	e := acptest.Must(store.Get(t.Context(), settled.Key()))
	var all map[string]any
	require.NoError(t, json.Unmarshal(e.Value, &all))
	all["end"].(map[string]any)["at"] = time.Now().AddDate(0, 0, -2)
	acptest.Must(store.Update(t.Context(), e.Key, acptest.Must(json.Marshal(all)), e.Revision))
	is := func() *hub.Record { r, _ := b.FindRef(settled.Ref()); return r }
	require.Eventually(t, func() bool { return time.Since(is().End.At) > 24*time.Hour }, time.Minute, time.Millisecond)
	b.Tidy(time.Now())
	require.NoError(t, b.CatchUp(t.Context()))
	require.NoError(t, acptest.Err(store.Get(t.Context(), e.Key)), "it was just settled")
	b.Tidy(time.Now().Add(2 * time.Hour))
	require.ErrorIs(t, acptest.Err(store.Get(t.Context(), e.Key)), hubstore.ErrNotFound)
}

// A reader that comes late gets what waits; one that was away what has changed.
func TestReaders(t *testing.T) {
	b := open(t, t.TempDir(), hub.Options{})
	one := ask(t, b, "c", "id1", "Go?")
	two := ask(t, b, "c", "id2", "Stop?")
	changes, _ := b.Read(0).Next()
	require.Equal(t, []*hub.Record{one, two}, changes)
	settled := answer(t, b, one, "Yes", "phone")
	changes, _ = b.Read(two.Revision).Next()
	require.Equal(t, []*hub.Record{settled}, changes)
	changes, _ = b.Read(settled.Revision + 1000).Next()
	require.Equal(t, []*hub.Record{two}, changes, "a revision of another store")
}
