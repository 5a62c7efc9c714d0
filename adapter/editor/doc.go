// Package editor is the front that an ACP editor talks to. It knows editors and
// no agent: the agent is a [Backend].
//
//	err := editor.Serve(ctx, os.Stdin, os.Stdout, backend, nil)
//
// The front answers initialize with the backend, knows which editors need what,
// keeps prompts in order, asks the agent's questions on the best way that the
// editor has, and ends what is cancelled. The backend runs the agent, draws what
// it does, and says what it asks.
//
// # A session
//
// A session's prompts, its agent's turn and its agent's requests are one state,
// which changes in one function: step takes an event and returns what is to be
// done. The phase says what the agent is doing:
//
//	            prompt             started           prompt
//	  down ────────────► starting ─────────► idle ───────────► sent
//	   ▲                                     ▲  │                │
//	   │                                     │  │ begins         │ begins
//	   │ wrapped up               wrapped up │  │ by itself      ▼
//	   │                                     │  └──────────► running
//	finishing ◄── exits, from any phase      │                │    │
//	                                         │      turn ends │    │ cancelled
//	                                     finishing ◄──────────┘    ▼
//	                                         ▲                 cancelling
//	                                         │       turn ends │   │
//	                                         └─────────────────┘   │ takes too long
//	                                                               ▼
//	                                                            leaving ──► exits
//
// In finishing, what was asked in the turn is taken back before its prompts end.
// From every phase the session can be closed.
//
// A request of the agent is apart from that: it belongs to the session and may
// be open while no turn runs (a sub-agent's, or a form between turns). It is
// queued behind others, then shown by the editor or parked in the conversation.
// The next prompt answers a parked question:
//
//	queued ──► shown ──────────────┐
//	   │         │ the next way    ▼
//	   └──────► parking ─► parked ─► heard ─► settled ─► the agent is told
//
// Whatever ends otherwise is withdrawn first. After a cancel nothing is shown or
// parked, and no prompt goes to the agent before it knows what was withdrawn.
//
// Whoever brings an event applies it, one at a time: a goroutine of its own for
// that would cost every question four switches and do nothing else.
package editor
