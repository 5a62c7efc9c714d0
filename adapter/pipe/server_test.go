package pipe_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/pipe"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func answered(text string) ([]convert.Answer, error) { return []convert.Answer{{Text: text}}, nil }

// echo answers every question with its own text.
var echo = adapter.Func(func(_ context.Context, c convert.Call) ([]convert.Answer, error) {
	return answered(c.Questions[0].Text)
})

// poster asks side by side, and counts what it hands over.
type poster struct {
	adapter.Func
	delivered chan error
}

type posted struct {
	ctx  context.Context
	call convert.Call
	poster
}

func (p poster) Post(ctx context.Context, c convert.Call) adapter.Asking { return posted{ctx, c, p} }
func (p posted) Wait() (convert.Outcome, error)                          { return p.Ask(p.ctx, p.call) }
func (p posted) Deliver(use func() error) error {
	err := use()
	p.delivered <- err
	return err
}

const (
	pi   = `{"type":"ask_user_request","requestId":"r1","questions":[{"question":"Name?"}],"metadata":{"source":"x"}}`
	opal = `{"jsonrpc":"2.0","id":7,"method":"client/ask_user","params":{"session_id":"s","question":"Why?","choices":["a","b"]}}`
)

func TestPairs(t *testing.T) {
	var out bytes.Buffer
	s := &pipe.Server{Resolver: echo, Report: func(p string) { t.Errorf("reported: %s", p) }}
	require.NoError(t, s.Serve(t.Context(), strings.NewReader(pi+"\n\n"+opal), &out))
	require.Equal(t, `{"type":"ask_user_response","requestId":"r1","answered":true,"answers":[{"question":"Name?","answer":"Name?","wasCustom":true}],`+
		`"details":{"questions":[{"question":"Name?"}],"answers":[{"question":"Name?","answer":"Name?","wasCustom":true}],"answeredAt":0,"mode":"rpc","metadata":{"source":"x"},"summary":"The user was asked \"Name?\" and wrote \"Name?\"."}}
{"jsonrpc":"2.0","id":7,"result":{"answer":"Why?"}}
`, regexp.MustCompile(`"answeredAt":[0-9]+`).ReplaceAllString(out.String(), `"answeredAt":0`))
}

// A bad line gets an error where there is an id, else a report, and the next
// line is read.
func TestBadLines(t *testing.T) {
	const report = "" // in place of a response
	for _, tc := range []struct{ dialect, line, response, report string }{
		{"", `{"type":`, report, "line 1: expected a JSON object"},
		{"", `[` + pi + `]`, report, "line 1: expected a JSON object"},
		{"", `{"questions":[{"question":"a"}]}`, report, "line 1: expected an ask_user_request or a client/ask_user request"},
		{"", `{"type":"ask_user_request","questions":[{"question":"a"}]}`, report, "line 1: a message without a requestId"},
		{"", `{"type":"ask_user_request","requestId":"","questions":[]}`, report, "line 1: a message without a requestId"},
		{"", `{"type":"ask_user_response","requestId":"r"}`, report, "line 1: a response, but nothing was asked"},
		{"", `{"type":"ask_user_request","requestId":"r","questions":[]}`, `{"type":"ask_user_response","requestId":"r","answered":false,"answers":[],"error":"at least one question is required"}`, ""},
		{"", `{"type":"ask","requestId":9}`, `{"type":"ask_user_response","requestId":9,"answered":false,"answers":[],"error":"type must be ask_user_request"}`, ""},
		{"opal", pi, `{"type":"ask_user_response","requestId":"r1","answered":false,"answers":[],"error":"type must be none: only client/ask_user requests are taken"}`, ""},
		{"", `{"jsonrpc":"2.0","method":"client/ask_user","params":{"question":"a"}}`, report, "line 1: a JSON-RPC message without an id that could be answered"},
		{"", `{"jsonrpc":"2.0","id":null,"method":"client/ask_user"}`, report, "line 1: a JSON-RPC message without an id that could be answered"},
		{"", `{"jsonrpc":"2.0","id":1,"result":{}}`, report, "line 1: a response, but nothing was asked"},
		{"", `{"jsonrpc":"2.0","id":1}`, `{"error":{"code":-32600,"message":"method must be client/ask_user"},"id":1,"jsonrpc":"2.0"}`, ""},
		{"", `{"jsonrpc":"2.0","id":"x","method":"client/confirm"}`, `{"error":{"code":-32601,"message":"unknown method \"client/confirm\""},"id":"x","jsonrpc":"2.0"}`, ""},
		{"pi", opal, `{"error":{"code":-32601,"message":"unknown method \"client/ask_user\""},"id":7,"jsonrpc":"2.0"}`, ""},
		{"", `{"jsonrpc":"2.0","id":1,"method":"client/ask_user","params":{}}`, `{"error":{"code":-32602,"message":"question 1: question text is required"},"id":1,"jsonrpc":"2.0"}`, ""},
		{"", `{"jsonrpc":"2.0","id":1,"method":"client/ask_user","params":{"question":"a"}}`, `{"error":{"code":-32602,"message":"wrong type: session_id must be a string, got nothing"},"id":1,"jsonrpc":"2.0"}`, ""},
		{"", strings.Repeat("x", 17<<20), report, "line 1: longer than 16 MiB"},
	} {
		good, want := pi, "r1"
		if tc.dialect == "opal" {
			good, want = opal, "7"
		}
		var out bytes.Buffer
		var reported string
		s := &pipe.Server{Resolver: echo, Dialect: tc.dialect, Report: func(p string) { reported += p }}
		require.NoError(t, s.Serve(t.Context(), strings.NewReader(tc.line+"\n"+good+"\n"), &out))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if tc.response != "" {
			require.Equal(t, tc.response, lines[0])
			lines = lines[1:]
		}
		require.Equal(t, tc.report, reported)
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], want)
	}
}

