package hub_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// used asks a question, answers it, and notes that the answer was used.
func used(t *testing.T, b *hub.Board, conversation, id, text string) *hub.Record {
	t.Helper()
	a := asking(conversation, id, text)
	a.Asker, a.Device = "p", "bot"
	r, err := b.Ask(t.Context(), a)
	require.NoError(t, err)
	answer(t, b, r, "Yes", "phone")
	ref := r.Ref()
	ref.Asker = "p"
	r, err = b.Consumed(t.Context(), ref)
	require.NoError(t, err)
	b.Expire(later())
	return r
}

// recordKeys are the keys of records in a store, without those of volumes.
func recordKeys(t *testing.T, store *hubstore.Store) []string {
	t.Helper()
	keys, err := store.Keys(t.Context())
	require.NoError(t, err)
	return slices.DeleteFunc(keys, func(k string) bool { return strings.HasPrefix(k, "volumes.") })
}

// Two boards get the same requests in any order. One archives what is over whenever
// it may, and both are opened anew; nobody can tell which it is.
func TestArchivesAreNotNoticed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			dirs := []string{t.TempDir(), t.TempDir()}
			var stores [2]*hubstore.Store
			var boards [2]*hub.Board
			closeAll := func() {
				for i, b := range boards {
					b.Close()
					stores[i].Close()
				}
			}
			openAll := func() {
				for i := range boards {
					var err error
					stores[i], err = hubstore.Open(t.Context(), hubstore.Options{Dir: dirs[i]})
					require.NoError(t, err)
					boards[i], err = hub.Open(t.Context(), stores[i], hub.Options{})
					require.NoError(t, err)
				}
			}
			openAll()
			defer func() { closeAll() }()
			archived := 0
			for step := range 120 {
				did := archiveStep(random, step)
				require.Equal(t, did.do(t, boards[0]), did.do(t, boards[1]), "%d: %s", step, did.what)
				for _, b := range boards {
					b.Expire(later()) // or who asks next waits for whoever was there
				}
				switch random.IntN(6) {
				case 0, 1:
					archived = max(archived, boards[1].SettleDown(later()))
				case 2:
					closeAll()
					openAll()
				}
			}
			require.Positive(t, archived)
		})
	}
}

type archiveRequest struct {
	what string
	do   func(*testing.T, *hub.Board) any
}

