package proxy

import (
	"log/slog"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// Options say how the editor is asked. The zero value goes by what the editor
// says of itself.
type Options struct {
	// First is the rung to begin with; see [adapter.Options].
	First adapter.Rung
	// Guard distrusts answers that come faster than a person can read.
	Guard bool
	// TrustPrompts takes any prompt for the answer to a question in the
	// conversation: a test knows when it sends one. Otherwise it does not count if
	// it may have been on its way before the question was there.
	TrustPrompts bool
	// Now is the guard's clock; nil is [time.Now].
	Now func() time.Time
	// Agent is what is known of the agent before it says its name; the zero value
	// is an agent that nobody knows.
	Agent Profile
	// CancelGrace is how long the agent may take to end what was cancelled before
	// the editor's prompt ends without it; 0 stands for 10 s.
	CancelGrace time.Duration
	// Desk is where everything is posted that is asked; nil is one of the proxy's
	// own.
	Desk *desk.Desk
	// Tool says who gets a question tool over MCP; the zero value are agents that
	// have none of their own.
	Tool ToolUse
	// RefuseSubAgents refuses questions of sub-agents, where the agent says of a
	// tool call that one works in it. Otherwise the user is asked.
	RefuseSubAgents bool
	// Relay is a command that passes MCP on between its standard input and output
	// and the question tool, as [RelayTool] does: for agents that do not take MCP
	// servers over HTTP. Without one they get the tool's address all the same.
	Relay []string
	// Version is that of the program, for servers that it runs.
	Version string
	// Logger gets what goes wrong; nil discards it. Content is never logged.
	Logger *slog.Logger
	// Trace sees every line of both wires, "editor" and "agent". It must neither
	// block nor keep the text.
	Trace func(wire string, dir ndjson.Direction, text []byte)
}

// ToolUse says which agents get a question tool over MCP.
type ToolUse int

const (
	// ToolWhereNeeded is for agents that are known to have none.
	ToolWhereNeeded ToolUse = iota
	// ToolAlways is for any agent.
	ToolAlways
	// ToolNever is for none. OpenCode 2 then keeps its own, which shows nothing.
	ToolNever
)

// traceOut traces what is sent on a wire, nil if nobody wants to see it.
func (o Options) traceOut(wire string) func([]byte) {
	if o.Trace == nil {
		return nil
	}
	return func(line []byte) { o.Trace(wire, ndjson.Out, line) }
}
