package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// An event is encoded once for all who watch, and never shown for another one.
func TestFrames(t *testing.T) {
	var f frames
	asked := func(id, text string) *hub.Record {
		return &hub.Record{Conversation: "c", ID: id, Call: convert.Call{Questions: []convert.Question{{Text: text}}}}
	}
	over, one, two := asked("over", "Done?"), asked("one", "Which?"), asked("two", "When?")
	over.End = &hub.End{Outcome: "answered"}
	first := f.event(over, nil)
	require.Contains(t, string(first), `"type":"working"`)
	require.Same(t, &first[0], &f.event(over, nil)[0])
	require.Contains(t, string(f.event(over, one)), `"tool_use_id":"one"`)
	require.Contains(t, string(f.event(over, two)), `"tool_use_id":"two"`)
	require.Same(t, &first[0], &f.event(over, nil)[0])

	long := asked("long", strings.Repeat("x", 1<<20))
	require.Equal(t, f.event(long, nil), f.event(long, nil))
	require.Contains(t, string(f.event(over, long)), `"tool_use_id":"long"`)
	for range 2 * keepFrames >> 20 {
		f.event(asked("long", strings.Repeat("x", 1<<20)), nil)
	}
	require.Same(t, &first[0], &f.event(over, nil)[0], "what is long takes the place of nothing")
	for range keepFrames / 256 {
		f.event(asked("more", "What?"), nil)
	}
	require.Equal(t, first, f.event(over, nil))
	require.NotSame(t, &first[0], &f.event(over, nil)[0]) // it was the oldest
	require.Less(t, len(f.kept), 1+keepFrames/512)
	require.Len(t, f.old, len(f.kept))
	for _, e := range f.old {
		require.Less(t, len(e.data), 1<<10)
	}
}
