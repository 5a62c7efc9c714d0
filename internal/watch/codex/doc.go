// Package codex watches Codex in terminals, by the control socket that a plain codex
// opens: one for all of a user's sessions, and nothing to install. A second client is
// told of the same requests as the terminal; whoever replies first has answered, and
// serverRequest/resolved tells the other.
//
// The protocol is experimental: what is not one of [Known] is left alone.
//
// A thread is followed while it works, and left when it is idle: a thread that somebody
// follows is never unloaded.
package codex
