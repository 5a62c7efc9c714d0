package pipe_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/pipe"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

var (
	database = convert.Question{Text: "Which database?", Header: "Database", Options: []convert.Option{{Label: "PostgreSQL", Description: "big"}, {Label: "SQLite"}}}
	features = convert.Question{Text: "Which features?", MultiSelect: true, Options: []convert.Option{{Label: "Auth"}, {Label: "Logs, metrics"}, {Label: "Cache"}}}
	name     = convert.Question{Text: "What name?"}
)

func call(questions ...convert.Question) convert.Call {
	return convert.Call{Session: "s1", ID: "call_1", Questions: questions}
}

// far is the other end of an asker, played by the test.
type far struct {
	t   *testing.T
	in  *bufio.Scanner
	out *io.PipeWriter
}

func (f *far) reads(line string) {
	f.t.Helper()
	require.True(f.t, f.in.Scan())
	require.Equal(f.t, line, f.in.Text())
}

func (f *far) writes(line string) {
	_, err := io.WriteString(f.out, line+"\n")
	require.NoError(f.t, err)
}

// ends makes an asker and its other end.
func ends(t *testing.T, dialect string) (*pipe.Asker, *far) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &pipe.Asker{In: inR, Out: outW, Dialect: dialect}
	t.Cleanup(func() { require.NoError(t, a.Close()); outR.Close() })
	return a, &far{t, bufio.NewScanner(outR), inW}
}

type asked struct {
	outcome convert.Outcome
	err     error
}

func ask(ctx context.Context, a *pipe.Asker, c convert.Call) <-chan asked {
	done := make(chan asked, 1)
	go func() {
		o, err := a.Ask(ctx, c)
		done <- asked{o, err}
	}()
	return done
}

// The pairs are those of the documents.
func TestAskerWire(t *testing.T) {
	a, f := ends(t, "pi")
	c := call(database, name)
	c.Input = []byte(`{"questions":[],"metadata":{"source":"project-setup"}}`)
	done := ask(t.Context(), a, c)
	f.reads(`{"type":"ask_user_request","requestId":"req-1","questions":[{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL","description":"big"},{"label":"SQLite"}]},{"question":"What name?"}],"metadata":{"source":"project-setup"}}`)
	f.writes(`{"type":"ask_user_response","requestId":"req-1","answers":[{"question":"Which database?","answer":"SQLite","selectedOption":"SQLite","wasCustom":false},{"question":"What name?","answer":"order-processor","wasCustom":true}]}`)
	got := <-done
	require.NoError(t, got.err)
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}, {Text: "order-processor"}}, got.outcome.Answers)

	a, f = ends(t, "opal")
	done = ask(t.Context(), a, call(database, name))
	f.reads(`{"jsonrpc":"2.0","id":"req-1","method":"client/ask_user","params":{"session_id":"s1","question":"Which database?","choices":["PostgreSQL","SQLite"]}}`)
	f.writes(`{"jsonrpc":"2.0","id":"req-1","result":{"answer":"my own"}}`)
	f.reads(`{"jsonrpc":"2.0","id":"req-2","method":"client/ask_user","params":{"session_id":"s1","question":"What name?","choices":[]}}`)
	f.writes(`{"jsonrpc":"2.0","id":"req-2","result":{"answer":"orders"}}`)
	got = <-done
	require.NoError(t, got.err)
	require.Equal(t, []convert.Answer{{Text: "my own"}, {Text: "orders"}}, got.outcome.Answers)
}

