package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever reads what waits is told who asks, where, and whether anybody waits for it.
func TestWhoAsksAtAHub(t *testing.T) {
	q := hubQuestion{Agent: "Codex", Dir: "/p", Branch: "main", Machine: "box", Asked: time.Now()}
	require.Regexp(t, `^Codex in /p \(main\) on box, .*, the agent waits$`, q.from())
	q.State.Gone = true
	require.Regexp(t, `, the agent is gone, but may come back$`, q.from())
	require.Regexp(t, `^an agent in an unknown folder, `, (&hubQuestion{Asked: time.Now()}).from())
}
