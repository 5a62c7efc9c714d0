package hub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

const typedSecret = "sk-live-4242"

// types is an answer in own words, with a note.
func types(text, note string) func(*hub.Record) ([]convert.Answer, error) {
	return func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: text, Note: note}}, nil }
}

// A secret that is typed at a hub is there for its asker, also after a restart, and for
// nobody else. When the agent has it, or never can, it is gone.
func TestATypedSecretIsKeptUntilItIsUsed(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(*hub.Board, hub.Ref) (*hub.Record, error){
		"consumed": func(b *hub.Board, r hub.Ref) (*hub.Record, error) { return b.Consumed(t.Context(), r) },
		"refused":  func(b *hub.Board, r hub.Ref) (*hub.Record, error) { return b.Refuse(t.Context(), r, "too late") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b, store := openWithStore(t, dir, hub.Options{})
			asked := ask(t, b, "c", "q", "What is your API key?")
			given := acptest.Must(b.Answer(t.Context(), ref(asked), types(typedSecret, "do not tell"), "phone"))
			require.NoError(t, acptest.Err(b.Answer(t.Context(), ref(asked), types(typedSecret, "do not tell"), "phone")), "the same once more")
			require.ErrorIs(t, acptest.Err(b.Answer(t.Context(), ref(asked), types("sk-other", "do not tell"), "phone")), hub.ErrSettled, "another one is not the first")
			acptest.Must(b.Delivered(t.Context(), given.Ref()))
			b.Close()
			store.Close()

			b, store = openWithStore(t, dir, hub.Options{})
			r := acptest.Must(b.Find("c", "q"))
			require.Equal(t, []convert.Answer{{Text: typedSecret, Note: "do not tell"}}, r.End.Result().Answers, "its process may have died with it")
			hidden := []convert.Answer{{Text: "(not shown)", Note: "(not shown)"}}
			require.Equal(t, hidden, r.End.Answers)
			require.Equal(t, hidden, r.End.Shown().Answers)
			found, _ := b.Search(hub.Search{Text: typedSecret})
			require.Empty(t, found)

			acptest.Must(ends(b, r.Ref()))
			r = acptest.Must(b.Find("c", "q"))
			require.Equal(t, hidden, r.End.Answers, "that something was answered is known")
			require.Equal(t, convert.Failed, r.End.Result().Status, "what stands there is nobody's answer")
			require.NotContains(t, string(acptest.Must(store.Get(t.Context(), r.Key())).Value), typedSecret)
			require.NotContains(t, r.Encode(), typedSecret)
			_, err := b.Answer(t.Context(), ref(asked), types("sk-other", "do not tell"), "phone")
			require.ErrorIs(t, err, hub.ErrSettled, "nobody knows whether it is the same")
		})
	}
}

// Only what is typed to a question for a secret is one.
func TestWhatIsNoSecretIsKept(t *testing.T) {
	b := boardBeside(t)
	r := acptest.Must(b.Answer(t.Context(), ref(ask(t, b, "c", "q", "Which colour?")), types("green", ""), "phone"))
	acptest.Must(b.Consumed(t.Context(), r.Ref()))
	r = acptest.Must(b.Find("c", "q"))
	require.Equal(t, "green", r.End.Result().Answers[0].Text)
	require.Zero(t, r.Version)
}