// How a request ends that has no answer, and what the tool of each system says
// of it then.
func TestAskerWithoutAnAnswer(t *testing.T) {
	piTool, err := dialect.Decode([]byte(`{"name":"ask_user","input":{"questions":[{"question":"What name?"}]}}`), "pi")
	require.NoError(t, err)
	opalTool, err := dialect.Decode([]byte(`{"name":"ask_user","input":{"question":"What name?"}}`), "opal")
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		dialect, response string // none is the end of the input
		status            convert.Status
		result            string
	}{
		"pi, gone":         {"pi", "", convert.Disconnected, `{"answered":false,"answers":[],"connectionLost":true}`},
		"pi, lost":         {"pi", `{"type":"ask_user_response","requestId":"req-1","answered":false,"connectionLost":true}`, convert.Disconnected, `{"answered":false,"answers":[],"connectionLost":true}`},
		"pi, cancelled":    {"pi", `{"type":"ask_user_response","requestId":"req-1","answered":false,"answers":[],"cancelled":true}`, convert.Cancelled, `{"answered":false,"answers":[],"cancelled":true}`},
		"pi, failed":       {"pi", `{"type":"ask_user_response","requestId":"req-1","answered":false,"answers":[],"error":"no screen"}`, convert.Failed, `{"answered":false,"answers":[],"error":"no screen"}`},
		"pi, another's":    {"pi", `{"type":"ask_user_response","requestId":"req-1","answers":[{"question":"Why?","answer":"x","wasCustom":true}]}`, convert.Failed, `{"answered":false,"answers":[],"error":"invalid reply: expected answers to the questions that were asked, in their order"}`},
		"opal, gone":       {"opal", "", convert.Disconnected, `User input request failed: The client disconnected before the question was answered`},
		"opal, cancelled":  {"opal", `{"jsonrpc":"2.0","id":"req-1","error":{"code":-32800,"message":"no"}}`, convert.Cancelled, `User input request failed: User cancelled the question`},
		"opal, failed":     {"opal", `{"jsonrpc":"2.0","id":"req-1","error":{"code":-32603,"message":"no screen"}}`, convert.Failed, `User input request failed: no screen`},
		"opal, no answer":  {"opal", `{"jsonrpc":"2.0","id":"req-1","result":{"text":"x"}}`, convert.Failed, `User input request failed: invalid reply: expected {"answer":"…"}, got {"text":"x"}`},
		"opal, no handler": {"opal", `{"jsonrpc":"2.0","id":"req-1","error":{"code":-32601,"message":"unknown method"}}`, convert.Failed, `User input request failed: unknown method`},
	} {
		t.Run(name, func(t *testing.T) {
			a, f := ends(t, tc.dialect)
			done := ask(t.Context(), a, call(convert.Question{Text: "What name?"}))
			require.True(t, f.in.Scan())
			if tc.response == "" {
				require.NoError(t, f.out.Close())
			} else {
				f.writes(tc.response)
			}
			got := <-done
			require.Equal(t, tc.status, got.outcome.Status)
			require.ErrorIs(t, got.err, convert.Outcome{Status: tc.status}.Err())
			tool := piTool
			if tc.dialect == "opal" {
				tool = opalTool
			}
			require.Equal(t, tc.result, string(dialect.Encode(tool, dialect.Reply{Outcome: got.outcome}).Body))
			if tc.response == "" { // and so is every later one
				o, err := a.Ask(t.Context(), call(name2))
				require.Equal(t, convert.Disconnected, o.Status)
				require.ErrorIs(t, err, convert.ErrDisconnected)
			}
		})
	}
}

var name2 = convert.Question{Text: "What else?"}

// Two are open; each gets its own response, the second one first. What is no
// response changes nothing.
func TestAskerOutOfOrder(t *testing.T) {
	a, f := ends(t, "")
	var problems []string
	a.Report = func(p string) { problems = append(problems, p) }
	first := ask(t.Context(), a, call(convert.Question{Text: "1?"}))
	f.reads(`{"type":"ask_user_request","requestId":"req-1","questions":[{"question":"1?"}]}`)
	second := ask(t.Context(), a, call(convert.Question{Text: "2?"}))
	f.reads(`{"type":"ask_user_request","requestId":"req-2","questions":[{"question":"2?"}]}`)
	f.writes(`hello`)
	f.writes(`{"type":"ask_user_request","requestId":"req-1"}`)
	f.writes(`{"type":"ask_user_response","requestId":"req-9","answers":[]}`)
	f.writes(`{"type":"ask_user_response","requestId":"req-2","answers":[{"question":"2?","answer":"b","wasCustom":true}]}`)
	f.writes(`{"type":"ask_user_response","requestId":"req-2","answers":[{"question":"2?","answer":"c","wasCustom":true}]}`)
	require.Equal(t, "b", (<-second).outcome.Answers[0].Text)
	f.writes(`{"type":"ask_user_response","requestId":"req-1","answers":[{"question":"1?","answer":"a","wasCustom":true}]}`)
	require.Equal(t, "a", (<-first).outcome.Answers[0].Text)
	require.Len(t, problems, 4)
}

// There is no timeout; the context is the only way out.
func TestAskerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, f := ends(t, "pi")
		go func() {
			for f.in.Scan() {
			}
		}()
		ctx, cancel := context.WithCancelCause(t.Context())
		done := ask(ctx, a, call(name))
		time.Sleep(365 * 24 * time.Hour)
		synctest.Wait()
		require.Empty(t, done)
		cancel(errors.New("the session was closed"))
		require.Equal(t, "The question was withdrawn: the session was closed", (<-done).outcome.Reason)
		plain, stop := context.WithCancel(t.Context())
		stop()
		o, err := a.Ask(plain, call(name))
		require.Equal(t, convert.Cancelled, o.Status)
		require.ErrorIs(t, err, convert.ErrCancelled)
	})
}

