// Package backend is the ACP agent that an editor starts: the user's Claude Code
// behind the front of package editor.
//
//	err := backend.Serve(ctx, os.Stdin, os.Stdout, backend.Options{})
//
// Each session has a Claude Code process of its own. What the process writes
// becomes updates, in order and once; what it asks becomes permission requests,
// forms or messages.
//
// # Locks
//
// There are none. What goroutines share is published whole; what the CLI says is
// handled on a [lane.Lane], for which nobody else waits: nothing that package editor
// calls with its own lock held (Prompt, Kill, StopPart, Describe) does.
//
// # What an editor may say about a session
//
// session/new, load, resume and fork accept in _meta: systemPrompt (a text, or an
// object with append), disableBuiltInTools, additionalRoots, and under
// claudeCode.options model, effort, agent, agents, systemPrompt, tools,
// allowedTools, disallowedTools, additionalDirectories, env, mcpServers,
// strictMcpConfig, settings, settingSources, plugins, betas, fallbackModel,
// maxTurns, maxBudgetUsd and maxThinkingTokens. Other options are ignored.
//
// The mode that never asks for permission is offered only if [Options.Args] allow
// it, and neither the editor's settings nor its sub-agents can choose it. Anything
// else here that could let Claude Code act without asking is ignored without
// [Options.TrustEditor], and the user is told so in the first turn. That is:
// allowedTools; plugins; settingSources that leave out some of the user's settings;
// in settings (an object, its text, or a file) and agents, everything that is not
// known to only narrow or tune (hooks, permissions.allow and others); in env,
// everything but models, limits, language and the editor's own key. Folders and MCP
// servers are always accepted: ACP itself lets an editor add them.
//
// # Forms of MCP servers
//
// An editor with elicitation.form gets the server's schema as Claude Code passes it
// on (without pattern and other keywords that MCP does not have). Any other editor
// gets one question per field, with the default as an option, Skip where the field
// is not required, and Decline. A value that does not fit is asked for again; after
// the third the server gets a cancel. An address goes to an editor with
// elicitation.url, or is shown in full; acp-bridge never opens it. The server gets
// an accept only with values that fit its schema. Dismissing its form is a cancel,
// and the turn goes on.
//
// A form with a field for a secret (format: password, or a text field named like
// one) is shown as a form or not at all: in an editor without forms the server gets
// a cancel, and the user is told why. What is entered there reaches only the
// server.
//
// # What is spoken
//
// ACP version 1, as the schemas of @agentclientprotocol/sdk 2.4.0 have it. A test
// holds this table against the code; a client that knows a later version gets
// version 1, too.
//
//	answered   initialize authenticate logout session/new session/load session/resume
//	           session/list session/close session/delete session/prompt session/set_mode
//	           session/set_config_option
//	drafts     session/fork session/set_title session/status session/archive
//	           session/unarchive auth/status providers/list providers/set providers/disable
//	heeded     session/cancel $/cancel_request
//	sent       user_message_chunk agent_message_chunk agent_thought_chunk tool_call
//	           tool_call_update plan available_commands_update current_mode_update
//	           config_option_update session_info_update usage_update
//	declared   notice compaction_update compaction_summary_chunk plan_update
//	           subagent_update session_message auth/status_update
//	asked      session/request_permission elicitation/create fs/read_text_file
//	told       session/update elicitation/complete $/cancel_request
//	not        mcp/message plan_removed session_message_chunk fs/write_text_file
//	           terminal/create terminal/output terminal/kill terminal/release
//	           terminal/wait_for_exit
//
// What is declared is sent to a client with session.notices, session.compaction,
// plan or subagents in its capabilities. Of drafts, a client with plan or subagents
// is told in the response to initialize; it also gets a turn's usage with the
// response to its prompt, hears of a login that is missing or there again, has no
// archived sessions in a list that does not ask for them, and may send a systemPrompt
// with whatever opens a session. The archive is Claude Code's own: a prompt takes a
// session out of it. Providers are there with [Options.TrustEditor], for the sessions
// that are opened next: Claude Code reads where its model is when it starts.
//
// # Beside claude-agent-acp
//
// Text, thoughts, tool calls, diffs, plans, permissions, modes, models, effort,
// slash commands, sessions (list, load, resume, fork, delete, close), MCP servers,
// images, usage and titles work as in claude-agent-acp 0.99. These are the
// differences, according to its documents and to the same prompts run through both
// (2026-11-15, Claude Code 2.1.325, a scripted model); "here" is acp-bridge,
// "there" claude-agent-acp:
//
//   - Questions in editors without forms: asked here, switched off there.
//   - Forms of MCP servers: in every editor here, only in editors with forms there.
//   - Unsaved text in the editor: here the model is told about it after each read;
//     not there.
//   - The main agent as an option: here it can be chosen until the first prompt,
//     because Claude Code does not change it later; there it is accepted later, to
//     no effect.
//   - Effort and main agent of a loaded session: here as they were chosen; there
//     Claude Code's defaults.
//   - Steering a running turn: here with an ordinary prompt; there with a separate
//     method.
//   - A command's output while it runs: here from its third second on, when Claude
//     Code reports it, in a terminal if the editor has them; there when it is done.
//     Of a background command: here while a turn runs, and at the command's end;
//     there a note.
//   - Sub-agents as sessions of their own, for editors with subagents in their
//     capabilities (an ACP draft): both, also when a session is loaded. How a
//     background sub-agent ended is not reported here, unless it was stopped.
//     Without that capability their calls carry their parent's id
//     (_meta.claudeCode.parentToolUseId) in both.
//   - A background sub-agent: here the turn ends, and its calls follow; there the
//     turn waits for it.
//   - Tokens of a turn: here in usage_update, and in the prompt's response for
//     clients that know drafts; there in both for all.
//   - Rename, status, auth/status, archive, providers: here by ACP's drafts, with
//     Claude Code's own archive; there by its own methods, with the archive in the
//     title, and providers for everybody. Version 2: only there.
//   - JetBrains' AIR extensions, as described in its docs/air-extensions.md: here
//     those about looks (commandTitle, subagent, skill, is_mcp_tool_call, the
//     permission's title, the kind of a mode; own words beside a form's options
//     under the older name of that field), and with their capabilities
//     recommendedValue, planFile, sessionFailure and agentFileChangeReport (files of
//     file tools, including sub-agents', as they happen; there from Claude Code's
//     checkpoints). Only there: diffPatch, goal, asyncTasks, the session index, fork
//     points, quota, and sub-agents as sessions in AIR's own earlier draft.
//   - Login from the editor: both, in a terminal, if the editor opens one.
package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// Options say how to serve an editor. The zero value finds Claude Code where
// it usually is.
type Options struct {
	// Claude is the CLI's executable; empty looks for it, see [claude.Find].
	Claude string
	// Args are passed to the CLI behind the agent's own arguments.
	Args []string
	// Env is the CLI's environment; nil is that of this process.
	Env []string
	// First is the rung on which questions are asked first; the zero value
	// goes by what the client has.
	First adapter.Rung
	// RefuseSubAgents tells sub-agents that they cannot ask questions. Otherwise
	// they are asked, and say whose they are.
	RefuseSubAgents bool
	// TrustEditor lets options that the editor sends in _meta raise what Claude Code
	// does without asking: tools that it allows, hooks, plugins, an environment.
	// Otherwise they are left out, and the user is told. Choosing the mode that asks
	// for nothing must be allowed in Args as well.
	TrustEditor bool
	// Guard distrusts answers that come faster than a person can read.
	Guard bool
	// TrustPrompts is that of [editor.Options].
	TrustPrompts bool
	// Now is the clock by which answers are too fast; nil is [time.Now].
	Now func() time.Time
	// CancelGrace is how long a cancelled turn may take to end before its
	// process is ended; 0 stands for 5 seconds.
	CancelGrace time.Duration
	// Desk gets everything that is asked; nil is one of its own.
	Desk *desk.Desk
	// Meanwhile finds a question that was settled elsewhere while no process
	// asked it; nil knows of none. Its outcome is there without waiting, and is
	// delivered to Claude Code. It is called before a question is asked again.
	Meanwhile func(ctx context.Context, c convert.Call) Settled
	// Announce is that of [editor.Options].
	Announce func(tell func(warn bool, title string))
	// Login is how a user logs in in a terminal of the editor; nil leaves it to
	// the user.
	Login *Login
	// Version is what initialize reports.
	Version string
	// Logger gets what goes wrong; nil discards it.
	Logger *slog.Logger
	// Trace sees every line of both wires: "editor", or the session's id for
	// what is said to its Claude Code.
	Trace func(wire string, dir ndjson.Direction, text []byte)
}

