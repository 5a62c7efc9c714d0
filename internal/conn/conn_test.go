package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

func TestCallAnswers(t *testing.T) {
	rpcError := func(code int, message string) func(*testing.T, result) {
		return func(t *testing.T, r result) {
			var re *acp.RequestError
			require.ErrorAs(t, r.err, &re)
			assert.Equal(t, code, re.Code)
			assert.Equal(t, message, re.Message)
		}
	}
	value := func(want string) func(*testing.T, result) {
		return func(t *testing.T, r result) {
			require.NoError(t, r.err)
			assert.Equal(t, want, string(r.raw))
		}
	}
	protocol := func(t *testing.T, r result) { require.ErrorIs(t, r.err, ErrProtocol) }

	for name, tc := range map[string]struct {
		lines []string
		check func(*testing.T, result)
	}{
		"result":                {[]string{`{"jsonrpc":"2.0","id":1,"result":{"a":[1]}}`}, value(`{"a":[1]}`)},
		"id last":               {[]string{`{"result":7,"id":1}`}, value(`7`)},
		"id a string":           {[]string{`{"jsonrpc":"2.0","id":"1","result":7}`}, value(`7`)},
		"id a float":            {[]string{`{"jsonrpc":"2.0","id":1.0,"result":7}`}, value(`7`)},
		"jsonrpc 1.0":           {[]string{`{"jsonrpc":"1.0","id":1,"result":7}`}, value(`7`)},
		"no jsonrpc":            {[]string{`{"id":1,"result":7}`}, value(`7`)},
		"method null":           {[]string{`{"id":1,"method":null,"result":7}`}, value(`7`)},
		"result null":           {[]string{`{"id":1,"result":null}`}, value(`null`)},
		"result missing":        {[]string{`{"id":1}`}, value(`null`)},
		"error null, result":    {[]string{`{"id":1,"error":null,"result":7}`}, value(`7`)},
		"error and result":      {[]string{`{"id":1,"error":{"code":-5,"message":"no"},"result":7}`}, protocol},
		"error -32601":          {[]string{`{"id":1,"error":{"code":-32601,"message":"Method not found"}}`}, rpcError(-32601, "Method not found")},
		"error -32800":          {[]string{`{"id":1,"error":{"code":-32800,"message":"Request cancelled"}}`}, rpcError(-32800, "Request cancelled")},
		"error a string":        {[]string{`{"id":1,"error":"boom"}`}, rpcError(-32603, "boom")},
		"error a number":        {[]string{`{"id":1,"error":12}`}, rpcError(-32603, "12")},
		"error an array":        {[]string{`{"id":1,"error":["x"]}`}, rpcError(-32603, `["x"]`)},
		"error empty":           {[]string{`{"id":1,"error":{}}`}, rpcError(-32603, "error without a message")},
		"error code a string":   {[]string{`{"id":1,"error":{"code":"x","message":"m"}}`}, rpcError(-32603, "m")},
		"twice":                 {[]string{`{"id":1,"result":1}`, `{"id":1,"result":2}`}, value(`1`)},
		"unknown ids before":    {[]string{`{"id":2,"result":2}`, `{"id":"x","result":2}`, `{"id":{},"result":2}`, `{"id":null,"error":{}}`, `{"id":-1,"result":2}`, `{"id":1,"result":1}`}, value(`1`)},
		"garbage before":        {[]string{`boom`, `[]`, ``, `{}`, "\xff", `{"id":1,"result":1}`}, value(`1`)},
		"invalid UTF-8":         {[]string{"{\"id\":1,\"result\":\"a\xffb\"}"}, value(`"a` + "\uFFFD" + `b"`)},
		"result broken off":     {[]string{`{"jsonrpc":"2.0","id":1,"result":{"a":`}, protocol},
		"BOM, spaces and CR":    {[]string{"\ufeff  {\"id\":1,\"result\":1} \r"}, value(`1`)},
		"escaped key":           {[]string{`{"\u0069d":1,"result":1}`}, value(`1`)},
		"nested id is not ours": {[]string{`{"result":{"id":1},"params":{"id":1}}`, `{"id":1,"result":3}`}, value(`3`)},
	} {
		bubble(t, name, func(t *testing.T) {
			p := newPeer(t, nil, nil)
			done := p.call(t.Context(), "m", nil)
			require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`, p.read())
			p.discard()
			p.write(tc.lines...)
			tc.check(t, <-done)

			// The connection is as good as before.
			done = p.call(t.Context(), "m", nil)
			p.write(`{"id":2,"result":"fine"}`)
			value(`"fine"`)(t, <-done)
		})
	}
}

func TestCallErrorData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.discard()
		done := p.call(t.Context(), "m", nil)
		p.write(`{"id":1,"error":{"code":-32000,"message":"Authentication required","data":{"x":[1]}}}`)
		var re *acp.RequestError
		require.ErrorAs(t, (<-done).err, &re)
		require.Equal(t, map[string]any{"x": []any{1.0}}, re.Data)
	})
}

func TestPeerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.discard()
		done := p.call(t.Context(), "m", nil)
		synctest.Wait()
		p.in.Close()
		err := (<-done).err
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, err, io.EOF)
		require.NotErrorIs(t, err, context.Canceled)
		<-p.conn.Done()
		require.ErrorIs(t, p.conn.Err(), io.EOF)

		_, err = p.conn.Call(t.Context(), "m", nil)
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, p.conn.Notify(t.Context(), "n", nil), ErrClosed)
		require.NoError(t, p.conn.Close())
	})
}

func TestCallCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		cause := errors.New("the turn was cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := p.call(ctx, "m", nil)
		p.read()
		cancel(cause)
		err := (<-done).err
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, cause)
		require.NotErrorIs(t, err, ErrClosed)
		require.JSONEq(t, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`, p.read())

		// One that shows that to its user is not told: what it reads next is another line.
		p.conn.Peer().NoCancel.Store(true)
		ctx2, cancel2 := context.WithCancel(t.Context())
		done = p.call(ctx2, "m", nil)
		p.read()
		cancel2()
		require.ErrorIs(t, (<-done).err, context.Canceled)

		// A late answer is nobody's. An ended ctx writes nothing.
		p.write(`{"id":1,"result":1}`)
		_, err = p.conn.Call(ctx, "m", nil)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, p.conn.Notify(ctx, "n", nil), context.Canceled)
		require.NoError(t, p.conn.Notify(t.Context(), "next", nil))
		require.Equal(t, `{"jsonrpc":"2.0","method":"next"}`, p.read())
	})
}

