//go:build unix

package claude_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// BenchmarkDeltas reports this process's CPU time for a thousand deltas that
// come at a steady rate.
func BenchmarkDeltas(b *testing.B) {
	const n = 5000
	measure := func(b *testing.B, s *session, wait func()) {
		require.NoError(b, s.Prompt("hi"))
		before := cpu()
		wait()
		b.ReportMetric(float64((cpu()-before).Microseconds())/1000/(n/1000), "ms-cpu/1000-deltas")
		require.NoError(b, s.Close(s.ctx))
	}
	for b.Loop() {
		done := make(chan struct{})
		s := run(b, turns(ct.Message(ct.Block{Type: "text", Repeat: n, Every: time.Second / 5000})), func(o *claude.Options) {
			o.OnMessage = func(m claude.Message) {
				if m.Type == claude.TypeResult {
					close(done)
				}
			}
		})
		measure(b, s, func() { <-done })
	}
}

// BenchmarkQuestion is a question out and its answer back, the floor for
// whatever stands between.
func BenchmarkQuestion(b *testing.B) {
	var steps []ct.Step
	for range b.N {
		steps = append(steps, ct.Message(ct.Question("toolu_1", q)))
	}
	s := run(b, turns(steps...))
	require.NoError(b, s.Prompt("hi"))
	b.ResetTimer()
	for range b.N {
		m := s.last(claude.TypeControlRequest)
		require.NoError(b, s.Reply(m.RequestID(), claude.Deny("no", false)))
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	const size = 12 << 20
	s := run(t, turns(ct.BigLine(size), ct.Text("after")))
	require.NoError(t, s.Prompt(strings.Repeat("y", size)))
	all := s.until(claude.TypeResult)
	var big int
	for _, m := range all {
		if m.Type == "claudetest_big" {
			big = len(field(m, "data").Str)
		}
	}
	require.Equal(t, size, big)
	require.Equal(t, "after", deltas(all))
	require.Len(t, s.cli.Prompts()[0], size)
}