// Serve speaks ACP until the editor closes its end or ctx ends, then ends all
// sessions and their processes. It returns nil when the editor left.
func Serve(ctx context.Context, r io.Reader, w io.Writer, opts Options) error {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	o := editor.Options{
		First: opts.First, Guard: opts.Guard, TrustPrompts: opts.TrustPrompts, Now: opts.Now, CancelGrace: opts.CancelGrace,
		Desk: opts.Desk, Logger: opts.Logger, Announce: opts.Announce,
	}
	b := &backend{opts: opts, log: opts.Logger}
	o.Trace = b.trace("editor")
	err := editor.Serve(ctx, r, w, b, &o)
	late := time.After(flushTime)
	b.reasks.Range(func(_, r any) bool { // what was given to an agent is noted
		select {
		case <-r.(*reasking).ended:
			return true
		case <-late:
			return false
		}
	})
	return err
}

// backend is Claude Code behind the front.
type backend struct {
	opts Options
	log  *slog.Logger

	client   atomic.Pointer[client]          // as initialize told
	provider atomic.Pointer[provider]        // that the editor chose; nil for the user's own
	authTold atomic.Pointer[string]          // what the editor knows of the login
	notify   func(method string, params any) // to the editor; set before anything else is called
	swept    atomic.Bool                     // old notes were removed
	reasks   sync.Map                        // by session, the *reasking that runs
}

