package ndjson

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A tap hears what a trace hears, and what has no trace.
func TestTapped(t *testing.T) {
	var traced, tapped []string
	trace := Trace(func(_ Direction, line []byte) { traced = append(traced, string(line)) })
	require.Nil(t, Trace(nil).Tapped("editor"))
	trace.Tapped("editor")(Out, []byte("1"))

	t.Cleanup(func() { Tap = nil })
	Tap = func() Tapping { return nil }
	require.Nil(t, Trace(nil).Tapped("editor"))
	trace.Tapped("editor")(Out, []byte("2"))
	require.Equal(t, []string{"1", "2"}, traced)

	Tap = func() Tapping {
		return func(wire string, _ Direction, line []byte) { tapped = append(tapped, wire+" "+string(line)) }
	}
	Trace(nil).Tapped("agent")(Out, []byte("3"))
	trace.Tapped("editor")(Out, []byte("4"))
	require.Equal(t, []string{"1", "2", "4"}, traced)
	require.Equal(t, []string{"agent 3", "editor 4"}, tapped)
}
