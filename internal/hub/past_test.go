package hub_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// later is when everything that is over is past.
func later() time.Time { return time.Now().Add(time.Hour) }

// pastBoard has a conversation with questions that were answered and used, one whose
// answer was refused, one whose answer nobody has, and one that is open.
func pastBoard(t *testing.T) *hub.Board {
	t.Helper()
	b := open(t, t.TempDir(), hub.Options{})
	for i, end := range []string{"used", "used", "refused", "kept", "open"} {
		a := asking("c", fmt.Sprint("q", i), fmt.Sprintf("Is \"%d\" größer?", i))
		a.Asker, a.Device = fmt.Sprint("asker", i%2), "bot"
		r, err := b.Ask(t.Context(), a)
		require.NoError(t, err)
		if end == "open" {
			continue
		}
		_, err = b.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) {
			return []convert.Answer{{Text: "Words of " + end}}, nil
		}, "Phone 1")
		require.NoError(t, err)
		ref := r.Ref()
		ref.Asker = a.Asker
		switch end {
		case "used":
			_, err = b.Consumed(t.Context(), ref)
		case "refused":
			_, err = b.Refuse(t.Context(), ref, "it was answered elsewhere before, by Phone 2")
		}
		require.NoError(t, err)
	}
	b.Expire(later())
	return b
}

// Whatever is asked of a board has the same reply when what is over is past.
func TestWhatIsPastIsFoundByTheSameRequests(t *testing.T) {
	t.Parallel()
	b := pastBoard(t)
	one := func(r *hub.Record, err error) any {
		if err != nil {
			return err.Error()
		}
		return []any{r.Encode(), r.Revision, r.Fingerprint(), r.Key(), r.Gone}
	}
	all := func(list []*hub.Record) (said []any) {
		for _, r := range list {
			said = append(said, one(r, nil))
		}
		return said
	}
	keys := map[string]string{}
	asked, err := b.Conversation("", "c")
	require.NoError(t, err)
	for _, r := range asked {
		keys[r.ID] = r.Key()
	}
	refused, err := b.Find("c", "q2")
	require.NoError(t, err)
	requests := map[string]func() any{
		"the first open":      func() any { return one(b.Find("c", "")) },
		"one":                 func() any { return one(b.Find("c", "q1")) },
		"one of a device":     func() any { return one(b.FindRef(hub.Ref{Conversation: "c", ID: "q1", Device: "bot"})) },
		"one of another":      func() any { return one(b.FindRef(hub.Ref{Conversation: "c", ID: "q1", Device: "other"})) },
		"one of a process":    func() any { return one(b.FindRef(hub.Ref{Conversation: "c", ID: "q1", Asker: "asker1"})) },
		"one at its revision": func() any { return one(b.FindRef(hub.Ref{Conversation: "c", ID: "q2", Revision: refused.Revision})) },
		"none":                func() any { return one(b.Find("c", "q9")) },
		"no conversation":     func() any { return one(b.Find("d", "")) },
		"by key":              func() any { return one(b.FindKey(t.Context(), keys["q0"])) },
		"a conversation": func() any {
			list, err := b.Conversation("", "c")
			return []any{all(list), err}
		},
		"conversations": func() any {
			list, err := b.Conversations()
			return []any{all(list), err}
		},
		"groups":  func() any { return b.Groups("c") },
		"history": func() any { return all(b.Settled("", 10)) },
		"a page of it": func() any {
			list, more, err := b.Search(hub.Search{Limit: 2, After: refused.Place()})
			return []any{all(list), more, err}
		},
		"words":         func() any { return all(b.Settled("WORDS used", 10)) },
		"words as such": func() any { return all(b.Settled(`is "2" GRÖSSER?`, 10)) },
		"no such words": func() any { return all(b.Settled("answers of", 10)) },
		"who answered":  func() any { return all(b.Settled("phone", 10)) },
		"changes":       func() any { changes, _ := b.Read(1).Next(); return all(changes) },
		"late, and had": func() any { return one(b.Ask(t.Context(), late(t, "q1", "asker1"))) },
		"answered again": func() any {
			_, err := b.Cancel(t.Context(), hub.Ref{Conversation: "c", ID: "q1"}, "me")
			return err.Error()
		},
	}
	before := map[string]any{}
	for name, ask := range requests {
		before[name] = ask()
	}
	require.Equal(t, 3, b.SettleDown(later()))
	for name, ask := range requests {
		require.Equal(t, before[name], ask(), name)
	}
	require.Equal(t, 3, b.SettleDown(later()), "to look changes nothing")
}

