package seen_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// What is read counts from the last moment at which nothing was there to be read, and
// all that was read before had been judged.
func TestInletSince(t *testing.T) {
	t.Parallel()
	for name, blocking := range map[string]bool{"a pipe of the runtime": false, "one that blocks, as standard input does": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w := acptest.Must2(os.Pipe())
			defer r.Close()
			defer w.Close()
			if blocking {
				r.Fd()
			}
			in := seen.NewInlet(r).Keys()
			require.True(t, in.Since().IsZero(), "nobody has looked")
			buf := make([]byte, 1)
			reads := func() {
				acptest.Must(in.Read(buf))
			}
			acptest.Must(io.WriteString(w, "ab"))
			in.Watch(0)
			require.True(t, in.Since().IsZero(), "there is something to read")
			reads()
			in.Watch(0)
			require.True(t, in.Since().IsZero(), "and there is more, and this was not judged yet")
			reads()
			in.Watch(0)
			require.True(t, in.Since().IsZero(), "judged it is not")
			began := time.Now()
			read := make(chan struct{})
			go func() {
				defer close(read)
				reads()
			}()
			require.Eventually(t, func() bool { return !in.Since().Before(began) }, time.Minute, time.Millisecond, "now all is, and somebody still looks")
			in.Watch(time.Hour)
			acptest.Must(io.WriteString(w, "c"))
			written := time.Now()
			<-read
			at := in.Since()
			require.False(t, at.After(written))
			time.Sleep(5 * time.Millisecond)
			require.Equal(t, at, in.Since(), "what is being judged stays as old as it is")
			require.NoError(t, w.Close())
			require.ErrorIs(t, acptest.Err(in.Read(buf)), io.EOF)
		})
	}
	in := seen.NewInlet(strings.NewReader("a"))
	before := time.Now()
	require.False(t, in.Since().Before(before), "nothing is known of it: it was written when it was read")
}

// A line is as old as its first byte: who began it has not seen what came before its end.
func TestALineIsAsOldAsItsBeginning(t *testing.T) {
	t.Parallel()
	r, w := acptest.Must2(os.Pipe())
	defer r.Close()
	defer w.Close()
	in := seen.NewInlet(r)
	var quiet [][2]time.Time // when there was nothing to read before each chunk
	for _, c := range []struct {
		chunk string
		back  int // how many chunks ago its line was begun
	}{{"one\n", 0}, {"tw", 0}, {"o", 1}, {"\nthree, ", 2}, {"four\nfi", 1}, {"ve\n", 1}, {"six\n", 0}} {
		before := time.Now()
		in.Judged()
		in.Watch(0)
		quiet = append(quiet, [2]time.Time{before, time.Now()})
		acptest.Must(io.WriteString(w, c.chunk))
		acptest.Must(in.Read(make([]byte, 100)))
		began := quiet[len(quiet)-1-c.back]
		require.WithinRange(t, in.Since(), began[0], began[1], c.chunk)
	}
}
