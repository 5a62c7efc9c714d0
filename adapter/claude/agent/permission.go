package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// questionTool is the tool by which Claude Code asks questions.
const questionTool = adapter.ClaudeToolName

// requests are the permission requests and questions of one process that wait
// for the editor. Each is asked in its own goroutine, so that the CLI is read
// on meanwhile.
type requests struct {
	s    *session
	all  sync.WaitGroup
	last chan struct{} // closed when the last request is over; of the reader alone

	mu   sync.Mutex
	proc *claude.Process
	open map[string]context.CancelCauseFunc
}

// use says whose requests these are.
func (r *requests) use(proc *claude.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proc = proc
}

// ask takes a can_use_tool request.
func (r *requests) ask(t claude.ToolRequest, p *painter) {
	fault := claude.Deny("The user could not be asked: there is a fault in acp-bridge", false)
	if t.ToolName == questionTool {
		call, err := convert.Parse(t.Input, convert.Limits{})
		if err != nil { // the model can correct it
			r.reply(t.RequestID, claude.Deny("The questions could not be asked: "+err.Error(), false))
			return
		}
		call.Session, call.ID, call.Name = r.s.id, t.ToolUseID, t.ToolName
		p.asked(t.ToolUseID)
		r.start(t.RequestID, t.AgentID, fault, func(ctx context.Context) any { return r.question(ctx, call) })
		return
	}
	tool := p.awaiting(t)
	r.start(t.RequestID, t.AgentID, fault, func(ctx context.Context) any { return r.permission(ctx, t, tool) })
}

// start answers a request behind those before it. Fault is the answer if that
// panics.
func (r *requests) start(id, agentID string, fault any, answer func(context.Context) any) {
	ctx, finish := r.begin(id, agentID)
	before, asked := r.last, make(chan struct{})
	r.last = asked
	r.all.Add(1)
	go func() {
		defer r.all.Done()
		defer finish()
		defer close(asked)
		growStack()
		if before != nil { // goroutines start in any order, requests do not
			select {
			case <-before:
				r.s.awaitCancel(ctx)
			case <-ctx.Done():
			}
		}
		result := r.guarded(ctx, fault, answer)
		if !errors.Is(context.Cause(ctx), errWithdrawn) { // else it counts for nothing
			r.reply(id, result)
		}
	}()
}

// awaitCancel waits for the end of a request whose turn is being cancelled. The
// one before it may have ended first; nothing more is asked then.
func (s *session) awaitCancel(ctx context.Context) {
	s.mu.Lock()
	cancelled := s.turn != nil && s.turn.cancelled
	s.mu.Unlock()
	if cancelled {
		<-ctx.Done()
	}
}

// growStack makes room for asking and encoding in one step. Growing by
// doubling copies a stack that is deep by then, several times a question.
//
//go:noinline
func growStack() {
	var room [12 << 10]byte
	touch(&room)
}

//go:noinline
func touch(room *[12 << 10]byte) { room[0] = 1 }

// guarded answers; a panic is the end of this request alone.
func (r *requests) guarded(ctx context.Context, fault any, answer func(context.Context) any) (result any) {
	defer func() {
		if v := recover(); v != nil {
			r.s.logPanic(v)
			result = fault
		}
	}()
	return answer(ctx)
}

func (r *requests) reply(id string, result any) {
	r.mu.Lock()
	proc := r.proc
	r.mu.Unlock()
	if err := proc.Reply(id, result); err != nil {
		r.s.agent.log.Debug("reply not sent", "session", r.s.id, "err", err)
	}
}

// begin makes the context of a request. It ends with the turn; that of a
// sub-agent, which may work on after it, with the session.
func (r *requests) begin(id, agentID string) (context.Context, func()) {
	s := r.s
	s.mu.Lock()
	parent, done := s.ctx, func() {}
	if s.turn != nil && (agentID == "" || s.turn.cancelled) {
		turn := s.turn
		turn.asks.Add(1)
		parent, done = turn.ctx, turn.asks.Done
	}
	s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	r.mu.Lock()
	r.open[id] = cancel
	r.mu.Unlock()
	return ctx, func() {
		r.mu.Lock()
		delete(r.open, id)
		r.mu.Unlock()
		cancel(nil)
		done()
	}
}

// withdraw closes a request at the editor because the CLI no longer waits.
func (r *requests) withdraw(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.open[id]; cancel != nil {
		cancel(errWithdrawn)
	}
}

// abort closes all requests because nobody waits for them any more.
func (r *requests) abort(why error) {
	r.cancelOpen(why)
	r.all.Wait()
}

// cancelOpen closes all requests and does not wait for them.
func (r *requests) cancelOpen(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.open {
		cancel(why)
	}
}

// question asks a question call.
func (r *requests) question(ctx context.Context, call convert.Call) any {
	outcome, _ := r.s.agent.ask().Ask(ctx, call)
	if outcome.Status == convert.Cancelled {
		r.s.cancelTurn(false)
	}
	return dialect.ClaudeResult(call, outcome)
}

