package backend

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// questionTool is the tool by which Claude Code asks questions.
const questionTool = adapter.ClaudeToolName

// ask takes a can_use_tool request.
func (p *pump) ask(t claude.ToolRequest) {
	if t.ToolName == questionTool {
		p.line(t.RequestID, false, func(told) { p.question(t) })
		return
	}
	tool := p.painter.awaiting(t)
	p.line(t.RequestID, true, func(told told) { p.permission(t, tool, told) })
}

// permission asks whether a tool may be used.
func (p *pump) permission(t claude.ToolRequest, tool display.Tool, told told) {
	choices, plan := p.choicesFor(t, tool, told)
	info := tool.Info(p.s.cwd)
	input, inFile := p.painter.planInput(tool, gjson.Result{})
	if inFile {
		info.Content = nil
	}
	if why := clean.Block(t.DecisionReason); why != "" {
		info.Content = append([]acp.ToolCallContent{about.Why(why)}, info.Content...)
	}
	status := acp.ToolCallStatusPending
	request := acp.RequestPermissionRequest{
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: acp.ToolCallId(t.ToolUseID),
			Title:      &info.Title,
			Kind:       &info.Kind,
			Status:     &status,
			Content:    info.Content,
			Locations:  info.Locations,
			RawInput:   input,
		},
	}
	for _, c := range choices {
		request.Options = append(request.Options, acp.PermissionOption{OptionId: acp.PermissionOptionId(c.ID), Name: c.Label, Kind: acp.PermissionOptionKind(c.Kind)})
	}
	who := p.painter.asker(t)
	markSubAgent(&request, t.ToolName, who)
	if known := p.s.known(told); known != "" {
		request.ToolCall.Content = append(request.ToolCall.Content, about.Known(known))
	}
	if p.s.agent.editor().air {
		request.Meta = forAIR(request.Meta, "permission", object{"version": 1, "title": info.Title})
	}
	p.painter.showPlan(tool, who.Session)
	p.painter.partAsks(who.Session, t.RequestID)
	p.s.asking.Store(t.ToolUseID, t.ToolName)
	p.s.out.AskPermission(t.RequestID, t.AgentID != "", who, request, func(response acp.RequestPermissionResponse, err error) bool {
		p.s.asking.Delete(t.ToolUseID)
		d := decide(t, choices, response, err)
		p.post(func() {
			p.painter.partHears(who.Session, t.RequestID, err == nil && response.Outcome.Cancelled == nil)
			p.painter.decided(t, who.Session, d)
		})
		if picked := response.Outcome.Selected; err == nil && picked != nil && d.Interrupt {
			p.clears(p.s.clearingFor(t.ToolUseID, string(picked.OptionId), plan))
		}
		return p.reply(t.RequestID, d)
	})
}

// question takes a question call.
func (p *pump) question(t claude.ToolRequest) {
	call, err := convert.Parse(t.Input, convert.Limits{})
	if err != nil { // the model can correct it
		p.reply(t.RequestID, claude.Deny("The questions could not be asked: "+err.Error(), false))
		return
	}
	call.ID, call.Name, call.SubAgent = t.ToolUseID, t.ToolName, p.painter.asker(t)
	if t.AgentID != "" && p.s.agent.opts.RefuseSubAgents {
		o, _ := adapter.SubAgent(nil).Ask(p.s.ctx, call)
		p.reply(t.RequestID, dialect.ClaudeResult(call, o))
		return
	}
	p.painter.asked(t.ToolUseID)
	p.painter.partAsks(call.SubAgent.Session, t.RequestID)
	ends := func(leftOpen bool) {}
	if t.AgentID == "" {
		ends = p.s.notesOpen(t.ToolUseID)
	}
	p.s.out.AskQuestion(t.RequestID, t.AgentID != "", call, func(o convert.Outcome) bool {
		if call.SubAgent.Session != "" {
			p.post(func() {
				p.painter.partHears(call.SubAgent.Session, t.RequestID, o.Status == convert.Answered || o.Status == convert.Declined)
			})
		}
		if o.Status == convert.Disconnected {
			ends(true)
			p.reply(t.RequestID, dialect.ClaudeResult(call, o))
			return false
		}
		sent := p.reply(t.RequestID, dialect.ClaudeResult(call, o))
		ends(o.Status == convert.Answered && !sent)
		return sent
	})
}

// decided draws what comes of a permission request. Within is the session of the
// sub-agent that asks, if it has one.
func (p *painter) decided(t claude.ToolRequest, within string, d claude.Permission) {
	if c := p.calls[t.ToolUseID]; c != nil && d.Behavior != "allow" {
		c.denied = true
	}
	if d.Behavior == "allow" {
		p.out.UpdateOf(within, acp.UpdateToolCall(acp.ToolCallId(t.ToolUseID), acp.WithUpdateStatus(acp.ToolCallStatusInProgress)))
	}
}

// decide turns the editor's reply into the CLI's.
func decide(t claude.ToolRequest, choices []hook.Choice, response acp.RequestPermissionResponse, err error) claude.Permission {
	outcome := response.Outcome
	switch {
	case errors.Is(err, editor.ErrPartStopped):
		return claude.Deny("The user stopped this sub-agent", false)
	case errors.Is(err, life.ErrWithAnother):
		return claude.Deny("Permission was not given: the turn was interrupted, because the user dismissed another request", true)
	case errors.Is(err, editor.ErrTakenBack): // nobody has said anything to it, and perhaps nobody was asked
		stops := errors.Is(err, convert.ErrDisconnected) || errors.Is(err, convert.ErrCancelled)
		return claude.Deny("Permission was not given: "+clean.Line(adapter.Words(err)), stops)
	case err != nil:
		return claude.Deny("The user could not be asked for permission: "+clean.Line(adapter.Words(err)), false)
	case outcome.Cancelled != nil:
		return claude.Deny("The user dismissed the permission request", true)
	}
	id := string(outcome.Selected.OptionId)
	for _, c := range choices {
		switch {
		case c.ID != id:
			continue
		case strings.HasPrefix(id, clearChoice):
			return claude.Deny("The user clears the context and goes on with the plan", true)
		case c.Denies():
			return claude.Deny(cmp.Or(about.Beside(response), c.Message), false)
		}
		allow := claude.Allow(t.Input)
		allow.UpdatedPermissions = c.Updates
		return allow
	}
	return claude.Deny("Permission was not given: the editor replied with the option "+clean.Line(id)+", which was not offered", false)
}

// choicesFor lists what a user can say to a request, and the plan that one asks for, if it
// may be gone on with in a clear context.
func (p *pump) choicesFor(t claude.ToolRequest, tool display.Tool, told told) (choices []hook.Choice, plan string) {
	if t.ToolName != "ExitPlanMode" {
		return hook.Choices(t.Suggestions), ""
	}
	choices, plan = hook.PlanChoices(p.s.has), strings.TrimSpace(gjson.GetBytes(tool.Input, "plan").String())
	if p.steers && t.AgentID == "" && plan != "" {
		choices = withClear(choices, told.context())
	}
	return choices, plan
}

func rawJSON(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return raw
}
