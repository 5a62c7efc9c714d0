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
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/seen"
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
	session := acptest.Must(client.Connect(context.Background(), &sdk.IOTransport{Reader: outR, Writer: inW},
		&sdk.ClientSessionOptions{ProtocolVersion: version}))
	t.Cleanup(func() {
		session.Close()
		s.Close()
		inW.Close()
		outW.Close()
		<-served
	})
	return session
}

// overHTTP connects a client to a server over HTTP.
func overHTTP(t *testing.T, s *mcp.Server, o *sdk.ClientOptions, through func(*httptest.Server) *http.Client) (*sdk.ClientSession, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	session := acptest.Must(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).
		Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: through(server)}, nil))
	t.Cleanup(func() { session.Close(); s.Close(); server.Close() })
	return session, server
}

// called is what comes of a call.
type called struct {
	text    string
	isError bool
	err     error
}

// calls calls the tool in the background.
func calls(ctx context.Context, s *sdk.ClientSession, arguments string) <-chan called {
	done := make(chan called, 1)
	go func() {
		r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: mcp.ToolName, Arguments: json.RawMessage(arguments)})
		if err != nil {
			done <- called{err: err}
			return
		}
		done <- called{r.Content[0].(*sdk.TextContent).Text, r.IsError, nil}
	}()
	return done
}

func call(t *testing.T, s *sdk.ClientSession, arguments string) (text string, isError bool) {
	t.Helper()
	got := <-calls(t.Context(), s, arguments)
	require.NoError(t, got.err)
	return got.text, got.isError
}

func TestTool(t *testing.T) {
	a := newAsks()
	c := connect(t, mcp.New(mcp.Options{Resolver: a, Session: "s1", Version: "7"}), nil)
	require.Equal(t, mcp.ServerName, c.InitializeResult().ServerInfo.Name)
	require.Contains(t, c.InitializeResult().Instructions, mcp.ToolName)
	tools := acptest.Must(c.ListTools(t.Context(), nil))
	require.Len(t, tools.Tools, 1)
	tool := tools.Tools[0]
	require.Equal(t, mcp.ToolName, tool.Name)
	require.True(t, tool.Annotations.ReadOnlyHint)
	require.Equal(t, true, tool.Meta["anthropic/alwaysLoad"])
	schema := acptest.Must(json.Marshal(tool.InputSchema))
	require.Contains(t, string(schema), `"ticket"`)
	require.Contains(t, string(schema), `"required":["questions"]`)

	go func() { a.answer <- convert.Answer{Selected: []string{"SQLite"}} }()
	text, isError := call(t, c, questions)
	require.False(t, isError)
	require.Contains(t, text, "SQLite")
	asked := <-a.calls
	require.Equal(t, "s1", asked.Session)
	require.Equal(t, "Which database?", asked.Questions[0].Text)
	for _, bad := range []string{`{"questions":[]}`, `{"questions":[],"ticket":"none"}`} {
		text, isError = call(t, c, bad)
		require.True(t, isError)
		require.NotEmpty(t, text)
	}
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
		text, isError := call(t, connect(t, mcp.New(mcp.Options{Resolver: resolver}), nil), questions)
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
		acptest.Must(c.CallTool(t.Context(), params))
		require.Len(t, progress, 2)
		require.Contains(t, <-progress, "waiting")
	})
}

// What one client's user answers is no answer to another client's question. A client of the
// newest version asks for what the server can do, and then takes an older one.
func TestHTTPSessionsAreApart(t *testing.T) {
	a := newAsks()
	s := mcp.New(mcp.Options{Resolver: a, Limit: -1})
	var answers []<-chan called
	for range 2 {
		session, _ := overHTTP(t, s, nil, (*httptest.Server).Client)
		answers = append(answers, calls(t.Context(), session, questions))
		<-a.calls
	}
	a.answer <- convert.Answer{Selected: []string{"SQLite"}}
	a.answer <- convert.Answer{Selected: []string{"PostgreSQL"}}
	one, other := <-answers[0], <-answers[1]
	require.NotEqual(t, one.text, other.text)
	require.Contains(t, one.text+other.text, "SQLite")
}

// Nobody dismissed what ends with the server.
func TestClosedIsNotDismissed(t *testing.T) {
	a := newAsks()
	s := mcp.New(mcp.Options{Resolver: a, Limit: -1})
	c := connect(t, s, nil)
	got := calls(context.Background(), c, questions)
	<-a.calls
	s.Close()
	require.Error(t, <-a.ended)
	require.Contains(t, (<-got).text, "could not be asked")
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
	got := calls(t.Context(), c, questions)
	<-shown
	<-a.calls
	a.fail <- io.ErrUnexpectedEOF
	reply <- &sdk.ElicitResult{Action: "accept", Content: map[string]any{"question_0": "SQLite"}}
	require.Contains(t, (<-got).text, "SQLite")
	ctx, cancel := context.WithCancel(t.Context())
	got = calls(ctx, c, questions)
	<-shown
	<-a.calls
	cancel() // no question is left behind there
	require.Error(t, (<-got).err)
	require.Error(t, <-a.ended)
}

// A form that is open holds up no end, over HTTP either.
func TestCloseWithAForm(t *testing.T) {
	s := mcp.New(mcp.Options{Elicit: true})
	shown, done := make(chan bool), make(chan bool)
	session, _ := overHTTP(t, s, &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		shown <- true
		<-done
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}}, (*httptest.Server).Client)
	calls(t.Context(), session, questions)
	<-shown
	s.Close()
	close(done)
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
				synctest.Test(t, func(t *testing.T) {
					var shown *sdk.ElicitParams
					session := connectAs(t, mcp.New(mcp.Options{Elicit: true, Alongside: true}), &sdk.ClientOptions{
						ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
							shown = r.Params
							time.Sleep(seen.Strict) // a person reads it
							return c.reply, nil
						},
					}, version)
					text, _ := call(t, session, questions)
					require.Contains(t, text, c.want)
					require.Equal(t, "Which database?", shown.Message)
					schema := acptest.Must(json.Marshal(shown.RequestedSchema))
					require.Contains(t, string(schema), `"SQLite - small"`)
					require.NotContains(t, string(schema), "_meta")
				})
			})
		}
	}
	t.Run("without", func(t *testing.T) {
		a := newAsks()
		session := connect(t, mcp.New(mcp.Options{Resolver: a, Elicit: true}), nil)
		go func() { a.answer <- convert.Answer{Selected: []string{"SQLite"}} }()
		text, _ := call(t, session, questions)
		require.Contains(t, text, "SQLite")
	})
}

// A client that is killed does not end its session; the server does.
func TestHTTPClientGone(t *testing.T) {
	a := newAsks()
	s := mcp.New(mcp.Options{Resolver: a})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	ctx, kill := context.WithCancel(t.Context())
	send := func(session, body string) (*http.Response, error) {
		r := acptest.Must(http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		return server.Client().Do(r)
	}
	post := func(session, body string) *http.Response { return acptest.Must(send(session, body)) }
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
