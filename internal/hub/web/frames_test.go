package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// An event is encoded once for all who watch, and never shown for another one. What waits
// behind it is looked for once: who sees its own questions only has an event of its own.
func TestFrames(t *testing.T) {
	var f frames
	asked := func(id, text string) *hub.Record {
		return &hub.Record{Conversation: "c", ID: id, Call: convert.Call{Questions: []convert.Question{{Text: text}}}}
	}
	looked := 0
	event := func(of *hub.Record, to string, then *hub.Record) []byte {
		return f.event(of, to, func() *hub.Record { looked++; return then })
	}
	over, one, two := asked("over", "Done?"), asked("one", "Which?"), asked("two", "When?")
	over.End = &hub.End{Outcome: "answered"}
	first := event(over, "", nil)
	require.Contains(t, string(first), `"type":"working"`)
	require.Same(t, &first[0], &event(over, "", one)[0])
	require.Contains(t, string(event(over, "bot", one)), `"tool_use_id":"one"`)
	require.Contains(t, string(event(over, "other", two)), `"tool_use_id":"two"`)
	require.Same(t, &first[0], &event(over, "", two)[0])
	require.Equal(t, 3, looked)

	long := asked("long", strings.Repeat("x", 1<<20))
	require.Equal(t, event(long, "", nil), event(long, "", nil))
	require.Contains(t, string(event(over, "third", long)), `"tool_use_id":"long"`)
	require.Len(t, f.kept, 3, "what is long is not kept, also if it is what waits")
	for range 2 * keepFrames >> 20 {
		event(asked("long", strings.Repeat("x", 1<<20)), "", nil)
	}
	require.Same(t, &first[0], &event(over, "", nil)[0], "what is long takes the place of nothing")
	for range keepFrames / 100 {
		event(asked("more", "What?"), "", nil)
	}
	require.Equal(t, first, event(over, "", nil))
	require.NotSame(t, &first[0], &event(over, "", nil)[0]) // it was the oldest
	require.Len(t, f.old, len(f.kept))
	size := 0
	for _, e := range f.old {
		size += len(e.data)
	}
	require.Equal(t, f.size, size)
	require.LessOrEqual(t, size, keepFrames)
	require.Greater(t, size, keepFrames/2)
}
