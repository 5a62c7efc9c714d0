package client

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What a person has typed before a question was asked, or can have been read, is
// not its answer; what a script holds is.
func TestRule3TypedBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		var early []string
		r := &answers{s: newSource(ctx, in, true), early: func(text string) { early = append(early, text) }}
		_, err := io.WriteString(typed, "1\nyes\n")
		require.NoError(t, err)
		synctest.Wait()
		time.Sleep(time.Second)
		r.ask(ctx)
		go func() {
			time.Sleep(100 * time.Millisecond) // nobody has read it by then
			_, _ = io.WriteString(typed, "no\n")
			time.Sleep(time.Second)
			_, _ = io.WriteString(typed, "2\n")
		}()
		buf := make([]byte, 10)
		n, err := r.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "2\n", string(buf[:n]))
		require.Equal(t, []string{"1", "yes", "no"}, early)
		stop()
		require.NoError(t, typed.Close())
		synctest.Wait()
	})
	r := &answers{s: newSource(t.Context(), strings.NewReader("1\n2\n"), false)}
	r.ask(t.Context())
	buf := make([]byte, 10)
	n, err := r.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "1\n", string(buf[:n]), "a script is read line by line")
	n, err = r.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "2\n", string(buf[:n]))
	_, err = r.Read(buf)
	require.ErrorIs(t, err, io.EOF)
}