// What is written into one end comes out of the other: both ends of the package,
// and a resolver behind them.
func TestBothEnds(t *testing.T) {
	for _, tc := range []struct {
		dialect string
		call    convert.Call
		answers []convert.Answer
	}{
		{"pi", call(database, features, name), []convert.Answer{{Selected: []string{"SQLite"}, Note: "small"}, {Selected: []string{"Auth", "Logs, metrics"}, Text: "more"}, {Text: "SQLite"}}},
		{"opal", call(database, name), []convert.Answer{{Selected: []string{"PostgreSQL"}}, {Text: "orders"}}},
	} {
		a, f := ends(t, tc.dialect)
		i := 0
		resolver := adapter.Func(func(_ context.Context, c convert.Call) ([]convert.Answer, error) {
			defer func() { i += len(c.Questions) }()
			return tc.answers[i : i+len(c.Questions)], nil
		})
		served := make(chan error, 1)
		r, w := io.Pipe()
		go func() { served <- (&pipe.Server{Resolver: resolver}).Serve(t.Context(), r, f.out) }()
		go func() {
			for f.in.Scan() {
				_, _ = w.Write(append(f.in.Bytes(), '\n'))
			}
		}()
		o, err := a.Ask(t.Context(), tc.call)
		require.NoError(t, err)
		require.Equal(t, tc.answers, o.Answers)
		require.NoError(t, w.Close())
		require.NoError(t, <-served)
	}
}

// Lines that are no requests are somebody else's.
func TestElse(t *testing.T) {
	var lines []string
	s := &pipe.Server{Resolver: adapter.Static{Answers: []convert.Answer{{Text: "x"}}}, Else: func(line []byte) { lines = append(lines, string(line)) }}
	p := serve(t.Context(), t, s)
	_, err := io.WriteString(p.in, "hello\n\n{\"type\":\"progress\"}\n")
	require.NoError(t, err)
	p.ask("a", "first")
	require.True(t, p.next().Answered)
	require.NoError(t, p.in.Close())
	require.NoError(t, <-p.done)
	require.Equal(t, []string{"hello", `{"type":"progress"}`}, lines)
}

func FuzzAsker(f *testing.F) {
	f.Add("pi", []byte(`{"type":"ask_user_response","requestId":"req-1","answers":[{"question":"What name?","answer":"x","wasCustom":true}]}`))
	f.Add("opal", []byte(`{"jsonrpc":"2.0","id":"req-1","result":{"answer":"x"}}`))
	f.Fuzz(func(t *testing.T, dialect string, data []byte) {
		if dialect != "opal" {
			dialect = "pi"
		}
		r, w := io.Pipe()
		out, requests := io.Pipe()
		a := &pipe.Asker{In: r, Out: requests, Dialect: dialect}
		go func() {
			bufio.NewScanner(out).Scan()
			_, _ = w.Write(data)
			_ = w.Close()
		}()
		c := call(database)
		o, err := a.Ask(t.Context(), c)
		require.NotZero(t, o.Status)
		require.NoError(t, o.Check(c))
		require.Equal(t, o.Status == convert.Answered, err == nil)
		_ = a.Close()
		_ = out.Close()
	})
}

// A sub-agent without a parent asks over the pipe, and one with a parent asks
// that. Each failure says whose it is, once.
func TestEscalation(t *testing.T) {
	for reason, policy := range map[string]func(adapter.Resolver) adapter.SubAgents{
		"User input request failed: no screen":                  func(r adapter.Resolver) adapter.SubAgents { return adapter.SubAgents{User: r} },
		"Question failed: User input request failed: no screen": func(r adapter.Resolver) adapter.SubAgents { return adapter.SubAgents{Parent: r} },
	} {
		a, f := ends(t, "opal")
		done := make(chan convert.Outcome, 1)
		go func() {
			o, _ := policy(a).Ask(t.Context(), call(name))
			done <- o
		}()
		require.True(t, f.in.Scan())
		f.writes(`{"jsonrpc":"2.0","id":"req-1","error":{"code":-32603,"message":"no screen"}}`)
		require.Equal(t, reason, (<-done).Reason)
	}
}
