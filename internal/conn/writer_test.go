package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// connected returns two ends of one connection, and what ends both.
func connected(h Handler, opts *Options) (a, b *Conn, end func()) {
	aR, bW := io.Pipe()
	bR, aW := io.Pipe()
	a, b = New(aR, aW, h, opts), New(bR, bW, h, opts)
	return a, b, func() {
		a.Close()
		b.Close()
		aW.Close()
		bW.Close()
	}
}

func TestStalledPeer(t *testing.T) {
	bubble(t, "cancel", func(t *testing.T) {
		p := newPeer(t, nil, nil) // nobody reads
		ctx, cancel := context.WithCancel(t.Context())
		done := p.call(ctx, "m", nil)
		cancel()
		require.ErrorIs(t, (<-done).err, context.Canceled)
	})
	bubble(t, "peer closes", func(t *testing.T) {
		p := newPeer(t, nil, nil)
		done := p.call(t.Context(), "m", nil)
		p.in.Close()
		require.ErrorIs(t, (<-done).err, ErrClosed)
	})
	bubble(t, "close", func(t *testing.T) {
		p := newPeer(t, nil, &Options{CloseTimeout: 3 * time.Second})
		done := p.call(t.Context(), "m", nil)
		start := time.Now()
		require.ErrorIs(t, p.conn.Close(), context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.ErrorIs(t, (<-done).err, ErrClosed)
	})
}

func TestBackpressure(t *testing.T) {
	const high = 10_000
	fill := func(t *testing.T, p *peer) (sent int) {
		update := acp.SessionNotification{SessionId: "s", Update: acp.UpdateAgentMessageText(strings.Repeat("x", 500))}
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := p.conn.SessionUpdate(ctx, update)
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return sent
			}
			sent++
			require.Less(t, sent, 1000)
		}
	}
	bubble(t, "waits for the reader", func(t *testing.T) {
		p := newPeer(t, nil, &Options{HighWater: high})
		sent := fill(t, p)
		require.Greater(t, sent, 10)
		done := make(chan error, 1)
		go func() { done <- p.conn.Notify(t.Context(), "last", nil) }()
		synctest.Wait()
		require.Empty(t, done)
		for range sent {
			require.Contains(t, p.read(), "session/update") // the ones given up on were not sent
		}
		require.NoError(t, <-done)
		require.Contains(t, p.read(), "last")
	})
	bubble(t, "ends with the connection", func(t *testing.T) {
		p := newPeer(t, nil, &Options{HighWater: high})
		fill(t, p)
		done := make(chan error, 2)
		go func() { done <- p.conn.Notify(t.Context(), "n", nil) }()
		go func() { _, err := p.conn.Call(t.Context(), "m", nil); done <- err }()
		synctest.Wait()
		require.Empty(t, done)
		p.in.Close()
		require.ErrorIs(t, <-done, ErrClosed)
		require.ErrorIs(t, <-done, ErrClosed)
	})
	bubble(t, "a call given up on before it was sent is not cancelled", func(t *testing.T) {
		p := newPeer(t, nil, &Options{HighWater: high})
		sent := fill(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		done := p.call(ctx, "m", nil)
		cancel()
		require.ErrorIs(t, (<-done).err, context.Canceled)
		go p.conn.Notify(t.Context(), "last", nil)
		for range sent {
			p.read()
		}
		require.Contains(t, p.read(), "last")
		require.Empty(t, p.conn.pending)
	})
	bubble(t, "answers wait too, the reader does not", func(t *testing.T) {
		p := newPeer(t, funcs{}, &Options{HighWater: high})
		sent := fill(t, p)
		for i := range 1000 {
			p.write(fmt.Sprintf(`{"id":%d,"method":"m"}`, i))
		}
		synctest.Wait()
		require.Less(t, len(p.conn.out.queue), high+1000)
		for range sent + 1000 {
			p.read()
		}
	})
}

// A peer that is owed answers, sends on and reads nothing is cut off in the end.
func TestFloodIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		bad := fmt.Sprintf(`{"id":"%s","method":1}`, strings.Repeat("x", 1<<20))
		for range 64 {
			io.WriteString(p.in, bad+"\n")
			if p.conn.Err() != nil {
				break
			}
		}
		<-p.conn.Done()
		require.ErrorIs(t, p.conn.Err(), errNotReading)
	})
}

// writes records every Write.
type writes struct {
	gate   chan struct{} // one token, one Write
	chunks []string
	err    error
	short  bool
}

func (w *writes) Write(b []byte) (int, error) {
	<-w.gate
	w.chunks = append(w.chunks, string(b))
	if w.short {
		return len(b) - 1, nil
	}
	return len(b), w.err
}

func writing(t *testing.T, w *writes) *Conn {
	w.gate = make(chan struct{}, 100)
	r, end := io.Pipe()
	c := New(r, w, nil, nil)
	t.Cleanup(func() { end.Close(); close(w.gate); c.Close() })
	return c
}

func TestQueuedLinesGoOutInOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writes{}
		c := writing(t, w)
		var want strings.Builder
		for i := range 20_000 {
			require.NoError(t, c.Notify(t.Context(), "n", i))
			if i == 0 {
				synctest.Wait()
				continue
			}
			fmt.Fprintf(&want, `{"jsonrpc":"2.0","method":"n","params":%d}`+"\n", i)
		}
		w.gate <- struct{}{}
		w.gate <- struct{}{}
		require.NoError(t, c.out.drain(t.Context()))
		require.Len(t, w.chunks, 2)
		require.Equal(t, want.String(), w.chunks[1])

		w.gate <- struct{}{}
		require.NoError(t, c.Notify(t.Context(), "n", nil))
		require.NoError(t, c.out.drain(t.Context()))
		require.LessOrEqual(t, cap(c.out.queue), keepBuffer, "a burst's buffer is not kept")
	})
}

func TestOrderAcrossKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *Conn
		p := newPeer(t, funcs{request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
			if err := c.Notify(ctx, "before", nil); err != nil {
				return nil, err
			}
			if _, err := c.Call(ctx, "call", nil); err != nil {
				return nil, err
			}
			return nil, c.Notify(ctx, "after", nil)
		}}, nil)
		c = p.conn
		p.write(`{"id":"q","method":"go"}`)
		for _, want := range []string{"before", "call", "after", `"id":"q","result"`} {
			require.Contains(t, p.read(), want)
			if want == "call" {
				p.write(`{"id":1,"result":1}`)
			}
		}
	})
}

func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writes{}
		c := writing(t, w)
		require.NoError(t, c.out.drain(t.Context()), "nothing to flush")
		require.NoError(t, c.Notify(t.Context(), "n", nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, c.out.drain(ctx), context.DeadlineExceeded)
		w.gate <- struct{}{}
		require.NoError(t, c.out.drain(t.Context()))
		require.Len(t, w.chunks, 1)
	})
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writes{}
		c := writing(t, w)
		require.NoError(t, c.Notify(t.Context(), "one", nil))
		synctest.Wait()
		require.NoError(t, c.Notify(t.Context(), "two", nil))
		time.AfterFunc(time.Second, func() { w.gate <- struct{}{}; w.gate <- struct{}{} })
		require.NoError(t, c.Close())
		require.Len(t, w.chunks, 2)
		require.ErrorIs(t, c.Notify(t.Context(), "three", nil), ErrClosed)
	})
}

func TestWriteErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		w    *writes
		want error
	}{
		"error": {&writes{err: errors.ErrUnsupported}, errors.ErrUnsupported},
		"short": {&writes{short: true}, io.ErrShortWrite},
	} {
		bubble(t, name, func(t *testing.T) {
			c := writing(t, tc.w)
			tc.w.gate <- struct{}{}
			require.NoError(t, c.Notify(t.Context(), "n", nil))
			err := c.out.drain(t.Context())
			require.ErrorIs(t, err, ErrClosed)
			require.ErrorIs(t, err, tc.want)
			<-c.Done()
			require.ErrorIs(t, c.Err(), tc.want)
		})
	}
}

// eachWrite hands on each write.
type eachWrite struct{ lines chan string }

func (w eachWrite) Write(b []byte) (int, error) {
	w.lines <- string(b)
	return len(b), nil
}

func TestQueue(t *testing.T) {
	joined := func(t *testing.T, opts *Options) (*Conn, eachWrite) {
		w := eachWrite{make(chan string, 100)}
		r, in := io.Pipe()
		c := New(r, w, nil, opts)
		t.Cleanup(func() { in.Close(); c.Close() })
		return c, w
	}
	soon, now := `{"jsonrpc":"2.0","method":"soon"}`+"\n", `{"jsonrpc":"2.0","method":"now"}`+"\n"

	bubble(t, "goes out with the next message", func(t *testing.T) {
		c, w := joined(t, nil)
		require.NoError(t, c.Queue(t.Context(), "soon", nil))
		synctest.Wait()
		require.Empty(t, w.lines)
		require.NoError(t, c.Notify(t.Context(), "now", nil))
		require.Equal(t, soon+now, <-w.lines, "in one write")
	})
	bubble(t, "is flushed", func(t *testing.T) {
		c, w := joined(t, nil)
		require.NoError(t, c.Queue(t.Context(), "soon", nil))
		require.NoError(t, c.out.drain(t.Context()))
		require.Equal(t, soon, <-w.lines)
	})
	bubble(t, "is not lost at the end", func(t *testing.T) {
		c, w := joined(t, nil)
		require.NoError(t, c.Queue(t.Context(), "soon", nil))
		require.NoError(t, c.Close())
		require.Equal(t, soon, <-w.lines)
	})
	bubble(t, "does not fill the queue for ever", func(t *testing.T) {
		c, w := joined(t, &Options{HighWater: 2 * len(soon)})
		for range 50 {
			require.NoError(t, c.Queue(t.Context(), "soon", nil))
		}
		require.NotEmpty(t, w.lines)
	})
}

// What is done once a result was sent is done also if this side has ended the connection
// before: the peer gets the result. It is not if the peer has gone.
func TestSent(t *testing.T) {
	for name, c := range map[string]struct {
		ends func(p *peer)
		want bool
	}{
		"nobody ends": {func(*peer) {}, true},
		"we end":      {func(p *peer) { go p.conn.Close() }, true},
		"it has gone": {func(p *peer) { p.in.Close() }, false},
	} {
		bubble(t, name, func(t *testing.T) {
			goOn := make(chan struct{})
			var mu sync.Mutex
			sent, then := false, false
			set := func(to *bool) func() {
				return func() {
					mu.Lock()
					defer mu.Unlock()
					*to = true
				}
			}
			p := newPeer(t, acceptor{accept: func(_ context.Context, method string, _ json.RawMessage) Answer {
				return func() (any, error) {
					<-goOn
					if method == "sent" {
						return Sent("it", set(&sent)), nil
					}
					return Then("it", set(&then)), nil
				}
			}}, nil)
			p.discard()
			p.write(`{"jsonrpc":"2.0","id":1,"method":"sent"}`, `{"jsonrpc":"2.0","id":2,"method":"then"}`)
			synctest.Wait()
			c.ends(p)
			synctest.Wait()
			close(goOn)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, c.want, sent)
			require.True(t, then)
		})
	}
}
