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
// that of package session: an event goes in, what is to be done comes out.
// Whoever brings an event applies it, one at a time: a goroutine of its own for
// that would cost every question four switches and do nothing else.
package editor
