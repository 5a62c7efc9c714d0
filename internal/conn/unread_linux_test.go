package conn

import (
	"bufio"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// A peer that is busy has not read a request, however long ago that was sent.
func TestEvidenceOfAPipe(t *testing.T) {
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
			c.Peer().Mute(true)
			showing := seen.New(nil)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = c.Call(showing.Context(t.Context()), "m", nil)
			}()
			require.Never(t, func() bool { return evidenceOf(showing) }, 100*time.Millisecond, 10*time.Millisecond, "it cannot have been read")
			_, err := bufio.NewReader(r).ReadString('\n')
			require.NoError(t, err)
			require.Eventually(t, func() bool { return evidenceOf(showing) }, time.Minute, time.Millisecond, "the pipe is empty")
			_, err = io.WriteString(inW, `{"id":1,"result":null}`+"\n")
			require.NoError(t, err)
			<-done
		})
	}
}

// evidenceOf reports whether there is any evidence.
func evidenceOf(s *seen.Showing) bool { return s.Evidence() != seen.None }

// What is taken by a Write is read; before that it is not.
func TestEvidenceWithoutAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.conn.Peer().Mute(true)
		showing := seen.New(nil)
		done := p.call(showing.Context(t.Context()), "m", nil)
		time.Sleep(time.Second)
		require.Equal(t, seen.None, showing.Evidence())
		p.read()
		synctest.Wait()
		require.Equal(t, seen.Taken, showing.Evidence())
		p.write(`{"id":1,"result":null}`)
		require.NoError(t, (<-done).err)
	})
}

// What is looked for is found when the peer has read what was sent before, and sending
// goes on meanwhile.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.conn.Peer().Mute(true)
		require.NoError(t, p.conn.Notify(t.Context(), "shown", nil))
		showing := seen.New(nil)
		p.conn.Watch(t.Context(), showing.Look())
		synctest.Wait()
		require.Equal(t, seen.None, showing.Evidence())
		require.Contains(t, p.read(), `"shown"`)
		synctest.Wait()
		require.Equal(t, seen.Taken, showing.Evidence())
		require.NoError(t, p.conn.Notify(t.Context(), "after", nil))
		require.Contains(t, p.read(), `"after"`)
	})
}

// A peer that works in order answers what is behind a request when it has come to
// that. Whatever it answers is evidence, and no call's answer.
func TestAskBehind(t *testing.T) {
	for name, answer := range map[string]string{
		"method not found": `{"id":2,"error":{"code":-32601,"message":"Method not found"}}`,
		"a result":         `{"id":"2","result":{}}`,
		"no JSON":          `{"id":2,"result":{]}`,
		"two results":      `{"id":2,"result":1,"result":2}`,
	} {
		bubble(t, name, func(t *testing.T) {
			p := newPeer(t, nil, nil)
			showing := seen.New(nil)
			done := p.call(showing.Context(t.Context()), "m", nil)
			require.Contains(t, p.read(), `"method":"m"`)
			require.Equal(t, `{"jsonrpc":"2.0","id":2,"method":"_acp-bridge/ping","params":{"sessionId":"_"}}`, p.read())
			synctest.Wait()
			require.Equal(t, seen.Taken, showing.Evidence())
			p.write(answer)
			synctest.Wait()
			require.Equal(t, seen.Answered, showing.Evidence())
			if name == "no JSON" {
				p.read() // it is told
			}
			p.write(`{"id":1,"result":null}`)
			require.NoError(t, (<-done).err)
		})
	}
}
