package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/life"
)

func TestRequestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		result any
		err    error
		want   string
	}{
		"result":           {map[string]int{"a": 1}, nil, `"result":{"a":1}`},
		"nothing":          {nil, nil, `"result":null`},
		"raw with newline": {json.RawMessage("{\n\"a\": 1}"), nil, `"result":{"a":1}`},
		"request error":    {nil, acp.NewInvalidParams(nil), `"error":{"code":-32602,"message":"Invalid params"}`},
		"wrapped":          {nil, fmt.Errorf("x: %w", acp.NewInvalidParams(nil)), `"error":{"code":-32602,"message":"Invalid params"}`},
		"any error":        {nil, errors.New("boom"), `"error":{"code":-32603,"message":"Internal error","data":{"error":"boom"}}`},
		"canceled, though": {nil, context.Canceled, `"error":{"code":-32603,"message":"Internal error","data":{"error":"context canceled"}}`},
		"does not encode":  {make(chan int), nil, `"error":{"code":-32603,"message":"Internal error","data":{"error":"json: unsupported type: chan int"}}`},
		"data likewise":    {nil, &acp.RequestError{Code: 5, Message: "m", Data: make(chan int)}, `"error":{"code":5,"message":"m"}`},
		"invalid UTF-8":    {json.RawMessage("\"\xff\""), nil, `"result":"` + "\uFFFD" + `"`},
	} {
		bubble(t, name, func(t *testing.T) {
			p := newPeer(t, funcs{request: func(context.Context, string, json.RawMessage) (any, error) {
				return tc.result, tc.err
			}}, nil)
			p.write(`{"jsonrpc":"2.0","id":"x","method":"m"}`)
			require.Equal(t, `{"jsonrpc":"2.0","id":"x",`+tc.want+`}`, p.read())
		})
	}
}

func TestNilHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.write(`{"method":"n"}`, `{"id":1,"method":"m"}`)
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":{"method":"m"}}}`, p.read())
	})
}

func TestParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []json.RawMessage
		p := newPeer(t, funcs{notify: func(_ context.Context, _ string, params json.RawMessage) {
			got = append(got, params)
		}}, nil)
		p.write(`{"method":"n"}`, `{"method":"n","params":null}`, `{"method":"n","params":{"a": 1}}`, `{"method":"n","params":"x"}`)
		synctest.Wait()
		require.Equal(t, []json.RawMessage{nil, json.RawMessage(`null`), json.RawMessage(`{"a": 1}`), json.RawMessage(`"x"`)}, got)
	})
}

func TestCancelRequest(t *testing.T) {
	for name, ids := range map[string][2]string{
		"number": {`7`, `7`}, "float": {`7`, `7.0`}, "string": {`"a"`, `"\u0061"`},
	} {
		bubble(t, name, func(t *testing.T) {
			p := newPeer(t, funcs{request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
				<-ctx.Done()
				return nil, fmt.Errorf("asking: %w", ctx.Err())
			}}, nil)
			p.write(`{"id":`+ids[0]+`,"method":"m"}`, `{"method":"$/cancel_request","params":{"requestId":`+ids[1]+`}}`)
			require.Equal(t, `{"jsonrpc":"2.0","id":`+ids[0]+`,"error":{"code":-32800,"message":"Request cancelled"}}`, p.read())
		})
	}
}

// A peer that takes a request back because somebody has answered it elsewhere says who.
func TestCancelSaysWhoAnswered(t *testing.T) {
	const who = `{"requestId":1,"_meta":{"acp-bridge":{"settled":{"outcome":%q,"by":%q}}}}`
	for name, c := range map[string]struct {
		params string
		cause  error
	}{
		"answered":        {fmt.Sprintf(who, "answered", "Ann"), life.Elsewhere{Outcome: "answered", By: "Ann"}},
		"dismissed":       {fmt.Sprintf(who, "cancelled", "Ann\nand Bob"), life.Elsewhere{Outcome: "cancelled", By: "Ann and Bob"}},
		"without a name":  {fmt.Sprintf(who, "answered", ""), life.Elsewhere{Outcome: "answered"}},
		"nobody":          {fmt.Sprintf(who, "cancelled", ""), context.Canceled},
		"no such outcome": {fmt.Sprintf(who, "failed", "Ann"), context.Canceled},
		"nothing":         {`{"requestId":1}`, context.Canceled},
	} {
		bubble(t, name, func(t *testing.T) {
			causes := make(chan error, 1)
			p := newPeer(t, funcs{request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return nil, ctx.Err()
			}}, nil)
			p.write(`{"id":1,"method":"m"}`, `{"method":"$/cancel_request","params":`+c.params+`}`)
			require.Contains(t, p.read(), "-32800")
			require.Equal(t, c.cause, <-causes)
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("settled: %w", life.Elsewhere{Outcome: "answered", By: "Ann"}))
	require.JSONEq(t, fmt.Sprintf(who, "answered", "Ann"), string(CancelParams(ctx, []byte("1"))))
}

// session/cancel reaches the handler while a prompt is running, and the prompt
// can still be answered properly.
func TestNotifyDuringRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancel := make(chan struct{})
		p := newPeer(t, funcs{
			request: func(ctx context.Context, method string, _ json.RawMessage) (any, error) {
				if method == "session/prompt" {
					<-cancel
				}
				return method, nil
			},
			notify: func(context.Context, string, json.RawMessage) { close(cancel) },
		}, nil)
		p.write(`{"id":1,"method":"session/prompt"}`, `{"id":2,"method":"other"}`)
		require.Contains(t, p.read(), `"id":2`)
		p.write(`{"method":"session/cancel"}`)
		require.Contains(t, p.read(), `"id":1`)
	})
}