// late is a question of pastBoard, asked by a process.
func late(t *testing.T, id, asker string) hub.Asking {
	t.Helper()
	a := asking("c", id, fmt.Sprintf("Is \"%s\" größer?", id[1:]))
	a.Asker, a.Device = asker, "bot"
	return a
}

// Who asks under the id of what is past asks anew, and what is noted about it is noted
// at all of it.
func TestWhatIsPastChanges(t *testing.T) {
	t.Parallel()
	b := pastBoard(t)
	require.Equal(t, 3, b.SettleDown(later()))
	old, err := b.Find("c", "q1")
	require.NoError(t, err)
	anew, err := b.Ask(t.Context(), late(t, "q1", "asker7"))
	require.NoError(t, err)
	require.True(t, anew.Open())
	require.NotEqual(t, old.Key(), anew.Key())
	require.True(t, anew.Asked.After(old.Asked))
	_, err = b.Cancel(t.Context(), hub.Ref{Conversation: "c", ID: "q1"}, "phone")
	require.ErrorIs(t, err, hub.ErrSeveral, "it may be a reply to the old one that comes once more")

	ended, err := b.Ended(t.Context(), old.Ref())
	require.NoError(t, err)
	require.Equal(t, old.End.Answers, ended.End.Answers)
	require.False(t, ended.End.Ended.IsZero())

	done, err := b.ForgetBy(t.Context(), "Phone 2", everything, nil)
	require.NoError(t, err)
	require.Zero(t, done, "the answer is another's")
	done, err = b.ForgetBy(t.Context(), "Phone 1", everything, nil)
	require.NoError(t, err)
	require.Equal(t, hub.Forgotten{Answers: 3, Left: 1}, done)
	r, err := b.Find("c", "q2")
	require.NoError(t, err)
	require.Equal(t, "it was answered elsewhere before", r.End.Undelivered)
	require.Empty(t, b.Settled("used", 10))

	require.Equal(t, 3, b.SettleDown(later()))
	b.Tidy(time.Now().Add(365 * 24 * time.Hour))
	require.Eventually(t, func() bool { return len(b.Settled("", 10)) == 0 }, time.Minute, time.Millisecond)
	require.Zero(t, b.SettleDown(later()))
}

// A board that starts has what was archived, whatever wrote it.
func TestPastFromTheStart(t *testing.T) {
	t.Parallel()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	for id, more := range map[string]string{"b": "", "c": `"mood":"calm",`} {
		_, err = store.Create(t.Context(), hub.KeyOf("c", id), []byte(`{`+more+`"conversation":"c","id":"`+id+`","kind":"question","call":{"ID":"q","Questions":[{"Text":"Go?"}]},"asked":"2026-11-15T20:00:00Z","end":{"outcome":"answered","answers":[{"Text":"\u0079es"}],"by":"phone","at":"2026-11-15T20:01:00Z","delivered":"2026-11-15T20:01:00Z","consumed":"2026-11-15T20:01:00Z"}}`))
		require.NoError(t, err)
	}
	b, err := hub.Open(t.Context(), store, hub.Options{Keep: 1 << 62})
	require.NoError(t, err)
	require.Equal(t, 2, b.SettleDown(later()))
	b.Close()
	keys, err := store.Keys(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"volumes.1"}, keys, "the bucket has them no more")
	b, err = hub.Open(t.Context(), store, hub.Options{Keep: 1 << 62})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	require.Equal(t, []string{"c", "b"}, ids(b.Settled("yes", 10)))
	r, err := b.Ended(t.Context(), hub.Ref{Conversation: "c", ID: "c"})
	require.NoError(t, err)
	require.Contains(t, r.Encode(), `"mood":"calm"`)
	require.Equal(t, []string{"c", "b"}, ids(b.Settled("yes", 10)))
	require.Equal(t, 2, b.SettleDown(later()))
}

func ids(list []*hub.Record) (all []string) {
	for _, r := range list {
		all = append(all, r.ID)
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}
