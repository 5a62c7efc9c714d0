//go:build unix

package soak_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/served"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// BenchmarkLoad loads sessions of different lengths: the time to the response,
// and how much the heap grew at most while it was read and sent.
func BenchmarkLoad(b *testing.B) {
	for _, messages := range []int{1_000, 10_000, 50_000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			const id = "01234567-89ab-4def-8123-456789abcdef"
			home, dir := b.TempDir(), b.TempDir()
			sessions := transcript.Dir(filepath.Join(home, ".claude"), dir)
			require.NoError(b, os.MkdirAll(sessions, 0o755))
			require.NoError(b, os.WriteFile(filepath.Join(sessions, id+".jsonl"), longTranscript(messages, id, dir), 0o600))
			cli := ct.New(b, ct.Script{})
			e := served.By(backend.Serve).To(b, backend.Options{Claude: cli.Path, Env: append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR="), Logger: slog.New(slog.DiscardHandler)})
			e.Forget = true
			e.Initialize(`{}`)
			var peak int64
			for b.Loop() {
				before := int64(heap())
				var done atomic.Bool
				watched := make(chan int64)
				go func() { watched <- watchHeap(&done) }()
				e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, dir))
				done.Store(true)
				peak = max(peak, <-watched-before)
			}
			b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
		})
	}
}

// watchHeap returns the most that was on the heap until done.
func watchHeap(done *atomic.Bool) (most int64) {
	var m runtime.MemStats
	for !done.Load() {
		runtime.ReadMemStats(&m)
		most = max(most, int64(m.HeapAlloc))
		time.Sleep(5 * time.Millisecond)
	}
	return most
}

// longTranscript is a session of prompts, answers and tool calls, about a
// kilobyte a line.
func longTranscript(lines int, id, dir string) []byte {
	var b strings.Builder
	text := strings.Repeat("all work and no play ", 40)
	parent := "null"
	for i := range lines {
		var typ, message string
		switch i % 4 {
		case 0:
			typ, message = "user", fmt.Sprintf(`{"role":"user","content":"question %d"}`, i)
		case 1:
			typ, message = "assistant", fmt.Sprintf(`{"id":"m%d","role":"assistant","content":[{"type":"text","text":"%s"}]}`, i, text)
		case 2:
			typ, message = "assistant", fmt.Sprintf(`{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"ls %d"}}]}`, i, i, i)
		case 3:
			typ, message = "user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, i-1, text)
		}
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":%s,"uuid":"u%d","timestamp":"2026-01-02T03:04:05Z","cwd":%q,"sessionId":%q}`+"\n", parent, typ, message, i, dir, id)
		parent = fmt.Sprintf(`"u%d"`, i)
	}
	return []byte(b.String())
}