// Everything is looked at in the order in which it came.
func TestArrivalOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		var seen []string
		note := func(method string) { seen = append(seen, method) }
		p := newPeer(t, acceptor{
			funcs: funcs{notify: func(_ context.Context, method string, _ json.RawMessage) { note(method) }},
			accept: func(_ context.Context, method string, _ json.RawMessage) Answer {
				note(method)
				return func() (any, error) { return nil, nil }
			},
		}, nil)
		p.discard()
		var want []string
		for i := range n {
			want = append(want, fmt.Sprintf("r%d", i), fmt.Sprintf("n%d", i))
			p.write(fmt.Sprintf(`{"id":%d,"method":"r%d"}`, i, i), fmt.Sprintf(`{"method":"n%d"}`, i))
		}
		synctest.Wait()
		require.Equal(t, want, seen)
	})
}

func TestNotifyIsDoneBeforeALaterRequestStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notified bool
		p := newPeer(t, funcs{
			request: func(context.Context, string, json.RawMessage) (any, error) { return notified, nil },
			notify: func(context.Context, string, json.RawMessage) {
				time.Sleep(time.Second)
				notified = true
			},
		}, nil)
		p.write(`{"method":"n"}`, `{"id":1,"method":"m"}`)
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":true}`, p.read())
	})
}

// A notification before an answer is handled before the call returns.
func TestNotifyIsDoneBeforeALaterAnswerIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notified bool
		p := newPeer(t, funcs{notify: func(context.Context, string, json.RawMessage) {
			time.Sleep(time.Second)
			notified = true
		}}, nil)
		p.discard()
		done := p.call(t.Context(), "m", nil)
		p.write(`{"method":"n"}`, `{"id":1,"result":1}`)
		require.NoError(t, (<-done).err)
		require.True(t, notified)
	})
}

func TestAcceptNilLeavesItToRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, acceptor{accept: func(context.Context, string, json.RawMessage) Answer { return nil }}, nil)
		p.write(`{"id":1,"method":"m"}`)
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":"m"}`, p.read())
	})
}

func TestNotificationBurst(t *testing.T) {
	const n = 100_000
	var got int
	done := make(chan struct{})
	p := newPeer(t, funcs{notify: func(_ context.Context, _ string, params json.RawMessage) {
		if string(params) != fmt.Sprint(got) {
			t.Errorf("notification %s came as number %d", params, got)
		}
		if got++; got == n {
			close(done)
		}
	}}, nil)
	var burst bytes.Buffer
	for i := range n {
		fmt.Fprintf(&burst, `{"jsonrpc":"2.0","method":"n","params":%d}`+"\n", i)
	}
	_, err := burst.WriteTo(p.in)
	require.NoError(t, err)
	<-done
	require.NoError(t, p.conn.Err())
}

