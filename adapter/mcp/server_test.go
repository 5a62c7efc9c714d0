package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const questions = `{"questions":[{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL","description":"big"},{"label":"SQLite","description":"small"}]}]}`

// asks is a resolver whose user answers when told to.
type asks struct {
	calls  chan convert.Call
	answer chan convert.Answer
	fail   chan error
	ended  chan error // why a question ended that was not answered
}

func newAsks() *asks {
	return &asks{calls: make(chan convert.Call, 10), answer: make(chan convert.Answer), fail: make(chan error), ended: make(chan error, 10)}
}

func (a *asks) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	a.calls <- c
	return adapter.Func(func(ctx context.Context, c convert.Call) ([]convert.Answer, error) {
		select {
		case answer := <-a.answer:
			return []convert.Answer{answer}, nil
		case err := <-a.fail:
			return nil, err
		case <-ctx.Done():
			a.ended <- ctx.Err()
			if cause := context.Cause(ctx); cause != context.Canceled {
				return nil, cause
			}
			return nil, convert.ErrCancelled
		}
	}).Ask(ctx, c)
}

// connect connects a client to a server.
func connect(t *testing.T, s *mcp.Server, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return connectAs(t, s, o, "")
}

func connectAs(t *testing.T, s *mcp.Server, o *sdk.ClientOptions, version string) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), inR, outW) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(context.Background(), &sdk.IOTransport{Reader: outR, Writer: inW},
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() {
		session.Close()
		s.Close()
		inW.Close()
		outW.Close()
		<-served
	})
	return session
}

func call(ctx context.Context, s *sdk.ClientSession, arguments string) (string, bool, error) {
	r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: mcp.ToolName, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "", false, err
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError, nil
}

func TestTool(t *testing.T) {
	a := newAsks()
	s := mcp.New(mcp.Options{Resolver: a, Session: "s1", Version: "7"})
	c := connect(t, s, nil)
	require.Equal(t, mcp.ServerName, c.InitializeResult().ServerInfo.Name)
	require.Contains(t, c.InitializeResult().Instructions, mcp.ToolName)
	tools, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 1)
	tool := tools.Tools[0]
	require.Equal(t, mcp.ToolName, tool.Name)
	require.True(t, tool.Annotations.ReadOnlyHint)
	require.Equal(t, true, tool.Meta["anthropic/alwaysLoad"])
	schema, err := json.Marshal(tool.InputSchema)
	require.NoError(t, err)
	require.Contains(t, string(schema), `"ticket"`)
	require.Contains(t, string(schema), `"required":["questions"]`)

	go func() { a.answer <- convert.Answer{Selected: []string{"SQLite"}} }()
	text, isError, err := call(t.Context(), c, questions)
	require.NoError(t, err)
	require.False(t, isError)
	require.Contains(t, text, "SQLite")
	asked := <-a.calls
	require.Equal(t, "s1", asked.Session)
	require.Equal(t, "Which database?", asked.Questions[0].Text)
}

func TestBadInput(t *testing.T) {
	c := connect(t, mcp.New(mcp.Options{Resolver: newAsks()}), nil)
	text, isError, err := call(t.Context(), c, `{"questions":[]}`)
	require.NoError(t, err)
	require.True(t, isError)
	require.NotEmpty(t, text)
	_, isError, err = call(t.Context(), c, `{"questions":[],"ticket":"none"}`)
	require.NoError(t, err)
	require.True(t, isError)
}

// A question that ends by itself was not dismissed by anybody.
func TestWithdrawnIsNotDismissed(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for want, resolver := range map[string]adapter.Resolver{
		"another question was cancelled": adapter.Func(func(context.Context, convert.Call) ([]convert.Answer, error) { return nil, life.WithAnother.Err() }),
		"The question was withdrawn":     withdraws{convert.Outcome{Status: convert.Withdrawn}}, // without a reason
		"the question was withdrawn":     adapter.Static{Err: convert.ErrWithdrawn},
		"context canceled":               adapter.Static{Err: ended.Err()},
	} {
		c := connect(t, mcp.New(mcp.Options{Resolver: resolver}), nil)
		text, isError, err := call(t.Context(), c, questions)
		require.NoError(t, err)
		require.True(t, isError)
		require.NotContains(t, text, "dismissed")
		require.Contains(t, text, want)
	}
}

type withdraws struct{ o convert.Outcome }

func (w withdraws) Ask(context.Context, convert.Call) (convert.Outcome, error) { return w.o, w.o.Err() }

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		progress := make(chan string, 10)
		c := connect(t, mcp.New(mcp.Options{Resolver: a, Limit: -1}), &sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Message },
		})
		go func() {
			time.Sleep(12 * time.Second)
			a.answer <- convert.Answer{Selected: []string{"SQLite"}}
		}()
		params := &sdk.CallToolParams{Name: mcp.ToolName, Arguments: json.RawMessage(questions)}
		params.SetProgressToken("t")
		_, err := c.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.Len(t, progress, 2)
		require.Contains(t, <-progress, "waiting")
	})
}

// An agent that cancels its call does not leave a question behind.
func TestCancelled(t *testing.T) {
	a := newAsks()
	c := connect(t, mcp.New(mcp.Options{Resolver: a}), nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := call(ctx, c, questions)
		done <- err
	}()
	<-a.calls
	cancel()
	require.Error(t, <-done)
	require.Error(t, <-a.ended)
}

