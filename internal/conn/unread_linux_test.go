package conn

import (
	"bufio"
	"context"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A peer that is busy has not read a request, however long ago that was sent.
func TestTimeReads(t *testing.T) {
	files := func(t *testing.T) (r, w *os.File) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		return r, w
	}
	sockets := func(t *testing.T) (r, w *os.File) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		require.NoError(t, err)
		return os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	}
	for name, pair := range map[string]func(*testing.T) (r, w *os.File){"pipe": files, "socket": sockets} {
		t.Run(name, func(t *testing.T) {
			r, w := pair(t)
			defer r.Close()
			defer w.Close()
			inR, inW := io.Pipe()
			defer inW.Close()
			c := New(inR, w, nil, nil)
			defer c.Close()
			ctx, ago := c.TimeReads(t.Context())
			done := make(chan time.Duration, 1)
			go func() {
				_, _ = c.Call(ctx, "m", nil)
				done <- ago()
			}()
			const busy = 100 * time.Millisecond
			started := time.Now()
			time.Sleep(busy) // the peer's own work
			require.Zero(t, ago(), "it cannot have been read")
			_, err := bufio.NewReader(r).ReadString('\n')
			require.NoError(t, err)
			_, err = io.WriteString(inW, `{"id":1,"result":null}`+"\n")
			require.NoError(t, err)
			require.Less(t, <-done, time.Since(started)-busy+time.Millisecond, "counted from the read")
		})
	}
}

// What is taken by a Write is read; before that it is not.
func TestTimeReadsWithoutAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		ctx, ago := p.conn.TimeReads(t.Context())
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		done := p.call(ctx, "m", nil)
		time.Sleep(time.Second)
		require.Zero(t, ago())
		p.read()
		synctest.Wait()
		time.Sleep(time.Second)
		require.Equal(t, time.Second, ago())
		p.write(`{"id":1,"result":null}`)
		require.NoError(t, (<-done).err)
	})
}