// peer is the other end of a server.
type peer struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
}

func serve(ctx context.Context, t *testing.T, s *pipe.Server) *peer {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, out: bufio.NewScanner(outR), done: make(chan error, 1)}
	go func() {
		err := s.Serve(ctx, inR, outW)
		outW.Close()
		inR.Close()
		p.done <- err
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return p
}

func (p *peer) ask(id, question string) {
	p.t.Helper()
	acptest.Must(io.WriteString(p.in, `{"type":"ask_user_request","requestId":"`+id+`","questions":[{"question":"`+question+`"}]}`+"\n"))
}

type response struct {
	RequestID string
	Answered  bool
	Error     string
	Answers   []struct{ Answer string }
}

func (p *peer) next() (r response) {
	p.t.Helper()
	require.True(p.t, p.out.Scan())
	require.NoError(p.t, json.Unmarshal(p.out.Bytes(), &r))
	return r
}

// Lines that are no requests are somebody else's.
func TestElse(t *testing.T) {
	var lines []string
	s := &pipe.Server{Resolver: adapter.Static{Answers: []convert.Answer{{Text: "x"}}}, Else: func(line []byte) { lines = append(lines, string(line)) }}
	p := serve(t.Context(), t, s)
	acptest.Must(io.WriteString(p.in, "hello\n\n{\"type\":\"progress\"}\n{\"type\":\"ask_user_request\",\n"))
	p.ask("a", "first")
	require.True(t, p.next().Answered)
	require.NoError(t, p.in.Close())
	require.NoError(t, <-p.done)
	require.Equal(t, []string{"hello", `{"type":"progress"}`, `{"type":"ask_user_request",`}, lines, "half a request is none")
}

// A request with the id of one that is open is refused and not asked: its answer
// could be taken for the other's. Once there is a response, the id is free.
func TestSameID(t *testing.T) {
	asked, answer := make(chan string), make(chan string)
	s := &pipe.Server{Resolver: adapter.Func(func(_ context.Context, c convert.Call) ([]convert.Answer, error) {
		asked <- c.Questions[0].Text
		return answered(<-answer)
	})}
	p := serve(t.Context(), t, s)
	p.ask("r1", "First?")
	require.Equal(t, "First?", <-asked)
	p.ask("r1", "Second?")
	require.Equal(t, response{RequestID: "r1", Error: "a request with this id is open", Answers: []struct{ Answer string }{}}, p.next())
	answer <- "one"
	require.Equal(t, "one", p.next().Answers[0].Answer)
	p.ask("r1", "Third?")
	require.Equal(t, "Third?", <-asked)
	acptest.Must(io.WriteString(p.in, opal+"\n"+opal+"\n")) // of another kind, twice
	require.True(t, p.out.Scan())
	require.Equal(t, `{"error":{"code":-32600,"message":"a request with this id is open"},"id":7,"jsonrpc":"2.0"}`, p.out.Text())
	answer <- "three"
	require.Equal(t, "three", p.next().Answers[0].Answer)
	require.Equal(t, "Why?", <-asked)
	answer <- "because"
	require.True(t, p.out.Scan())
	require.Equal(t, `{"jsonrpc":"2.0","id":7,"result":{"answer":"because"}}`, p.out.Text())
	require.NoError(t, p.in.Close())
	require.NoError(t, <-p.done)
}

// One request is asked at a time, in order.
func TestQueue(t *testing.T) {
	turn := make(chan string)
	var asking int
	s := &pipe.Server{Resolver: adapter.Func(func(_ context.Context, c convert.Call) ([]convert.Answer, error) {
		asking++
		defer func() { asking-- }()
		text := <-turn
		if asking != 1 {
			t.Error("two at once")
		}
		return answered(c.Questions[0].Text + text)
	})}
	p := serve(t.Context(), t, s)
	p.ask("b", "first")
	p.ask("c", "second")
	turn <- "!"
	r := p.next()
	require.Equal(t, "b", r.RequestID)
	require.Equal(t, "first!", r.Answers[0].Answer)
	turn <- "?"
	r = p.next()
	require.Equal(t, "c", r.RequestID)
	require.Equal(t, "second?", r.Answers[0].Answer)
	require.NoError(t, p.in.Close())
	require.NoError(t, <-p.done)
}

