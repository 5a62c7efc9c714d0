package conn

import (
	"context"
	"encoding/json"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What arrives after Close is nobody's: no handler is called any more.
func TestNothingIsDeliveredAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		p := newPeer(t, funcs{
			notify:  func(context.Context, string, json.RawMessage) { calls.Add(1) },
			request: func(context.Context, string, json.RawMessage) (any, error) { calls.Add(1); return nil, nil },
		}, nil)
		p.discard()
		p.write(`{"method":"before"}`)
		synctest.Wait()
		require.EqualValues(t, 1, calls.Load())
		require.NoError(t, p.conn.Close())
		_, err := io.WriteString(p.in, `{"method":"after"}`+"\n"+`{"id":1,"method":"after"}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		require.EqualValues(t, 1, calls.Load())
	})
}

// A reply that a handler has given before Close gets out, and so do those that
// handlers give because of it.
func TestCloseWritesReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, funcs{request: func(ctx context.Context, method string, _ json.RawMessage) (any, error) {
			if method == "slow" {
				<-ctx.Done()
				return "told", nil
			}
			return "given", nil
		}}, nil)
		p.write(`{"id":1,"method":"fast"}`, `{"id":2,"method":"slow"}`)
		synctest.Wait() // nobody reads: the reply waits
		started := time.Now()
		closed := make(chan error, 1)
		go func() { closed <- p.conn.Close() }()
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":"given"}`, p.read())
		require.Equal(t, `{"jsonrpc":"2.0","id":2,"result":"told"}`, p.read())
		require.NoError(t, <-closed)
		require.Zero(t, time.Since(started), "it waits for handlers, not for its timeout")
	})
}

// Of two requests with one id the end of the first leaves the second alone: it
// can still be withdrawn.
func TestTwoRequestsWithOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := newPeer(t, funcs{request: func(ctx context.Context, method string, _ json.RawMessage) (any, error) {
			if method == "first" {
				<-release
				return "first", nil
			}
			<-ctx.Done()
			return "withdrawn", nil
		}}, nil)
		p.write(`{"id":1,"method":"first"}`)
		synctest.Wait()
		p.write(`{"id":1,"method":"second"}`)
		synctest.Wait()
		close(release)
		require.Contains(t, p.read(), `"first"`)
		synctest.Wait()
		p.write(`{"method":"$/cancel_request","params":{"requestId":1}}`)
		require.Contains(t, p.read(), `"withdrawn"`)
	})
}

// A number and a string are two ids.
func TestNumberAndStringAreTwoIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, funcs{request: func(ctx context.Context, method string, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return method, nil
		}}, nil)
		p.write(`{"id":1,"method":"number"}`)
		synctest.Wait()
		p.write(`{"id":"1","method":"string"}`)
		synctest.Wait()
		p.write(`{"method":"$/cancel_request","params":{"requestId":1}}`)
		require.Contains(t, p.read(), `"number"`)
		p.write(`{"method":"$/cancel_request","params":{"requestId":"1"}}`)
		require.Contains(t, p.read(), `"string"`)
	})
}

// The reader of a stream that goes on after Close ends with its next line.
func TestReaderEndsAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		require.NoError(t, New(r, io.Discard, nil, nil).Close())
		_, err := io.WriteString(w, "{}\n")
		require.NoError(t, err)
		synctest.Wait()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.WriteString(w, "{}\n")
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("it is still read")
		default:
		}
		w.Close()
		r.Close()
		<-done
	})
}