// archiveStep draws a request. What it returns has no revisions or times: two boards have
// their own.
func archiveStep(random *rand.Rand, step int) archiveRequest {
	group := []string{"", "team"}[random.IntN(2)]
	conversation, id := fmt.Sprint("c", random.IntN(3)), []string{"", "q0", "q1", "q2", "q3"}[random.IntN(5)]
	text, asker, device := fmt.Sprintf("Go %d?", random.IntN(2)), fmt.Sprint("p", random.IntN(10)/9), fmt.Sprint("d", random.IntN(10)/9) // two who ask the same wait for each other
	by := []string{"anna", "bert"}[random.IntN(2)]
	ref := hub.Ref{Group: group, Conversation: conversation, ID: id}
	told := func(r *hub.Record, err error) any {
		if err != nil {
			if i := strings.Index(err.Error(), " at 20"); i >= 0 {
				return err.Error()[:i]
			}
			return strings.ReplaceAll(err.Error(), "q_", "")[:min(30, len(err.Error()))]
		}
		id := r.ID
		if strings.HasPrefix(id, "q_") {
			id = "minted"
		}
		said := []any{r.Group, r.Conversation, id, r.Call.Questions, r.Asker, r.Device, r.Open(), r.Fingerprint()}
		if !r.Open() {
			said = append(said, r.End.Outcome, r.End.Answers, r.End.By, r.End.Reason, r.End.Taker, r.End.Receipt(), r.End.Forgotten, r.End.Ended.IsZero())
		}
		return said
	}
	all := func(list []*hub.Record) (said []any) {
		for _, r := range list {
			said = append(said, told(r, nil))
		}
		return said
	}
	switch n := random.IntN(14); n {
	case 0, 1, 2, 3:
		return archiveRequest{"ask", func(t *testing.T, b *hub.Board) any {
			a := asking(conversation, id, text)
			a.Group, a.Asker, a.Device = group, asker, device
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			return told(b.Ask(ctx, a))
		}}
	case 4, 5, 6:
		return archiveRequest{"answer and use", func(t *testing.T, b *hub.Board) any {
			r, err := b.FindRef(ref)
			if err != nil || !r.Open() {
				return told(r, err)
			}
			_, err = b.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) {
				return []convert.Answer{{Text: fmt.Sprintf("words%c", 'r'+step%7)}}, nil
			}, by)
			require.NoError(t, err)
			used := r.Ref()
			used.Asker = r.Asker
			return told(b.Consumed(t.Context(), used))
		}}
	case 7:
		return archiveRequest{"cancel", func(t *testing.T, b *hub.Board) any { return told(b.Cancel(t.Context(), ref, by)) }}
	case 8:
		return archiveRequest{"ended", func(t *testing.T, b *hub.Board) any { return told(b.Ended(t.Context(), ref)) }}
	case 9:
		return archiveRequest{"find", func(t *testing.T, b *hub.Board) any {
			ref.Device = []string{"", device}[step%2]
			return told(b.FindRef(ref))
		}}
	case 10:
		return archiveRequest{"conversation", func(t *testing.T, b *hub.Board) any {
			list, err := b.Conversation(group, conversation)
			var each []any
			for _, r := range list {
				each = append(each, told(b.FindRef(hub.Ref{Group: group, Conversation: conversation, ID: r.ID})))
			}
			return []any{all(list), each, err, len(b.Groups(conversation))}
		}}
	case 11:
		return archiveRequest{"conversations", func(t *testing.T, b *hub.Board) any {
			list, err := b.Conversations()
			return []any{all(list), err}
		}}
	case 12:
		if step%9 == 0 {
			return archiveRequest{"forget", func(t *testing.T, b *hub.Board) any {
				done, err := b.ForgetBy(t.Context(), by, everything, nil)
				return []any{done, err}
			}}
		}
		return archiveRequest{"history in pages", func(t *testing.T, b *hub.Board) any {
			var said []any
			for s, more := (hub.Search{Limit: 1 + step%5}), true; more; {
				var list []*hub.Record
				var err error
				list, more, err = b.Search(s)
				require.NoError(t, err)
				said = append(said, all(list)...)
				if more {
					s.After = list[len(list)-1].Place()
				}
			}
			return said
		}}
	}
	return archiveRequest{"words", func(t *testing.T, b *hub.Board) any {
		return all(b.Settled(fmt.Sprintf("words%c %s", 'r'+step%7, by), 1+step%5))
	}}
}

// What is archived leaves the store's bucket up to the first question that is needed there,
// and behind that one by one where it is much.
func TestArchivedValuesArePurged(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	for i := range 3 {
		used(t, b, "c", fmt.Sprint("before", i), "Go?")
	}
	open := ask(t, b, "c", "open", "Long?")
	for i := range 4 {
		used(t, b, "c", fmt.Sprint("after", i), "Go?")
	}
	require.Equal(t, 7, b.SettleDown(later()))
	require.Len(t, recordKeys(t, store), 5, "the open one, and those behind it")
	require.Equal(t, 7, b.SettleDown(later()), "to look again changes nothing")
	b.LeaveAtMost(1)
	require.Equal(t, 7, b.SettleDown(later()))
	require.Len(t, recordKeys(t, store), 2)
	answer(t, b, open, "Yes", "phone")
	_, err := b.Consumed(t.Context(), open.Ref())
	require.NoError(t, err)
	b.Expire(later())
	require.Equal(t, 8, b.SettleDown(later()))
	require.Empty(t, recordKeys(t, store))
	require.Len(t, b.Settled("", 20), 8)
}

// A hub that ends between two steps has every question once, and nothing twice in the end.
func TestArchivesAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, store := openWithStore(t, dir, hub.Options{})
	var values []hubstore.Entry
	for i := range 3 {
		r := used(t, b, "c", fmt.Sprint("q", i), "Go?")
		values = append(values, hubstore.Entry{Key: r.Key(), Value: []byte(r.Encode()), Revision: r.Revision})
	}
	ask(t, b, "c", "open", "Long?")
	b.ArchiveWithoutPurge(later())
	require.Len(t, recordKeys(t, store), 4, "they are in both places")
	b.Close()

	// It ended before it removed what it has archived.
	b, err := hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	require.Len(t, b.Settled("", 10), 3)
	list, err := b.Conversation("", "c")
	require.NoError(t, err)
	require.Len(t, list, 4)
	require.Equal(t, 3, b.SettleDown(later()))
	require.Len(t, recordKeys(t, store), 1, "the open one")

	// It ended when it had written a change of an archived one, and the archive has it as
	// it was.
	_, err = store.Create(t.Context(), values[0].Key, []byte(strings.Replace(string(values[0].Value), `"by":"phone"`, `"by":"desk"`, 1)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(b.Settled("desk", 10)) == 1 }, time.Minute, time.Millisecond)
	require.Len(t, b.Settled("", 10), 3)
	b.Close()
	b, err = hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	require.Len(t, b.Settled("", 10), 3)
	r, err := b.Find("c", "q0")
	require.NoError(t, err)
	require.Equal(t, "desk", r.End.By)
	require.Equal(t, 3, b.SettleDown(later()), "each is there once")
	require.Len(t, b.Settled("desk", 10), 1)
	require.Len(t, b.Settled("phone", 10), 2)
}

