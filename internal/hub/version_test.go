package hub_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// An older hub beside a newer one answers what the newer one was asked, and
// keeps what it does not know; what it cannot read it says and leaves alone.
func TestOlderAndNewerHub(t *testing.T) {
	t.Parallel()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	const newer = `{"conversation":"c","id":"q1","kind":"question","mood":"calm","call":{"ID":"q1","Tone":"soft","Questions":[{"Text":"Go?","Options":[{"Label":"Yes","Icon":"y"}],"Shape":"round"}]},"asked":"2026-11-15T20:00:00Z"}`
	acptest.Must(store.Create(t.Context(), "a.b.0", []byte(newer)))
	const newest = `{"version":5,"conversation":"c","id":"q2","kind":"question","call":{"ID":"q2","Questions":[{"Text":"Stop?"}]},"asked":"2026-11-15T20:00:00Z"}`
	left := acptest.Must(store.Create(t.Context(), "a.c.0", []byte(newest)))
	var log acptest.Written
	b := acptest.Must(hub.Open(t.Context(), store, hub.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	t.Cleanup(b.Close)
	require.Contains(t, log.String(), "expected version 4 at most, got 5")
	require.NotContains(t, log.String(), "Stop?", "a log has no text of a question")
	require.ErrorIs(t, acptest.Err(b.Find("c", "q2")), hub.ErrNotFound)

	r := acptest.Must(b.Answer(t.Context(), hub.Ref{Conversation: "c", ID: "q1"}, func(*hub.Record) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{"Yes"}}}, nil
	}, "phone"))
	e := acptest.Must(store.Get(t.Context(), "a.b.0"))
	kept := func(value []byte) {
		for path, want := range map[string]string{
			"mood": "calm", "call.Tone": "soft", "call.Questions.0.Shape": "round", "call.Questions.0.Options.0.Icon": "y",
			"end.outcome": "answered", "end.by": "phone",
		} {
			require.Equal(t, want, gjson.GetBytes(value, path).String(), path)
		}
	}
	kept(e.Value)
	// The newer one notes something about the end, and this one goes on with it.
	var all map[string]any
	require.NoError(t, json.Unmarshal(e.Value, &all))
	all["end"].(map[string]any)["seal"] = "wax"
	sealed := acptest.Must(store.Update(t.Context(), "a.b.0", acptest.Must(json.Marshal(all)), e.Revision))
	require.Eventually(t, func() bool { now, err := b.Find("c", "q1"); return err == nil && now.Revision == sealed }, time.Minute, time.Millisecond)
	acptest.Must(b.Consumed(t.Context(), r.Ref()))
	e = acptest.Must(store.Get(t.Context(), "a.b.0"))
	kept(e.Value)
	require.Equal(t, "wax", gjson.GetBytes(e.Value, "end.seal").String())
	require.True(t, gjson.GetBytes(e.Value, "end.consumed").Exists())
	// What is forgotten may be in the newer one's notes, and an even older hub must
	// not take the rest for an answer.
	done := acptest.Must(b.ForgetBy(t.Context(), "phone", everything, nil))
	require.Equal(t, hub.Forgotten{Answers: 1}, done)
	e = acptest.Must(store.Get(t.Context(), "a.b.0"))
	require.False(t, gjson.GetBytes(e.Value, "end.seal").Exists())
	require.EqualValues(t, 2, gjson.GetBytes(e.Value, "version").Int())
	require.Equal(t, "calm", gjson.GetBytes(e.Value, "mood").String())
	e = acptest.Must(store.Get(t.Context(), "a.c.0"))
	require.Equal(t, hubstore.Entry{Key: "a.c.0", Value: []byte(newest), Revision: left}, e)
}

// What a hub wrote before values were packed is read, answered, and packed where that
// makes it shorter. What is short stays as it was: a hub of before reads it.
func TestRecordsOfBeforeTheyWerePacked(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"short": 100, "long": 600 << 10} {
		t.Run(name, func(t *testing.T) {
			store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
			t.Cleanup(store.Close)
			text := strings.Repeat("Go on? ", size/7)
			const key = "a.b.0"
			acptest.Must(store.Create(t.Context(), key, []byte(`{"conversation":"c","id":"q","kind":"question","dialect":"claude","document":{"questions":[{"question":"`+text+`"}]},"call":{"ID":"q","Questions":[{"Text":"`+text+`"}]},"asked":"2026-11-15T20:00:00Z"}`)))
			open := func() *hub.Board {
				b := acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
				t.Cleanup(b.Close)
				return b
			}
			acptest.Must(open().Answer(t.Context(), hub.Ref{Conversation: "c", ID: "q"}, func(r *hub.Record) ([]convert.Answer, error) {
				require.Equal(t, text, r.Call.Questions[0].Text)
				return []convert.Answer{{Text: "yes"}}, nil
			}, "phone"))
			e := acptest.Must(store.Get(t.Context(), key))
			require.Equal(t, name == "short", json.Valid(e.Value))
			require.Less(t, len(e.Value), 10<<10)
			r := acptest.Must(open().Find("c", "q"))
			require.Equal(t, text, r.Call.Questions[0].Text)
			require.Equal(t, text, gjson.GetBytes(r.Document, "questions.0.question").Str)
			require.Equal(t, "yes", r.End.Answers[0].Text)
		})
	}
}

