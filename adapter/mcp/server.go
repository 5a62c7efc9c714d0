// Package mcp is a question tool for agents that have none: an MCP server with
// one tool, whose input is that of Claude Code's AskUserQuestion.
//
//	s := mcp.New(mcp.Options{Resolver: resolver})
//	defer s.Close()
//	err := s.Serve(ctx, os.Stdin, os.Stdout)   // over stdio, or
//	http.Handle("/mcp", s.Handler())           // as streamable HTTP
//
// A call waits for the user, and says now and then that it does. Agents give up
// on a tool after a while, each after its own: before that the call ends with a
// ticket, the question stays open, and a call with the ticket waits on. An answer
// that came meanwhile is there for it.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

const (
	// ServerName is how the server calls itself.
	ServerName = "acp-bridge"
	// ToolName is that of its tool. Some agents hide tools with names like those
	// of their own, ask_user among them.
	ToolName = "ask_the_user"
)

// DefaultLimit is how long a call waits if nothing is known of the agent. The
// shortest time after which one was seen to give up is a minute.
const DefaultLimit = 50 * time.Second

// progressEvery is how often a call says that it waits. Some agents wait on as
// long as they hear that.
const progressEvery = 5 * time.Second

// instructions say when to use the tool.
const instructions = `Use the tool ` + ToolName + ` when your next step depends on a preference or a decision of the user that neither the request nor the code settles. Do not put such a question into your text and end your turn: the tool shows it with its options and waits for the answer. Do not use it for what you can find out yourself, or to ask for permission.`

// Options say who is asked, and how long.
type Options struct {
	// Resolver asks the user. It may be nil if Elicit is set: then clients
	// without elicitation get an error. The model gets the outcome of an
	// [adapter.Poster] by its Deliver, and is told where the user can answer.
	Resolver adapter.Resolver
	// Elicit asks with the client's own elicitation, if it has that.
	Elicit bool
	// Alongside asks the Resolver also while the client shows a form. The first
	// answer wins.
	Alongside bool
	// Session is where the questions belong, for the Resolver. Without one each
	// connection has its own, by a name that is minted: MCP names none.
	Session string
	// Limit is how long a call waits before it returns a ticket; 0 stands for
	// [DefaultLimit], a negative number for no limit.
	Limit time.Duration
	// Version is the server's.
	Version string
	// Logger gets what goes wrong; nil discards it.
	Logger *slog.Logger
}

// Server is the MCP server. Its methods may be called from any goroutine.
type Server struct {
	opts Options
	log  *slog.Logger
	sdk  *sdk.Server

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc

	http    atomic.Bool    // sessions have no stream whose end ends them
	running sync.WaitGroup // questions

	mu      sync.Mutex // only step takes it
	tickets tickets
}

// New makes a server. Close must be called.
func New(o Options) *Server {
	s := &Server{opts: o, log: o.Logger, tickets: tickets{open: map[string]*ticket{}, clients: map[connection]string{}}}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	s.opts.Limit = cmp.Or(s.opts.Limit, DefaultLimit)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	tool := adapter.NewToolNamed(ToolName, s.opts.Resolver)
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: ServerName, Title: "Questions to the user", Version: o.Version},
		&sdk.ServerOptions{Instructions: instructions, Capabilities: &sdk.ServerCapabilities{}})
	s.sdk.AddReceivingMiddleware(agreed)
	s.sdk.AddTool(&sdk.Tool{
		Name: ToolName, Title: "Ask the user", Description: tool.Description + ticketDescription,
		InputSchema: json.RawMessage(bytes.Replace(tool.Schema, []byte(`"properties": {`), []byte(`"properties": {`+ticketSchema), 1)),
		// It changes nothing, and needs no permission: the user sees the
		// question anyhow.
		Annotations: &sdk.ToolAnnotations{Title: "Ask the user", ReadOnlyHint: true},
		// Claude Code keeps tools out of sight until they are searched for.
		Meta: sdk.Meta{"anthropic/alwaysLoad": true},
	}, s.call)
	return s
}

// Serve speaks MCP, a line a message, until in ends or ctx does, which closes the server.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	defer context.AfterFunc(ctx, s.Close)() // the SDK waits for the calls that are open
	return s.sdk.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: writer{out}})
}

type writer struct{ io.Writer }

func (writer) Close() error { return nil }

// Handler serves MCP as streamable HTTP. Sessions belong to the handler.
func (s *Server) Handler() http.Handler {
	s.http.Store(true)
	// A connection may break while the user thinks. A client that comes back to its
	// stream gets what was said there meanwhile.
	said := sdk.NewMemoryEventStore(nil)
	sessions := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{EventStore: said})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		// The SDK answers this, but then speaks no version of MCP without sessions
		// here. Clients that do so go on with initialize.
		if m := gjson.ParseBytes(body); m.Get("method").Str == "server/discover" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Method not found"}}`, m.Get("id").Raw, ndjson.NoMethod)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		sessions.ServeHTTP(w, r)
	})
}

// maxBody is the largest request that is taken; questions are far smaller.
const maxBody = 4 << 20

// Close withdraws what is open and waits until that is done. Sessions over HTTP
// end with it: clients do not always say that theirs is over.
func (s *Server) Close() {
	s.step(func(*tickets) { s.cancel(errClosed) }) // from here on nothing is asked
	s.running.Wait()
	if !s.http.Load() {
		return
	}
	for session := range s.sdk.Sessions() {
		if err := session.Close(); err != nil {
			s.log.Debug("a session was not closed", "err", err)
		}
	}
}