// What one client's user answers is no answer to another client's question.
func TestHTTPSessionsAreApart(t *testing.T) {
	a := newAsks()
	s := mcp.New(mcp.Options{Resolver: a, Limit: -1})
	defer s.Close()
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	answers := make(chan string, 2)
	for range 2 {
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: server.Client()}, nil)
		require.NoError(t, err)
		defer session.Close()
		go func() {
			text, _, _ := call(t.Context(), session, questions)
			answers <- text
		}()
		<-a.calls
	}
	a.answer <- convert.Answer{Selected: []string{"SQLite"}}
	a.answer <- convert.Answer{Selected: []string{"PostgreSQL"}}
	require.NotEqual(t, <-answers, <-answers)
}

// Nobody dismissed what ends with the server.
func TestClosedIsNotDismissed(t *testing.T) {
	a := newAsks()
	s := mcp.New(mcp.Options{Resolver: a, Limit: -1})
	c := connect(t, s, nil)
	got := make(chan string, 1)
	go func() {
		text, _, _ := call(context.Background(), c, questions)
		got <- text
	}()
	<-a.calls
	s.Close()
	require.Error(t, <-a.ended)
	require.Contains(t, <-got, "could not be asked")
}

// What the client's user writes into a form counts, also if the question could
// not be asked elsewhere at the same time.
func TestElicitationAlongsideFailure(t *testing.T) {
	a := newAsks()
	shown := make(chan context.Context, 1)
	reply := make(chan *sdk.ElicitResult)
	c := connectAs(t, mcp.New(mcp.Options{Resolver: a, Elicit: true, Alongside: true, Limit: -1}), &sdk.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			shown <- ctx
			select {
			case r := <-reply:
				return r, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}, "2025-06-18")
	got := make(chan string, 1)
	go func() {
		text, _, _ := call(t.Context(), c, questions)
		got <- text
	}()
	<-shown
	<-a.calls
	a.fail <- io.ErrUnexpectedEOF
	reply <- &sdk.ElicitResult{Action: "accept", Content: map[string]any{"question_0": "SQLite"}}
	require.Contains(t, <-got, "SQLite")
}

// A form that is open holds up no end, over HTTP either.
func TestCloseWithAForm(t *testing.T) {
	s := mcp.New(mcp.Options{Elicit: true})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	shown, done := make(chan bool), make(chan bool)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		shown <- true
		<-done
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}})
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: server.Client()}, nil)
	require.NoError(t, err)
	go call(t.Context(), session, questions)
	<-shown
	s.Close()
	close(done)
	session.Close()
}

// The client's own form is the best way to ask, in either of MCP's ways.
func TestElicitation(t *testing.T) {
	for name, c := range map[string]struct {
		reply *sdk.ElicitResult
		want  string
	}{
		"pick":    {&sdk.ElicitResult{Action: "accept", Content: map[string]any{"question_0": "SQLite"}}, "SQLite"},
		"words":   {&sdk.ElicitResult{Action: "accept", Content: map[string]any{"question_0_custom": "DuckDB"}}, "DuckDB"},
		"decline": {&sdk.ElicitResult{Action: "decline"}, "declined"},
		"cancel":  {&sdk.ElicitResult{Action: "cancel"}, "dismissed"},
	} {
		for _, version := range []string{"2025-06-18", "2026-07-28"} {
			t.Run(name+" "+version, func(t *testing.T) {
				var shown *sdk.ElicitParams
				session := connectAs(t, mcp.New(mcp.Options{Resolver: newAsks(), Elicit: true}), &sdk.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						shown = r.Params
						return c.reply, nil
					},
				}, version)
				text, _, err := call(t.Context(), session, questions)
				require.NoError(t, err)
				require.Contains(t, text, c.want)
				require.Equal(t, "Which database?", shown.Message)
				schema, err := json.Marshal(shown.RequestedSchema)
				require.NoError(t, err)
				require.Contains(t, string(schema), `"SQLite - small"`)
				require.NotContains(t, string(schema), "_meta")
			})
		}
	}
	t.Run("without", func(t *testing.T) {
		a := newAsks()
		session := connect(t, mcp.New(mcp.Options{Resolver: a, Elicit: true}), nil)
		go func() { a.answer <- convert.Answer{Selected: []string{"SQLite"}} }()
		text, _, err := call(t.Context(), session, questions)
		require.NoError(t, err)
		require.Contains(t, text, "SQLite")
	})
}

func TestHTTP(t *testing.T) {
	a := newAsks()
	s := mcp.New(mcp.Options{Resolver: a})
	defer s.Close()
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	// A client of the newest version asks for what the server can do, and then
	// takes an older one.
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: server.Client()}, nil)
	require.NoError(t, err)
	defer session.Close()
	go func() { a.answer <- convert.Answer{Selected: []string{"SQLite"}} }()
	text, _, err := call(t.Context(), session, questions)
	require.NoError(t, err)
	require.Contains(t, text, "SQLite")
}

// A client that is killed does not end its session; the server does.
func TestHTTPClientGone(t *testing.T) {
	a := newAsks()
	s := mcp.New(mcp.Options{Resolver: a})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	ctx, kill := context.WithCancel(t.Context())
	send := func(session, body string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		return server.Client().Do(r)
	}
	post := func(session, body string) *http.Response {
		resp, err := send(session, body)
		require.NoError(t, err)
		return resp
	}
	resp := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	require.NoError(t, resp.Body.Close())
	id := resp.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, id)
	require.NoError(t, post(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).Body.Close())
	done := make(chan error, 1)
	go func() {
		_, err := send(id, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+mcp.ToolName+`","arguments":`+questions+`}}`)
		done <- err
	}()
	<-a.calls
	kill() // and no word more
	require.Error(t, <-done)
	s.Close()
	require.Error(t, <-a.ended)
}