// permission asks for an ordinary permission.
func (r *requests) permission(ctx context.Context, t claude.ToolRequest, tool display.Tool) any {
	choices := choicesFor(t, r.s.agent.mayBypass())
	info := display.ToolInfo(tool, r.s.cwd)
	status := acp.ToolCallStatusPending
	request := acp.RequestPermissionRequest{
		SessionId: acp.SessionId(r.s.id),
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: acp.ToolCallId(t.ToolUseID),
			Title:      &info.Title,
			Kind:       &info.Kind,
			Status:     &status,
			Content:    info.Content,
			Locations:  info.Locations,
			RawInput:   rawJSON(tool.Input),
		},
	}
	for _, c := range choices {
		request.Options = append(request.Options, c.option)
	}
	response, err := r.s.agent.ask().RequestPermission(ctx, request)
	return r.decide(ctx, t, choices, response, err)
}

// decide turns the editor's reply into the CLI's.
func (r *requests) decide(ctx context.Context, t claude.ToolRequest, choices []choice, response acp.RequestPermissionResponse, err error) any {
	outcome := response.Outcome
	switch {
	case ctx.Err() != nil:
		return claude.Deny("The user cancelled the turn", true)
	case err != nil:
		return claude.Deny("The user could not be asked for permission: "+clean.Line(err.Error()), false)
	case outcome.Cancelled != nil:
		r.s.cancelTurn(false)
		return claude.Deny("The user dismissed the permission request", true)
	}
	id := string(outcome.Selected.OptionId)
	for _, c := range choices {
		if string(c.option.OptionId) != id {
			continue
		}
		if c.deny {
			return claude.Deny(rejection(response), false)
		}
		allow := claude.Allow(t.Input)
		allow.UpdatedPermissions = c.updates
		r.s.out.send(acp.UpdateToolCall(acp.ToolCallId(t.ToolUseID), acp.WithUpdateStatus(acp.ToolCallStatusInProgress)))
		return allow
	}
	return claude.Deny("Permission was not given: the editor replied with the option "+clean.Line(id)+", which was not offered", false)
}

// rejection is what the model reads when the user says no, with the reason if
// the editor sent one.
func rejection(response acp.RequestPermissionResponse) string {
	for _, meta := range []map[string]any{response.Outcome.Selected.Meta, response.Meta} {
		if reason, _ := meta["customText"].(string); strings.TrimSpace(reason) != "" {
			return strings.TrimSpace(reason)
		}
	}
	return "The user rejected this tool use"
}

// choice is an option of a permission request and what it does.
type choice struct {
	option  acp.PermissionOption
	deny    bool
	updates json.RawMessage // for the CLI's updatedPermissions
}

func newChoice(id, name string, kind acp.PermissionOptionKind, updates ...string) choice {
	c := choice{option: acp.PermissionOption{OptionId: acp.PermissionOptionId(id), Name: name, Kind: kind}}
	if len(updates) > 0 {
		c.updates = json.RawMessage("[" + strings.Join(updates, ",") + "]")
	}
	c.deny = kind == acp.PermissionOptionKindRejectOnce
	return c
}

func setMode(mode string) string {
	return `{"type":"setMode","mode":"` + mode + `","destination":"session"}`
}

// choicesFor lists what a user can say to a request. What "always" would allow
// is written out; the CLI's other suggestions are not taken along.
func choicesFor(t claude.ToolRequest, bypass bool) []choice {
	if t.ToolName == "ExitPlanMode" {
		return planChoices(bypass)
	}
	choices := []choice{newChoice("allow", "Allow", acp.PermissionOptionKindAllowOnce)}
	rules, names, mode := suggestions(t.Suggestions)
	switch {
	case len(rules) > 0:
		choices = append(choices, newChoice("allow_always", "Always allow "+strings.Join(names, ", "), acp.PermissionOptionKindAllowAlways, rules...))
	case mode == "acceptEdits":
		choices = append(choices, newChoice("accept_edits", "Accept all edits in this session", acp.PermissionOptionKindAllowAlways, setMode(mode)))
	}
	return append(choices, newChoice("reject", "Reject", acp.PermissionOptionKindRejectOnce))
}

// planChoices are the modes in which to go on after a plan.
func planChoices(bypass bool) []choice {
	choices := []choice{
		newChoice("acceptEdits", "Yes, and accept all edits", acp.PermissionOptionKindAllowAlways, setMode("acceptEdits")),
		newChoice("default", "Yes, and ask before edits", acp.PermissionOptionKindAllowOnce, setMode("default")),
	}
	if bypass {
		choices = append(choices, newChoice("bypassPermissions", "Yes, and do everything without asking", acp.PermissionOptionKindAllowAlways, setMode("bypassPermissions")))
	}
	return append(choices, newChoice("plan", "No, keep planning", acp.PermissionOptionKindRejectOnce))
}

// suggestions reads the CLI's proposals: rules to add, with their names for
// people, and a mode to switch to.
func suggestions(list json.RawMessage) (rules, names []string, mode string) {
	for _, s := range gjson.ParseBytes(list).Array() {
		switch s.Get("type").Str {
		case "addRules":
			if s.Get("behavior").Str != "allow" {
				continue
			}
			rules = append(rules, s.Raw)
			for _, rule := range s.Get("rules").Array() {
				name := rule.Get("toolName").String()
				if content := rule.Get("ruleContent").String(); content != "" {
					name += "(" + content + ")"
				}
				names = append(names, clean.Line(clean.Visible(name)))
			}
		case "setMode":
			mode = s.Get("mode").Str
		}
	}
	return rules, names, mode
}

func rawJSON(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return raw
}