// Volumes that nothing tells of are removed when they were seen so twice, and no others.
func TestLostVolumesAreRemoved(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	used(t, b, "c", "q", "Go?")
	require.Equal(t, 1, b.SettleDown(later()))
	volumes, err := store.Beside(t.Context(), "_settled", "")
	require.NoError(t, err)
	_, err = volumes.Create(t.Context(), "lost", []byte("{}"))
	require.NoError(t, err)
	for _, left := range []int{2, 1, 1} {
		b.Tidy(time.Now())
		keys, err := volumes.Keys(t.Context())
		require.NoError(t, err)
		require.Len(t, keys, left)
	}
	require.Len(t, b.Settled("", 10), 1)
}

// Of a volume that is lost or damaged its questions are lost, and no others; its ids are
// asked anew.
func TestDamagedVolume(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string][]byte{"lost": nil, "cut": []byte("(\xb5/\xfd\x04\x00"), "nonsense": []byte("{}")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b, store := openWithStore(t, dir, hub.Options{})
			used(t, b, "c", "one", "Go?")
			require.Equal(t, 1, b.SettleDown(later()))
			volumes, err := store.Beside(t.Context(), "_settled", "")
			require.NoError(t, err)
			keys, err := volumes.Keys(t.Context())
			require.NoError(t, err)
			whole, err := volumes.Get(t.Context(), keys[0])
			require.NoError(t, err)
			require.NoError(t, volumes.Purge(t.Context(), keys[0], 0))
			if damage != nil {
				_, err = volumes.Create(t.Context(), keys[0], damage)
				require.NoError(t, err)
			}
			used(t, b, "c", "two", "Go?")
			require.Positive(t, b.SettleDown(later()))
			b.Close()
			b, err = hub.Open(t.Context(), store, hub.Options{})
			require.NoError(t, err)
			t.Cleanup(b.Close)
			require.Equal(t, []string{"two"}, ids(b.Settled("", 10)))
			a := asking("c", "one", "Go?")
			a.Asker, a.Device = "p", "bot"
			r, err := b.Ask(t.Context(), a)
			require.NoError(t, err)
			require.True(t, r.Open())
			done, err := b.ForgetBy(t.Context(), "phone", everything, nil)
			require.NoError(t, err)
			require.Equal(t, hub.Forgotten{Answers: 1}, done)
			if name == "lost" { // a server did not have it yet
				_, err = volumes.Create(t.Context(), keys[0], whole.Value)
				require.NoError(t, err)
				require.Equal(t, []string{"two", "one"}, ids(b.Settled("", 10)))
				_, err = b.Cancel(t.Context(), r.Ref(), "me")
				require.NoError(t, err)
				list, err := b.Conversation("", "c")
				require.NoError(t, err)
				require.Len(t, list, 3)
			}
		})
	}
}

// Two hubs that archive at the same time have each question once.
func TestTwoHubsArchiveAtOnce(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	boards := []*hub.Board{boardAt(t, url, hub.Options{}), boardAt(t, url, hub.Options{})}
	const many = 150
	for i := range many {
		used(t, boards[i%2], fmt.Sprint("c", i%7), fmt.Sprint("q", i), "Go?")
	}
	for range 3 {
		var both sync.WaitGroup
		for _, b := range boards {
			require.NoError(t, b.CatchUp(t.Context()))
			b.Expire(later())
			both.Go(func() { b.SettleDown(later()) })
		}
		both.Wait()
	}
	for _, b := range boards {
		require.NoError(t, b.CatchUp(t.Context()))
		require.Zero(t, b.InMemory())
		found := map[string]int{}
		for _, r := range b.Settled("", 0) {
			found[r.ID]++
		}
		require.Len(t, found, many)
		for id, times := range found {
			require.Equal(t, 1, times, id)
		}
	}
}

