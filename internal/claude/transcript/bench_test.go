package transcript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

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
				for _, err := range transcript.Read(b.Context(), path) {
					if err != nil {
						b.Fatal(err)
					}
				}
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
			s := newStore(b)
			for i := range sessions {
				writeTurns(b, s.put("/one", id(i), ""), 20, 1000)
			}
			b.ReportAllocs()
			for b.Loop() {
				page, _, err := transcript.List(b.Context(), transcript.Options{ConfigDir: s.config})
				if err != nil || len(page) != 50 {
					b.Fatal(len(page), err)
				}
			}
		})
	}
}

// BenchmarkListLarge lists a session of 50 MB.
func BenchmarkListLarge(b *testing.B) {
	s := newStore(b)
	writeTurns(b, s.put("/one", id(1), ""), 2000, 8000)
	b.ReportAllocs()
	for b.Loop() {
		page, _, err := transcript.List(b.Context(), transcript.Options{ConfigDir: s.config})
		if err != nil || len(page) != 1 {
			b.Fatal(len(page), err)
		}
	}
}