// What is answered elsewhere does not hold up the others, and is handed over when
// its response was written.
func TestSideBySide(t *testing.T) {
	late := make(chan string)
	delivered := make(chan error, 2)
	s := &pipe.Server{Resolver: poster{func(_ context.Context, c convert.Call) ([]convert.Answer, error) {
		if c.Questions[0].Text == "later" {
			return answered(<-late)
		}
		return answered("now")
	}, delivered}}
	p := serve(t.Context(), t, s)
	p.ask("a", "later")
	p.ask("b", "first")
	require.Equal(t, "b", p.next().RequestID)
	require.NoError(t, <-delivered)
	late <- "done"
	require.Equal(t, "a", p.next().RequestID)
	require.NoError(t, <-delivered)
	require.NoError(t, p.in.Close())
	require.NoError(t, <-p.done)
}

// The end of the input withdraws what is open, in every state, and delivers
// what has an answer, or the user's no, all the same.
func TestEndOfInput(t *testing.T) {
	delivered := make(chan error, 4)
	asked := make(chan struct{}, 4)
	s := &pipe.Server{Resolver: poster{func(ctx context.Context, c convert.Call) ([]convert.Answer, error) {
		asked <- struct{}{}
		<-ctx.Done()
		switch c.Questions[0].Text {
		case "known":
			return answered("yes")
		case "dismissed":
			return nil, convert.ErrCancelled
		}
		require.ErrorIs(t, context.Cause(ctx), convert.ErrWithdrawn)
		return nil, adapter.Withdrawn(ctx).Err()
	}, delivered}}
	p := serve(t.Context(), t, s)
	p.ask("a", "open")
	p.ask("b", "known")
	p.ask("c", "dismissed")
	for range 3 {
		<-asked
	}
	require.NoError(t, p.in.Close())
	got := map[string]response{}
	for range 3 {
		r := p.next()
		got[r.RequestID] = r
	}
	require.Equal(t, "withdrawn: the input ended before the question was answered", got["a"].Error)
	require.True(t, got["b"].Answered)
	require.Empty(t, got["c"].Error)
	require.NoError(t, <-p.done)
	require.Len(t, delivered, 2, "what is withdrawn is not handed over")
}

func TestContextEnds(t *testing.T) {
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &pipe.Server{Resolver: adapter.Func(func(ctx context.Context, _ convert.Call) ([]convert.Answer, error) {
		cancel(cause)
		<-ctx.Done()
		return nil, adapter.Withdrawn(ctx).Err()
	})}
	p := serve(ctx, t, s)
	p.ask("a", "open")
	require.Equal(t, "withdrawn: interrupted", p.next().Error)
	require.ErrorIs(t, <-p.done, cause)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// An answer that could not be written was not delivered.
func TestNobodyReads(t *testing.T) {
	delivered := make(chan error, 1)
	s := &pipe.Server{Resolver: poster{func(context.Context, convert.Call) ([]convert.Answer, error) { return answered("x") }, delivered}}
	in, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, pi+"\n") }()
	require.ErrorIs(t, s.Serve(t.Context(), in, broken{}), io.ErrClosedPipe)
	require.ErrorIs(t, <-delivered, io.ErrClosedPipe)
	in.Close()
}

// takenAway is answered, and then there is nothing to hand over.
type takenAway struct{ posted }

func (takenAway) Deliver(func() error) error { return convert.ErrCancelled }

type taker struct{ poster }

func (p taker) Post(ctx context.Context, c convert.Call) adapter.Asking {
	return takenAway{posted{ctx, c, p.poster}}
}

// Every request gets a response, also if the answer is gone when it is handed over.
func TestNothingToHandOver(t *testing.T) {
	var out bytes.Buffer
	s := &pipe.Server{Resolver: taker{poster{Func: func(context.Context, convert.Call) ([]convert.Answer, error) { return answered("x") }}}}
	require.NoError(t, s.Serve(t.Context(), strings.NewReader(pi), &out))
	require.Equal(t, `{"type":"ask_user_response","requestId":"r1","answered":false,"answers":[],"cancelled":true}`+"\n", out.String())
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(pi + "\n" + opal))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1e400,"method":"client/ask_user","params":{"question":"a?"}}`))
	f.Add([]byte(`{"type":"ask_user_request","requestId":{},"questions":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		s := &pipe.Server{Resolver: echo, Report: func(p string) {
			if strings.Contains(p, "\n") {
				t.Errorf("a report of several lines: %q", p)
			}
		}}
		require.NoError(t, s.Serve(t.Context(), bytes.NewReader(data), &out))
		for line := range strings.Lines(out.String()) {
			require.True(t, json.Valid([]byte(line)), "%s", line)
		}
	})
}

// A server with nobody to ask says so at once, and does not fall over later.
func TestServerWithoutAResolver(t *testing.T) {
	err := new(pipe.Server).Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"client/ask_user","params":{"question":"Which?"}}`+"\n"), io.Discard)
	require.EqualError(t, err, "pipe: a Server needs a Resolver: nobody would answer")
}