// What is removed while it is archived is in no volume when both are done.
func TestForgottenWhileArchived(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	volumes, err := store.Beside(t.Context(), "_settled", "")
	require.NoError(t, err)
	for round := range 40 {
		for i := range 5 {
			used(t, b, "c", fmt.Sprint("q", round, "-", i), "Go?")
		}
		var both sync.WaitGroup
		both.Go(func() { b.SettleDown(later()) })
		both.Go(func() {
			time.Sleep(time.Duration(round) * 50 * time.Microsecond) // anywhere
			_, err := b.ForgetBy(t.Context(), "phone", everything, nil)
			assert.NoError(t, err)
		})
		both.Wait()
		require.Empty(t, b.Settled("phone", 0))
		keys, err := volumes.Keys(t.Context())
		require.NoError(t, err)
		for _, key := range keys {
			value, err := volumes.Get(t.Context(), key)
			require.NoError(t, err)
			require.NotContains(t, string(hub.Unpack(t, value.Value)), `"by":"phone"`)
		}
	}
}

// A hub leaves what a newer one has archived, and archives on.
func TestVolumesOfANewerHub(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	_, err := store.Create(t.Context(), "volumes.1", []byte(`{"version":99999999,"value":"newer"}`))
	require.NoError(t, err)
	volumes, err := store.Beside(t.Context(), "_settled", "")
	require.NoError(t, err)
	_, err = volumes.Create(t.Context(), "newer", []byte("{}"))
	require.NoError(t, err)
	used(t, b, "c", "q", "Go?")
	require.Equal(t, 1, b.SettleDown(later()))
	for range 3 {
		b.Tidy(time.Now())
	}
	_, err = volumes.Get(t.Context(), "newer")
	require.NoError(t, err)
	keys, err := store.Keys(t.Context())
	require.NoError(t, err)
	require.Subset(t, keys, []string{"volumes.1", "volumes.2"})
}

// A value stays for a moment after it was archived: a hub that has not seen the question
// and asks it is told that there is one.
func TestAskedWhileArchived(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	one, two := boardAt(t, url, hub.Options{}), boardAt(t, url, hub.Options{})
	a := asking("c", "q", "Go?")
	a.Asker, a.Device = "p", "bot"
	begun := false
	a.May = func(context.Context) error {
		if !begun { // right before it is written, another hub is faster
			begun = true
			used(t, one, "c", "q", "Go?")
			require.Equal(t, 1, one.SettleDown(time.Now().Add(30*time.Second)))
		}
		return nil
	}
	r, err := two.Ask(t.Context(), a)
	require.NoError(t, err)
	require.False(t, r.Open(), "its asker had the outcome")
	require.NoError(t, one.CatchUp(t.Context()))
	require.Len(t, one.Settled("", 10), 1)
}

// What somebody said is gone from volumes, too, and no value of the store has it.
func TestForgottenInVolumes(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	ask(t, b, "c", "open", "Long?")
	for i := range 4 {
		r := ask(t, b, "c", fmt.Sprint("q", i), "Colour?")
		_, err := b.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) {
			return []convert.Answer{{Text: fmt.Sprint("purple", i)}}, nil
		}, fmt.Sprint("person", i%2))
		require.NoError(t, err)
		_, err = b.Consumed(t.Context(), r.Ref())
		require.NoError(t, err)
	}
	b.Expire(later())
	require.Equal(t, 4, b.SettleDown(later()))
	require.Len(t, recordKeys(t, store), 5, "an open one keeps them there, too")
	refused := fmt.Errorf("no longer")
	_, err := b.ForgetBy(t.Context(), "person1", everything, func(context.Context) error { return refused })
	require.ErrorIs(t, err, refused)
	require.Len(t, b.Settled("purple", 10), 4)
	done, err := b.ForgetBy(t.Context(), "person1", func(r *hub.Record) bool { return r.ID != "q3" }, nil)
	require.NoError(t, err)
	require.Equal(t, hub.Forgotten{Answers: 1}, done)
	require.Equal(t, []string{"q3", "q2", "q0"}, ids(b.Settled("purple", 10)))
	volumes, err := store.Beside(t.Context(), "_settled", "")
	require.NoError(t, err)
	keys, err := volumes.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	value, err := volumes.Get(t.Context(), keys[0])
	require.NoError(t, err)
	require.NotContains(t, string(hub.Unpack(t, value.Value)), "purple1")
	require.Contains(t, string(hub.Unpack(t, value.Value)), "purple2")
	for _, key := range recordKeys(t, store) {
		value, err := store.Get(t.Context(), key)
		require.NoError(t, err)
		require.NotContains(t, string(value.Value), "purple1", "nor where it was before")
	}
}

