// Package terminal asks an agent's questions in a terminal.
//
//	outcome, err := terminal.Resolver{}.Ask(ctx, call)
//	switch outcome.Status {
//	case convert.Answered:     // outcome.Answers has one answer per question
//	case convert.Cancelled:    // Esc, Ctrl+C
//	case convert.Withdrawn:    // the end of ctx
//	case convert.Disconnected: // the terminal hung up
//	}
//
// A [Resolver] draws a picker below the cursor, without the alternate screen,
// and leaves one line per question behind:
//
//	────────────────────────────────────────────────────────────
//	 Database Selection
//
//	  Which database should we use?
//
//	  > 1. PostgreSQL (Recommended)
//	       Battle-tested relational DB
//	    2. SQLite
//	       Lightweight, file-based
//	    3. Other (type your answer)
//
//	  ↑↓ navigate • 1-9 quick select • Enter to select • Esc to cancel
//	  n add a note • ? all keys
//	────────────────────────────────────────────────────────────
//
// On a dumb terminal, where the streams are no terminal, and with
// Resolver.Plain, it asks line by line instead.
//
// [Resolver.Choose] is the same picker for an ordinary choice, such as a
// permission request: no Other, no notes, and the result is the option's
// position.
package terminal
