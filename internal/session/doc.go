// Package session is what a session knows of its prompts, its agent's turn and
// what the agent asks: one [State], which changes in one function. [State.Step]
// takes an event and returns what is to be done; it does nothing itself, so that
// whoever drives it may do so over any wire, and every order of events can be
// walked through in a test.
//
// The phase says what the agent is doing:
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
// In finishing, what was asked in the turn is taken back before its prompts end. An
// agent that does not see an interrupt in time is ended, too, whatever became of its
// turn.
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
// An agent that does not wait for it any more, in a session that was opened again, is
// told by that prompt: it goes to the agent, with the answer in it.
//
// An editor that opens the session anew shows it no more: it is hidden until it is
// shown or parked again, and a prompt that comes before that takes its place.
//
// Whatever ends otherwise is withdrawn first. After a cancel nothing is shown or
// parked, and no prompt goes to the agent before it knows what was withdrawn.
package session