// A record that fits into no volume stays where it is, and others are archived in as many
// volumes as it takes.
func TestLargeQuestionsAreArchived(t *testing.T) {
	t.Parallel()
	url := natsWith(t, 64<<10)
	store, err := hubstore.Open(t.Context(), hubstore.Options{URL: url})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	b, err := hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	noise := func(bytes int) string {
		text := make([]byte, bytes)
		for i := range text {
			text[i] = byte('0' + rand.IntN(70))
		}
		return strings.ToValidUTF8(string(text), "")
	}
	for i := range 6 {
		used(t, b, "c", fmt.Sprint("q", i), "Go? "+noise(20<<10))
	}
	require.Equal(t, 6, b.SettleDown(later()))
	require.Empty(t, recordKeys(t, store))
	found := map[string]bool{}
	for _, r := range b.Settled("go?", 10) {
		found[r.ID] = true
	}
	require.Equal(t, []string{"q0", "q1", "q2", "q3", "q4", "q5"}, slices.Sorted(maps.Keys(found)))
}

// A hub is told of what another one archives, also of what it has not seen before: who
// waits there gets the outcome.
func TestArchivesOfAnotherHub(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	openHub := func() (*hub.Board, *hubstore.Store) {
		store, err := hubstore.Open(t.Context(), hubstore.Options{URL: url})
		require.NoError(t, err)
		t.Cleanup(store.Close)
		b, err := hub.Open(t.Context(), store, hub.Options{})
		require.NoError(t, err)
		t.Cleanup(b.Close)
		return b, store
	}
	one, _ := openHub()
	two, store := openHub()
	r := used(t, one, "c", "q", "Go?")
	require.NoError(t, two.CatchUp(t.Context()))
	require.Len(t, two.Settled("", 10), 1)
	require.Equal(t, 1, one.SettleDown(later()))
	require.NoError(t, two.CatchUp(t.Context()))
	require.Zero(t, two.InMemory())
	require.Equal(t, []string{"q"}, ids(two.Settled("", 10)))
	require.Empty(t, recordKeys(t, store))

	// Both note something at it.
	_, err := two.Ended(t.Context(), r.Ref())
	require.NoError(t, err)
	done, err := one.ForgetBy(t.Context(), "phone", everything, nil)
	require.NoError(t, err)
	require.Equal(t, 1, done.Answers)
	for _, b := range []*hub.Board{one, two} {
		require.NoError(t, b.CatchUp(t.Context()))
		found, err := b.Find("c", "q")
		require.NoError(t, err)
		require.True(t, found.End.Forgotten)
		require.False(t, found.End.Ended.IsZero())
		require.Len(t, b.Settled("", 10), 1)
	}
	one.Expire(later())
	two.Expire(later())
	require.Equal(t, 1, two.SettleDown(later()))
	require.NoError(t, one.CatchUp(t.Context()))
	require.Equal(t, 1, one.SettleDown(later()))
	require.Len(t, one.Settled("", 10), 1)
}

// The clock of another machine said when a question was settled: one that is behind does
// not cost what was archived.
func TestArchivedIsKept(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	_, err := store.Create(t.Context(), hub.KeyOf("c", "q"), []byte(`{"conversation":"c","id":"q","kind":"question","call":{"ID":"q","Questions":[{"Text":"Go?"}]},"asked":"2020-11-15T20:00:00Z","end":{"outcome":"answered","by":"phone","at":"2020-11-15T20:01:00Z","consumed":"2020-11-15T20:01:00Z"}}`))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.InMemory() == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, 1, b.SettleDown(later()))
	b.Tidy(time.Now())
	require.Len(t, b.Settled("", 10), 1)
	b.Tidy(time.Now().Add(2 * time.Hour))
	require.Empty(t, b.Settled("", 10))
	keys, err := store.Keys(t.Context())
	require.NoError(t, err)
	require.Empty(t, keys)
}