// The call of one who calls the API is kept once, as it was asked, and the next hub reads
// the same in it. What a document does not say is kept beside it.
func TestACallIsKeptOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, store := openWithStore(t, dir, hub.Options{})
	const document = `{"questions":[{"question":"Go on?","header":"Go","options":[{"label":"Yes","description":"on"},{"label":"No","description":"back"}],"multiSelect":false}]}`
	req := acptest.Must(dialect.Decode([]byte(document), ""))
	a := hub.Asking{Conversation: "c", Name: "q", Dialect: req.Dialect, Document: []byte(document), Call: req.Call}
	once := acptest.Must(b.Ask(t.Context(), a))
	a.Name, a.Call.ID = "other", "other"
	twice := acptest.Must(b.Ask(t.Context(), a))
	for i, e := range entries(t, store) {
		require.Equal(t, i+1, strings.Count(string(e.Value), "Go on?"))
		require.EqualValues(t, 4*(1-i), gjson.GetBytes(e.Value, "version").Int())
	}
	b = reopened(t, b, store, dir, hub.Options{})
	for _, before := range []*hub.Record{once, twice} {
		now := acptest.Must(b.FindRef(before.Ref()))
		require.Equal(t, before.Call.Questions, now.Call.Questions)
		require.Equal(t, before.Fingerprint(), now.Fingerprint())
		require.Equal(t, before.Call.ID, answer(t, b, now, "Yes", "phone").Call.ID)
	}
}

// Who asks under an id that is taken by what this hub cannot read is told so, and
// asks another hub: it does not wait for ever.
func TestAskWhereANewerHubWrote(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	for c, open := range map[string]bool{"open": true, "settled": false} {
		r := acptest.Must(b.Ask(t.Context(), asking(c, "q", "Go?")))
		if !open {
			r = acptest.Must(b.Cancel(t.Context(), r.Ref(), "me"))
		}
		e := acptest.Must(store.Get(t.Context(), r.Key()))
		newer := acptest.Must(store.Update(t.Context(), r.Key(), []byte(`{"version":5,`+string(e.Value[1:])), e.Revision))
		require.Eventually(t, func() bool { _, err := b.Find(c, "q"); return err != nil }, time.Minute, time.Millisecond)
		require.ErrorContains(t, acptest.Err(b.Ask(t.Context(), asking(c, "q", "Stop?"))), "cannot read")
		require.NoError(t, store.Delete(t.Context(), r.Key(), newer))
		require.Eventually(t, func() bool { _, err := b.Ask(t.Context(), asking(c, "q", "Stop?")); return err == nil }, time.Minute, time.Millisecond)
	}
}

// Records of before there was a word for what was withdrawn are read: nobody's choice is
// not told as somebody's.
func TestWithdrawnInOlderRecords(t *testing.T) {
	t.Parallel()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	for id, end := range map[string]string{
		"withdrawn": `{"outcome":"cancelled","reason":"The question was withdrawn","elsewhere":true,"at":"2026-11-15T20:01:00Z","delivered":"2026-11-15T20:01:00Z","consumed":"2026-11-15T20:01:00Z"}`,
		"dismissed": `{"outcome":"cancelled","reason":"User cancelled the question","by":"phone","at":"2026-11-15T20:01:00Z"}`,
		"forgotten": `{"outcome":"cancelled","at":"2026-11-15T20:01:00Z","forgotten":true}`,
	} {
		acptest.Must(store.Create(t.Context(), "a."+id+".0", []byte(`{"conversation":"c","id":"`+id+`","kind":"question","call":{"ID":"`+id+`","Questions":[{"Text":"Go?","Options":[{"Label":"Yes"}]}]},"asked":"2026-11-15T20:00:00Z","end":`+end+`}`)))
	}
	b := acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
	t.Cleanup(b.Close)
	for id, want := range map[string]struct {
		status convert.Status
		result convert.Status
		says   string
	}{
		"withdrawn": {convert.Withdrawn, convert.Withdrawn, "it was withdrawn already at"},
		"dismissed": {convert.Cancelled, convert.Cancelled, "it was cancelled already by phone at"},
		"forgotten": {convert.Cancelled, convert.Failed, "it was cancelled already at"},
	} {
		r := acptest.Must(b.Find("c", id))
		require.Equal(t, want.status, r.End.Status(), id)
		require.Equal(t, want.result, r.End.Result().Status, id)
		require.ErrorContains(t, acptest.Err(b.Cancel(t.Context(), r.Ref(), "Ann")), want.says)
	}
}