// canceller ends a context when it is told to.
type canceller struct {
	Handler
	cancel func()
}

func (c canceller) Notify(context.Context, string, json.RawMessage) { c.cancel() }

// What comes first counts: an answer behind the message that ended its call is
// none, an answer before it is one.
func TestCancelAndAnswerInOrder(t *testing.T) {
	const stop, answer = `{"method":"stop"}`, `{"id":1,"result":1}`
	for range 200 {
		for name, kept := range map[string]bool{stop + "\n" + answer: false, answer + "\n" + stop: true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p := newPeer(t, canceller{cancel: cancel}, nil)
				done := p.call(ctx, "m", nil)
				p.read()
				p.discard()
				p.write(name)
				if r := <-done; kept {
					require.NoError(t, r.err)
					require.Equal(t, "1", string(r.raw))
				} else {
					require.ErrorIs(t, r.err, context.Canceled)
				}
			})
		}
	}
}

func TestCallDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.discard()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := p.conn.Call(ctx, "m", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestCallParamsThatDoNotEncode(t *testing.T) {
	p := newPeer(t, nil, nil)
	_, err := p.conn.Call(t.Context(), "m", make(chan int))
	require.ErrorContains(t, err, "m: encode params")
	require.Error(t, p.conn.Notify(t.Context(), "m", json.RawMessage("{")))
}

// An answer is never lost to what happens right after it.
func TestAnswerThenEOF(t *testing.T) {
	for i := range 3000 {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		c := New(inR, outW, nil, &Options{Logger: slog.New(slog.DiscardHandler)})
		go func() {
			outR.Read(make([]byte, 4096))
			io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"result":"yes"}`+"\n")
			inW.Close()
			outR.Close()
		}()
		// The user of a connection tends to cancel what he does when it ends.
		ctx, cancel := context.WithCancel(t.Context())
		stop := context.AfterFunc(c.ctx, cancel)
		raw, err := c.Call(ctx, "m", nil)
		require.NoError(t, err, "try %d", i)
		require.Equal(t, `"yes"`, string(raw))
		stop()
		cancel()
		c.Close()
	}
}

// The same with all of it done before the caller waits: the answer is there, the
// connection closed and the context cancelled.
func TestAnswerThenEOFBeforeCallerWaits(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		var p *peer
		p = newPeer(t, nil, &Options{Trace: func(dir ndjson.Direction, text []byte) {
			if dir == ndjson.Out {
				p.write(`{"id":1,"result":"yes"}`)
				p.in.Close()
				<-p.conn.Done()
				cancel()
			}
		}})
		p.discard()
		raw, err := p.conn.Call(ctx, "m", nil)
		require.NoError(t, err)
		require.Equal(t, `"yes"`, string(raw))
		p.close()
	}
}

// The peer answers and exits; our next write fails before its answer is read.
func TestAnswerThenBrokenPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		done := p.call(t.Context(), "m", nil)
		p.read()
		p.out.Close()
		require.NoError(t, p.conn.Notify(t.Context(), "n", nil))
		synctest.Wait() // the write has failed
		require.ErrorIs(t, p.conn.Notify(t.Context(), "n", nil), ErrClosed)
		p.write(`{"id":1,"result":"yes"}`)
		r := <-done
		require.NoError(t, r.err)
		require.Equal(t, `"yes"`, string(r.raw))
	})
}

func TestBrokenPipeClosesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.out.CloseWithError(io.ErrNoProgress)
		_, err := p.conn.Call(t.Context(), "m", nil)
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, err, io.ErrNoProgress)
		<-p.conn.Done()
		require.Error(t, p.conn.Close())
	})
}

func TestManyCallsOutstanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		p := newPeer(t, nil, nil)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				raw, err := p.conn.Call(t.Context(), "m", i)
				assert.NoError(t, err)
				assert.Equal(t, fmt.Sprint(i), string(raw))
			})
		}
		var requests []struct{ ID, Params json.RawMessage }
		for range n {
			var r struct{ ID, Params json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(p.read()), &r))
			requests = append(requests, r)
		}
		for i := range requests { // the last first
			r := requests[n-1-i]
			p.write(fmt.Sprintf(`{"id":%s,"result":%s}`, r.ID, r.Params))
		}
		wg.Wait()
		require.Empty(t, p.conn.pending)
	})
}

func TestCloseIsQuietAndIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := newPeer(t, nil, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		done := p.call(t.Context(), "m", nil)
		p.read()
		start := time.Now()
		require.NoError(t, p.conn.Close())
		require.NoError(t, p.conn.Close())
		require.ErrorIs(t, (<-done).err, ErrClosed)
		require.ErrorIs(t, p.conn.Err(), ErrClosed)
		require.Zero(t, time.Since(start))
		p.close()
		synctest.Wait()
		require.Empty(t, log.String())
	})
}

func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		p := newPeer(t, funcs{}, &Options{Trace: func(dir ndjson.Direction, text []byte) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(dir)+" "+string(text))
		}})
		p.write(`{"id":1,"method":"m"}`)
		p.read()
		require.Equal(t, []string{`in {"id":1,"method":"m"}`, `out {"jsonrpc":"2.0","id":1,"result":"m"}`}, seen)
	})
}

// The adapter must see a disconnect in the error itself: a write may fail
// before Done is closed.
func TestClosedIsADisconnect(t *testing.T) {
	require.ErrorIs(t, closedError(io.EOF), io.ErrClosedPipe)
	require.ErrorIs(t, closedError(io.EOF), ErrClosed)
}

func TestVersion1(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"version 1 as it is":   {`{ "protocolVersion":1,"capabilities":{"elicitation":{"form":{}}} }`, ``},
		"no version":           {`{"clientCapabilities":{}}`, ``},
		"nonsense":             {`{"protocolVersion":"2"}`, ``},
		"nothing":              {``, ``},
		"version 2":            {`{"protocolVersion":2,"info":{"name":"e","version":"1"},"capabilities":{"elicitation":{"form":{}},"auth":{"terminal":{}},"_meta":{"a":1}},"_meta":{"b":2}}`, `{"protocolVersion":1,"clientInfo":{"name":"e","version":"1"},"clientCapabilities":{"elicitation":{"form":{}},"auth":{"terminal":true},"_meta":{"a":1},"session":{"configOptions":{"boolean":{}}},"plan":{}},"_meta":{"b":2}}`},
		"a later one, bare":    {`{"protocolVersion":7}`, `{"protocolVersion":1,"clientCapabilities":{"session":{"configOptions":{"boolean":{}}},"plan":{}}}`},
		"what does not fit":    {`{"protocolVersion":2,"info":"e","capabilities":{"elicitation":true,"auth":{"terminal":true}}}`, `{"protocolVersion":1,"clientCapabilities":{"session":{"configOptions":{"boolean":{}}},"plan":{}}}`},
		"both places":          {`{"protocolVersion":2,"clientInfo":{"name":"old"},"info":{"name":"new"},"capabilities":{"elicitation":{"form":{}}},"clientCapabilities":{"elicitation":{"url":{}},"terminal":true}}`, `{"protocolVersion":1,"clientInfo":{"name":"old"},"clientCapabilities":{"elicitation":{"url":{}},"terminal":true,"session":{"configOptions":{"boolean":{}}},"plan":{}}}`},
		"not JSON all the way": {`{"protocolVersion":2,"info":{"name":}}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			got := Version1(json.RawMessage(c.said))
			if c.want == "" {
				require.Equal(t, c.said, string(got))
				return
			}
			require.JSONEq(t, c.want, string(got))
		})
	}
}
