//go:build unix

package measure_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

func open(t testing.TB, path string) *transcript.Transcript {
	t.Helper()
	tr, err := transcript.Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { tr.Close() })
	return tr
}

// heap is the live heap, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peak replays a file and returns the number of entries and the most that was
// on the heap at a time beyond what was there before, garbage included.
func peak(t testing.TB, path string) (entries int, bytes uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // little garbage in the measure
	before := heap()
	sample := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		bytes = max(bytes, m.HeapAlloc-min(before, m.HeapAlloc))
	}
	tr := open(t, path)
	sample()
	for _, err := range tr.Entries(t.Context()) {
		require.NoError(t, err)
		if entries++; entries%250 == 0 {
			sample()
		}
	}
	return entries, bytes
}

// TestBoundedMemory replays 50 MB in a small part of that.
func TestBoundedMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), id(1)+".jsonl")
	writeTurns(t, path, 2000, 8000)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(48<<20))
	entries, bytes := peak(t, path)
	require.Equal(t, 10_000, entries)
	t.Logf("%d MB, %d entries: peak heap %d kB", info.Size()>>20, entries, bytes>>10)
	require.Less(t, bytes, uint64(8<<20))
}

// BenchmarkRead replays transcripts of several sizes, five entries a turn. It
// reports the time an entry takes and the peak of the heap.
func BenchmarkRead(b *testing.B) {
	for _, entries := range []int{1_000, 10_000, 50_000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), id(1)+".jsonl")
			writeTurns(b, path, entries/5, 1000)
			info, err := os.Stat(path)
			require.NoError(b, err)
			n, bytes := peak(b, path)
			require.Equal(b, entries, n)
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				tr, err := transcript.Open(b.Context(), path)
				require.NoError(b, err)
				for _, err := range tr.Entries(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
				tr.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*entries), "ns/entry")
			b.ReportMetric(float64(bytes)/(1<<20), "peak-MB")
		})
	}
}

// BenchmarkList lists the first page of many sessions.
func BenchmarkList(b *testing.B) {
	for _, sessions := range []int{100, 1_000} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			config := b.TempDir()
			for i := range sessions {
				writeTurns(b, place(b, config, id(i)), 20, 1000)
			}
			b.ReportAllocs()
			for b.Loop() {
				page, _, err := transcript.List(b.Context(), transcript.Options{ConfigDir: config})
				if err != nil || len(page) != 50 {
					b.Fatal(len(page), err)
				}
			}
		})
	}
}

// BenchmarkListLarge lists a session of 50 MB.
func BenchmarkListLarge(b *testing.B) {
	config := b.TempDir()
	writeTurns(b, place(b, config, id(1)), 2000, 8000)
	b.ReportAllocs()
	for b.Loop() {
		page, _, err := transcript.List(b.Context(), transcript.Options{ConfigDir: config})
		if err != nil || len(page) != 1 {
			b.Fatal(len(page), err)
		}
	}
}

// place is where a session of a project is kept.
func place(t testing.TB, config, id string) string {
	dir := transcript.Dir(config, "/one")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	return filepath.Join(dir, id+".jsonl")
}

func TestHugeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), id(1)+".jsonl")
	f, err := os.Create(path)
	require.NoError(t, err)
	fmt.Fprintln(f, `{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"one"}}`)
	fmt.Fprintf(f, `{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"`)
	_, err = io.CopyN(f, endless('x'), 40<<20)
	require.NoError(t, err)
	fmt.Fprintln(f, `"}]}}`)
	fmt.Fprintf(f, `{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"content":[{"type":"text","text":"%s"}]}}`, strings.Repeat("y", 3<<20))
	fmt.Fprintln(f)
	fmt.Fprintln(f, `{"type":"user","uuid":"u2","parentUuid":"a2","message":{"content":"two"}}`)
	require.NoError(t, f.Close())

	tr := open(t, path)
	require.Equal(t, transcript.Skipped{TooLong: 1}, tr.Skipped())
	var sizes []int
	for e, err := range tr.Entries(t.Context()) {
		require.NoError(t, err)
		sizes = append(sizes, len(gjson.GetBytes(e.Message.Raw, "message.content.0.text").String()))
	}
	require.Equal(t, []int{3, 3 << 20, 3}, sizes)
}

type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

// writeTurns writes a transcript of n turns: a prompt, a thought, a call, its
// result of the given size, a text; and lines of other types between them.
func writeTurns(t testing.TB, path string, n, size int) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bytes.Buffer{}
	parent := "null"
	line := func(uuid, format string, args ...any) {
		fmt.Fprintf(&w, `{"parentUuid":%s,"isSidechain":false,%s,"uuid":"%s","timestamp":"2026-11-15T02:27:16.447Z","userType":"external","cwd":"/work","sessionId":"%s","version":"2.1.325"}`+"\n",
			parent, fmt.Sprintf(format, args...), uuid, id(1))
		parent = `"` + uuid + `"`
	}
	text := strings.Repeat("words and ", size/10)
	for i := range n {
		u := func(k int) string { return fmt.Sprintf("%08x-%04x-4000-8000-000000000000", i, k) }
		line(u(1), `"type":"user","message":{"role":"user","content":[{"type":"text","text":"prompt %d"}]}`, i)
		line(u(2), `"type":"attachment","attachment":{"type":"date","date":"2026-11-15"}`)
		fmt.Fprintf(&w, `{"type":"api-request","id":"%d","params":{"model":"m","betas":[%q]}}`+"\n", i, text)
		line(u(3), `"message":{"id":"msg_%d","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}]},"type":"assistant"`, i)
		line(u(4), `"message":{"id":"msg_%d","model":"m","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"ls"}}]},"type":"assistant"`, i, i)
		line(u(5), `"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]},"toolUseResult":{"stdout":%q,"stderr":""}`, i, text, text)
		line(u(6), `"message":{"id":"msg_%d_2","model":"m","content":[{"type":"text","text":"done"}]},"type":"assistant"`, i)
		if w.Len() > 1<<20 {
			_, err = w.WriteTo(f)
			require.NoError(t, err)
		}
	}
	_, err = w.WriteTo(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
