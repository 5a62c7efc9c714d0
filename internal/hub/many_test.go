package hub

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// ACP_BRIDGE_MANY=1000000 measures a start with so many settled questions, and what it
// takes to find one; see the documentation of the package.
func TestManySettledMeasured(t *testing.T) {
	many, _ := strconv.Atoi(os.Getenv("ACP_BRIDGE_MANY"))
	if many == 0 {
		t.Skip("ACP_BRIDGE_MANY says how many")
	}
	dir := t.TempDir()
	opened := func(f func(*Board)) (store, board time.Duration) {
		begin := time.Now()
		s, err := hubstore.Open(t.Context(), hubstore.Options{Dir: dir})
		require.NoError(t, err)
		defer s.Close()
		store = time.Since(begin)
		b, err := Open(t.Context(), s, Options{})
		require.NoError(t, err)
		defer b.Close()
		board = time.Since(begin) - store
		f(b)
		return store, board
	}
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	var before float64
	store, board := opened(func(*Board) { before = heap() })
	t.Logf("a start with none: %s for the store, %s for the board", store, board)
	opened(func(b *Board) {
		for i := 0; i < many; {
			var list []bound
			b.mu.Lock()
			for ; len(list) < mostBound && i < many; i++ {
				at, in, id := time.Now().Add(time.Duration(i-many)*time.Millisecond), talk{"", fmt.Sprint("session-", i/10)}, fmt.Sprint("toolu_", i)
				r := &Record{
					Conversation: in.conversation, ID: id, Kind: "question", Title: "fix the build", Agent: "Claude Code", Machine: "host", Dir: "/home/u/project", Device: "bot", Asker: fmt.Sprint("a", i),
					Call: convert.Call{ID: id, Questions: []convert.Question{{Text: fmt.Sprintf("Which database for part %d?", i), Header: "Database", Options: []convert.Option{
						{Label: "Postgres", Description: "A server that others use, too"}, {Label: "SQLite", Description: "A file beside the program"}}}}},
					Asked: at, End: &End{Outcome: "answered", Answers: []convert.Answer{{Selected: []string{"SQLite"}}}, By: "phone", At: at, Delivered: at, Consumed: at},
					key: keyOf(in, id, 0), Revision: uint64(i + 1),
				}
				b.records[r.key] = r // as if it had been read
				list = append(list, boundOf(r))
			}
			b.mu.Unlock()
			require.NoError(t, b.archiveAs(t.Context(), list))
		}
	})
	for range 3 {
		store, board = opened(func(b *Board) {
			took := func(what string, f func() error) {
				begin := time.Now()
				require.NoError(t, f())
				t.Logf("%s: %s", what, time.Since(begin))
			}
			t.Logf("memory of each: %.0f bytes", (heap()-before)/float64(many))
			for _, i := range []int{0, many / 2, many - 1} {
				took("one is found", func() error { _, err := b.Find(fmt.Sprint("session-", i/10), fmt.Sprint("toolu_", i)); return err })
			}
			took("a page of the history", func() error { _, _, err := b.Search(Search{Limit: 100}); return err })
			took("all conversations", func() error { _, err := b.Conversations(); return err })
			took("words that none has", func() error { _, _, err := b.Search(Search{Text: "purple"}); return err })
			took("a question is asked", func() error {
				_, err := b.Ask(t.Context(), Asking{Conversation: "session-0", Call: convert.Call{ID: fmt.Sprint(time.Now()), Questions: []convert.Question{{Text: "Go?"}}}})
				return err
			})
		})
		t.Logf("a start with %d: %s for the store, %s for the board", many, store, board)
	}
}
