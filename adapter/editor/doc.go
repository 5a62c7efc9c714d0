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
//
// # On the wire
//
// A question is a session/request_permission whose options are all allow_once and
// whose _meta.claudeCode.questionType is askUserQuestion. A field of an MCP
// server's form looks the same, but has _meta["acp-bridge"].mcpServer, and its
// Decline is reject_once. acp-bridge convert call.json prints the requests for a
// call; acp-bridge demo --wire=full shows them as they are sent.
//
// A live question's tool call has kind other, because some clients hide think or
// label it wrongly, and its text holds only the question: the options are the
// request's. acp-bridge render draws the call itself: kind think, with options.
//
// A plain reply is enough. With _meta on the reply (on the outcome or beside it)
// an editor can do more:
//
//	customText         the user's own words: the answer to __other__, a note
//	                   beside another option
//	selectedOptionIds  several options in one go, if _meta.claudeCode.multiSelect
//	                   is true
//	notes              a note beside a pick
//
// Without _meta, several picks can be sent as one optionId: the labels joined by
// commas, "Auth, Cache" or "Auth,Cache". If a label contains a comma, join with a
// comma and a space, and write a label that contains both as a JSON string.
//
// In clientCapabilities an editor can declare more:
//
//	_meta.askUserQuestion  true: it knows the above, so several picks need no
//	                       rounds
//	_meta.terminal_output  it shows commands in its own terminals:
//	                       _meta.terminal_info on the tool call, then
//	                       terminal_output (to be appended) and terminal_exit on
//	                       updates
//	subagents              (a draft) sub-agents are sessions of their own
//
// A session/prompt sent while a turn is running reaches the model at its next step
// and ends with that turn; if there is no next step, it becomes the next turn.
// Each prompt gets its own response, in order.
//
// A question in the conversation, and every first request where answers are
// guarded, is followed by the request _acp-bridge/ping, but for editors that are
// known to show it, and before the first prompt of one without a name. Answer it in order, like
// any method that you do not know: replies count from then on. If an editor does
// not answer it and its reply comes within 0.7 seconds, the question is asked
// again.
//
// session/new, load, resume and fork take the same _meta as claude-agent-acp:
// go doc ./internal/claude/backend lists it. Anything there that could let Claude Code act
// without asking (allowedTools, hooks, plugins and the like) is ignored, and the
// user is told so in the first turn; --trust-editor allows it. The mode that never
// asks for permission is offered only if the user's arguments after -- allow it.
//
// To check an editor, let it start acp-bridge check-client, an agent that asks
// every kind of question, checks what comes back, and ends with a table for an
// issue. testdata/golden in the source has cases with requests, replies and
// results; messages.txt there has what went over the wire when an editor that knows no
// more than this passed.
package editor