// client is what Claude Code needs to know of the editor.
type client struct {
	reads    bool   // its buffers out
	toggles  bool   // it has options that are on or off
	opensURL bool   // it sends its user to addresses
	terminal string // see terminalKey
	parts    bool   // it has sub-agents as sessions
	air      bool   // it is JetBrains' AIR
	airTakes map[string]bool

	compaction bool // it shows how the conversation is compacted
	plans      bool // it has plans as Markdown
	drafts     bool // see knowsDrafts
}

func (a *backend) trace(wire string) ndjson.Trace {
	if a.opts.Trace == nil {
		return nil
	}
	return func(dir ndjson.Direction, text []byte) { a.opts.Trace(wire, dir, text) }
}

func (a *backend) editor() client {
	if c := a.client.Load(); c != nil {
		return *c
	}
	return client{}
}

// Open implements [editor.Backend].
func (a *backend) Open(ctx context.Context, o editor.Opening) (editor.Conversation, any, error) {
	open := a.begin
	if o.Method == acp.AgentMethodSessionLoad || o.Method == acp.AgentMethodSessionResume {
		open = a.reopen
	}
	s, response, err := open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return s, response, nil
}

// Request answers what is not about an open session. It implements
// [editor.Backend].
func (a *backend) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case acp.AgentMethodAuthenticate:
		return handle(params, func(r acp.AuthenticateRequest) (any, error) { return a.authenticate(ctx, r) })
	case acp.AgentMethodLogout:
		return a.logout(ctx)
	case acp.AgentMethodSessionList:
		return handle(params, func(r acp.ListSessionsRequest) (any, error) { return a.listSessions(ctx, r, params) })
	case acp.AgentMethodSessionDelete:
		return handle(params, func(r acp.UnstableDeleteSessionRequest) (any, error) {
			return a.deleteSession(r.SessionId, "", nil)
		})
	case editor.MethodArchive, methodUnarchive:
		return handle(params, func(r acp.CloseSessionRequest) (any, error) {
			return a.archive(r.SessionId, method == editor.MethodArchive, "", nil)
		})
	case methodAuthStatus:
		return a.authStatus(ctx)
	case methodProviders, methodSetProvider, methodDisableProvider:
		return a.providers(method, params)
	case methodStatus:
		return handle(params, func(r acp.CloseSessionRequest) (any, error) { return a.sessionStatus(r.SessionId) })
	case methodSetTitle:
		return handle(params, func(r acp.CloseSessionRequest) (any, error) { return a.setTitle(r.SessionId, params) })
	case acp.AgentMethodSessionSetMode, acp.AgentMethodSessionSetConfigOption, acp.AgentMethodSessionClose:
		return handle(params, func(r struct {
			SessionID string `json:"sessionId"`
		}) (any, error) {
			return nil, conn.NoSession(r.SessionID)
		})
	}
	return nil, acp.NewMethodNotFound(method)
}

// Request answers what is about the session. It implements [editor.Conversation].
func (s *conversation) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case acp.AgentMethodSessionDelete:
		return s.agent.deleteSession(acp.SessionId(s.id), s.cwd, s.env)
	case editor.MethodArchive, methodUnarchive:
		return s.agent.archive(acp.SessionId(s.id), method == editor.MethodArchive, s.cwd, s.env)
	case acp.AgentMethodSessionSetMode:
		return handle(params, func(r acp.SetSessionModeRequest) (any, error) { return s.setMode(ctx, r) })
	case acp.AgentMethodSessionSetConfigOption:
		return s.requestOption(ctx, params)
	case WaitMethod:
		return s.waited(ctx)
	case methodStatus:
		return object{"status": "open"}, nil
	case methodSetTitle:
		return s.setTitle(ctx, params)
	}
	return s.agent.Request(ctx, method, params)
}

// handle decodes parameters and calls the method's function.
func handle[T any](params json.RawMessage, f func(T) (any, error)) (any, error) {
	request, err := conn.Decode[T](params)
	if err != nil {
		return nil, err
	}
	return f(request)
}

// cliEnv is the environment of the CLI with what a session adds to it. The CLI
// is asked to say when it is idle, and our own hook is told that its questions are
// asked here: they would be at a hub twice.
func (a *backend) cliEnv(more []string) []string {
	env := a.opts.Env
	if env == nil {
		env = os.Environ()
	}
	return append(a.provider.Load().in(slices.Concat(env, more)), "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "ACP_BRIDGE_ASKS=1")
}

// claudePath finds the CLI, in the environment that it gets.
func (a *backend) claudePath() (string, error) {
	return claude.Find(a.opts.Claude, a.environ(nil))
}
