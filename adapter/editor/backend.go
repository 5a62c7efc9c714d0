package editor

import (
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
)

// Backend is an agent behind the front. Its methods may be called from any
// goroutine. It may also have:
//
//   - OpensInOrder(): Open never blocks. Sessions are open before anything that the editor
//     sent behind is looked at, also if it did not wait for the response, or has gone.
//   - Tell(notify func(method string, params any)), for notifications of its own, about no
//     session. It is called before anything else. What notify is given waits while the
//     editor does not read.
type Backend interface {
	// Initialize answers initialize. Client is the request as far as it can be
	// read, raw as it came.
	Initialize(ctx context.Context, client acp.InitializeRequest, raw json.RawMessage) (any, error)
	// Open begins or goes on with a conversation, and returns it with the
	// response for the editor.
	Open(ctx context.Context, o Opening) (Conversation, any, error)
	// Request answers what the front does not: anything that is not about an
	// open session, or names none.
	Request(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// MethodArchive ends a session, like session/close, and puts it away. It is a draft.
const MethodArchive = "session/archive"

// Opening is a session/new, session/load, session/resume or session/fork.
type Opening struct {
	Method string
	Params json.RawMessage
	// Session makes the session once its id is known; Open calls it once. A
	// session of that id that is open is closed first, and its agent gone.
	Session func(id string) *Session
}

// Conversation is an agent's side of a session. Its process may end and be
// started again. Prompt and Kill must not block and must not call the [Session]. It may
// also have, without blocking:
//
//   - StopPart(id string) bool, if it shows sub-agents as sessions within its own, see
//     [Session.UpdateOf]: it ends the work of one, and reports whether there is one.
//   - Describe(it *desk.Item): says of what is posted, for people at the desk, who asks, in
//     which directory it works, and what else it knows.
type Conversation interface {
	// Start starts the agent's process, where the conversation was.
	Start(ctx context.Context) error
	// Read checks a prompt and makes of it what Prompt takes; nil is a prompt
	// with nothing in it.
	Read(r acp.PromptRequest) (content any, err error)
	// Prompt gives the agent a prompt under an id of its own. The error is
	// [ErrGone] if its process has ended; [Session.Exited] follows. It does not wait
	// for the agent, and does not call the Session.
	Prompt(id string, content any) error
	// Interrupt ends the agent's turn, and with all the prompts in its queue. It
	// returns when the agent has seen it. If ctx ends before that, the error is that of
	// ctx, and the agent is killed.
	Interrupt(ctx context.Context, all bool) error
	// Kill ends the process at once. It does not wait for that, and does not call the
	// Session.
	Kill()
	// Close ends the process and returns when it is gone and has been read. It is
	// called once, also if no process runs.
	Close(ctx context.Context) error
	// Request answers a request about the session. For session/delete and
	// [MethodArchive] the session has been closed.
	Request(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// TurnEnd is the end of a turn of the agent.
type TurnEnd struct {
	// Prompts are the ids of the prompts that the agent says it has answered.
	// Others that it was sent while it worked go on, in its queue.
	Prompts []string
	// All ends every prompt of the turn.
	All bool
	// Own means that the agent says that it began the turn by itself: prompts
	// that wait for another turn do not end.
	Own bool
	// Perhaps is set with Own by an agent that does not say which prompts a turn
	// took along: if it is idle next, see [Session.Idle], it was the turn of the
	// prompts that wait, too.
	Perhaps bool
	// Reason and Err say how the prompts end that were not cancelled.
	Reason acp.StopReason
	Err    error
	// Working says that something goes on in the background, and the agent comes back to
	// it with a turn of its own: it is not done.
	Working bool
	// Usage is what the turn took, for an editor that reads it; nil says nothing.
	Usage *acp.Usage
	// Meta is the _meta of the prompts' response, as JSON; empty has none.
	Meta string
	// Then is what the agent gets next, unless the turn was cancelled: the prompt in which
	// the turn ran does not end, and goes on with that. Nil is nothing.
	Then any
}
