// Package terminal asks an agent's questions in a terminal.
//
//	outcome, err := terminal.Ask(ctx, call, nil)
//	switch outcome.Status {
//	case convert.Answered:     // outcome.Answers has one answer per question
//	case convert.Cancelled:    // Esc, Ctrl+C, a signal, or the end of ctx
//	case convert.Disconnected: // the terminal hung up
//	}
//
// Ask draws a picker below the cursor, without the alternate screen, and
// leaves one line per question behind:
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
//	  n add a note
//	────────────────────────────────────────────────────────────
//
// On a dumb terminal, where the streams are no terminal, and with
// Options.Plain, it asks line by line instead.
//
// [Choose] is the same picker for an ordinary choice, such as a permission
// request: no Other, no notes, and the result is the option's position.
//
// A program that draws itself with Bubble Tea embeds the picker as a [Model]
// and is itself run by [Run], which closes what tea.Program leaves open:
//
//	picker := terminal.New(call, nil)
//	picker.Update(msg)                     // keys, pastes, sizes
//	view := picker.View()                  // its Cursor counts from its first line
//	if outcome, done := picker.Done(); done { … }
package terminal
