//go:build unix

package conn

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// piped is a Conn that writes into a pipe of the system, which is never waited
// for.
func piped(t *testing.T, opts *Options) (*Conn, *os.File) {
	t.Helper()
	in, never := io.Pipe()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := New(in, w, nil, opts)
	require.NotNil(t, c.out.direct)
	t.Cleanup(func() {
		r.Close()
		never.Close()
		c.Close()
		w.Close()
	})
	return c, r
}

// Lines come whole and in order, however the reader keeps up, whoever writes
// them and whichever way they go out.
func TestDirectKeepsTheOrder(t *testing.T) {
	c, r := piped(t, nil)
	const writers, each = 4, 2000
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range each {
				params := map[string]any{"n": n, "i": i, "fill": strings.Repeat("x", rand.IntN(300))}
				if i%3 == 0 {
					params["fill"] = strings.Repeat("y", rand.IntN(20_000))
				}
				var err error
				if rand.IntN(2) == 0 {
					var body []byte
					if body, err = json.Marshal(params); err == nil {
						err = c.Queue(t.Context(), "m", body)
					}
				} else {
					err = c.Notify(t.Context(), "m", params)
				}
				if err != nil {
					t.Error(err)
				}
				if rand.IntN(50) == 0 {
					c.Flush()
				}
			}
			c.Flush()
		})
	}
	lines := bufio.NewReaderSize(r, 256)
	next := [writers]int{}
	for range writers * each {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		var n, i int
		_, err = fmt.Sscanf(line[strings.Index(line, `"i":`):], `"i":%d,"n":%d`, &i, &n)
		require.NoError(t, err, "%.80s", line)
		require.True(t, strings.HasSuffix(line, "}}\n"), "%.80s", line)
		require.Equal(t, next[n], i)
		next[n]++
	}
	wg.Wait()
	require.NoError(t, c.out.drain(t.Context()))
}

// A pipe that is full holds up nobody who need not wait, and what waits for it
// comes later.
func TestDirectDoesNotWait(t *testing.T) {
	c, r := piped(t, &Options{HighWater: 10 << 20})
	big := strings.Repeat("z", 50_000)
	for range 20 { // far more than a pipe takes
		require.NoError(t, c.Notify(t.Context(), "m", big))
	}
	require.NoError(t, c.Queue(t.Context(), "last", nil))
	c.Flush()
	lines := bufio.NewReader(r)
	for range 20 {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, big)
	}
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `"last"`)
}

func TestDirectPeerGone(t *testing.T) {
	c, r := piped(t, nil)
	require.NoError(t, r.Close())
	for c.Err() == nil { // it is seen by the writes
		_ = c.Notify(t.Context(), "m", nil)
	}
	require.ErrorIs(t, c.Err(), ErrClosed)
}

// A file that may make its writer wait is left to the goroutine that may.
func TestDirectIsForPipesThatDoNotWait(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	require.NotNil(t, ndjson.Direct(w))
	w.Fd() // makes it one that waits
	require.Nil(t, ndjson.Direct(w))
	require.Nil(t, ndjson.Direct(io.Discard))
}