func TestHandlerPanics(t *testing.T) {
	answered := func(t *testing.T, p *peer, log fmt.Stringer) {
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"error":"the handler of m failed"}}}`, p.read())
		p.write(`{"id":2,"method":"ping"}`)
		require.Equal(t, `{"jsonrpc":"2.0","id":2,"result":"ping"}`, p.read())
		if log != nil {
			require.Contains(t, log.String(), "level=ERROR")
			require.Contains(t, log.String(), "panic=ouch")
			require.Contains(t, log.String(), "dispatch_test.go")
		}
	}
	ouch := func(method string) {
		if method == "m" {
			panic("ouch")
		}
	}
	ping := func(_ context.Context, method string, _ json.RawMessage) (any, error) { return method, nil }
	for name, h := range map[string]Handler{
		"request": funcs{request: func(_ context.Context, method string, _ json.RawMessage) (any, error) {
			ouch(method)
			return method, nil
		}},
		"accept": acceptor{funcs{request: ping}, func(_ context.Context, method string, _ json.RawMessage) Answer {
			ouch(method)
			return nil
		}},
		"answer": acceptor{funcs{request: ping}, func(_ context.Context, method string, _ json.RawMessage) Answer {
			return func() (any, error) { ouch(method); return method, nil }
		}},
		"encoding": funcs{request: func(_ context.Context, method string, _ json.RawMessage) (any, error) {
			if method == "m" {
				return panics{}, nil
			}
			return method, nil
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			var log bytes.Buffer
			p := newPeer(t, h, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			p.write(`{"id":1,"method":"m"}`)
			answered(t, p, &log)
		})
	}
	bubble(t, "notify", func(t *testing.T) {
		p := newPeer(t, funcs{notify: func(_ context.Context, method string, _ json.RawMessage) { ouch(method) }}, nil)
		p.write(`{"method":"m"}`, `{"id":2,"method":"ping"}`)
		require.Equal(t, `{"jsonrpc":"2.0","id":2,"result":"ping"}`, p.read())
	})
	bubble(t, "goexit", func(t *testing.T) {
		p := newPeer(t, funcs{request: func(_ context.Context, method string, _ json.RawMessage) (any, error) {
			if method == "m" {
				runtime.Goexit()
			}
			return method, nil
		}}, nil)
		p.write(`{"id":1,"method":"m"}`)
		answered(t, p, nil)
	})
	bubble(t, "goexit of the reader", func(t *testing.T) {
		p := newPeer(t, funcs{notify: func(context.Context, string, json.RawMessage) { runtime.Goexit() }}, nil)
		p.write(`{"method":"m"}`)
		<-p.conn.Done()
	})
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("ouch") }

func TestEndCancelsHandlersAndTheirAnswersGetOut(t *testing.T) {
	handler := funcs{request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
		<-ctx.Done()
		time.Sleep(time.Second)
		return context.Cause(ctx).Error(), nil
	}}
	bubble(t, "peer closed its output", func(t *testing.T) {
		p := newPeer(t, handler, nil)
		p.write(`{"id":1,"method":"m"}`)
		p.in.Close()
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":"connection closed: EOF"}`, p.read())
	})
	bubble(t, "closed here", func(t *testing.T) {
		p := newPeer(t, handler, nil)
		p.write(`{"id":1,"method":"m"}`)
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- p.conn.Close() }()
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":"connection closed: closed on this side"}`, p.read())
		require.NoError(t, <-closed)
	})
}

func TestTooManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := newPeer(t, funcs{request: func(context.Context, string, json.RawMessage) (any, error) {
			<-release
			return nil, nil
		}}, nil)
		p.write(strings.Repeat(`{"id":1,"method":"m"}`+"\n", maxRunning) + `{"id":2,"method":"m"}`)
		require.Contains(t, p.read(), `"id":2,"error":{"code":-32603,"message":"more than 10000 requests unanswered"`)
		p.discard()
		close(release)
		synctest.Wait()
		require.Zero(t, p.conn.running)
		require.Empty(t, p.conn.inflight)
	})
}

// Both ends answer while both ends ask, with hardly any room in the queues.
func TestNoDeadlockBetweenFullQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := strings.Repeat("x", 1000)
		h := funcs{request: func(context.Context, string, json.RawMessage) (any, error) { return big, nil }}
		a, b, end := connected(h, &Options{HighWater: 100})
		defer end()
		var wg sync.WaitGroup
		for _, c := range []*Conn{a, b} {
			for range 200 {
				wg.Go(func() {
					if _, err := c.Call(t.Context(), "m", big); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
	})
}

// A message with two meanings has none: no call gets an answer out of it, and
// whoever waits because of it is told.
func TestRule2TwoMeanings(t *testing.T) {
	for name, answer := range map[string]string{
		"two results":              `{"id":1,"result":"a","result":"b"}`,
		"two results, escaped":     `{"id":1,"result":"a","resu\u006ct":"b"}`,
		"a result and null":        `{"id":1,"result":"a","result":null}`,
		"an error and a result":    `{"id":1,"error":{"code":1,"message":"m"},"result":"a"}`,
		"a result, then an error":  `{"id":1,"result":"a","error":{"code":1,"message":"m"}}`,
		"two ids":                  `{"id":7,"result":"a","id":1}`,
		"two ids, the other first": `{"id":1,"result":"a","id":7}`,
	} {
		bubble(t, name, func(t *testing.T) {
			p := newPeer(t, nil, nil)
			done := p.call(t.Context(), "m", nil)
			p.read()
			p.write(answer)
			require.ErrorIs(t, (<-done).err, ErrProtocol)
		})
	}
	for name, answer := range map[string]string{
		"the same twice":        `{"id":1,"result":"a","result":"\u0061","id":1}`,
		"a result, no error":    `{"id":1,"result":"a","error":null}`,
		"unknown members twice": `{"id":1,"result":"a","x":1,"x":2}`,
	} {
		bubble(t, name, func(t *testing.T) {
			p := newPeer(t, nil, nil)
			done := p.call(t.Context(), "m", nil)
			p.read()
			p.write(answer)
			require.NoError(t, (<-done).err)
		})
	}
	for request, id := range map[string]string{
		`{"id":5,"method":"a","method":"b"}`:                      "5",
		`{"id":5,"method":"a","params":{"x":1},"params":{}}`:      "5",
		`{"id":5,"method":"a","id":6}`:                            "null",
		`{"method":"session/cancel","params":{"a":1},"params":1}`: "null",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, nil, nil)
			p.write(request)
			reply := p.read()
			require.Contains(t, reply, `"id":`+id, request)
			require.Contains(t, reply, "two different values", request)
		})
	}
}
