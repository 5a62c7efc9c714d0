package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// Somebody may join a question and take it back before the writer's own goroutine
// runs again: the writer is told what it wrote, not the end of it.
func TestWriterGetsWhatItWrote(t *testing.T) {
	t.Parallel()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	defer store.Close()
	b, err := Open(t.Context(), store, Options{Lease: time.Hour})
	require.NoError(t, err)
	defer b.Close()

	asked, err := b.Ask(t.Context(), Asking{Conversation: "c", Call: convert.Call{ID: "q", Questions: []convert.Question{{Text: "Go?"}}}})
	require.NoError(t, err)
	_, err = b.TakeBack(t.Context(), asked.Ref(), convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "Yes"}}}, "somebody")
	require.NoError(t, err)

	late, err := b.written(t.Context(), asked, asked.Revision)
	require.NoError(t, err)
	require.True(t, late.Open())
	require.Equal(t, asked.Ref(), late.Ref())
	require.False(t, b.Wait(t.Context(), late).Open(), "and who waits for it is told its end")
}
