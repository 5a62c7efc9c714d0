package backend

import (
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// form asks what an MCP server wants to know. The server gets an answer in any
// case: what is not the user's accept or decline is a cancel.
func (p *pump) form(m claude.Message) {
	id := m.RequestID()
	form := ask.ServerForm{
		Server:        m.Get("request.mcp_server_name").String(),
		Message:       m.Get("request.message").String(),
		Mode:          m.Get("request.mode").String(),
		Schema:        json.RawMessage(m.Get("request.requested_schema").Raw),
		URL:           m.Get("request.url").String(),
		ElicitationID: m.Get("request.elicitation_id").String(),
	}
	call, err := form.Call()
	if err != nil {
		p.s.agent.log.Warn("a form of an MCP server cannot be shown", "session", p.s.id, "server", form.Server, "err", err)
		p.s.out.Update(unshown(id, form.Server, err))
		p.reply(id, json.RawMessage(ask.CancelForm))
		return
	}
	call.ID = formPrefix + id
	p.s.out.AskForm(id, call, func(reply json.RawMessage, outcome convert.Outcome) bool {
		if outcome.Status == convert.Failed {
			p.s.agent.log.Warn("a form of an MCP server got no answer", "session", p.s.id, "server", call.Server, "why", outcome.Reason)
		}
		return p.reply(id, reply)
	})
}

// formPrefix begins the ids of tool calls that show a form.
const formPrefix = "form-"

// unshown tells the user of a form that cannot be shown: the server's tool will
// fail for no reason that can be seen.
func unshown(id, server string, err error) acp.SessionUpdate {
	text := "It asked for something that cannot be shown: " + clean.Line(err.Error())
	return acp.StartToolCall(acp.ToolCallId(formPrefix+id), "MCP server "+clean.Line(server),
		acp.WithStartKind(acp.ToolKindOther), acp.WithStartStatus(acp.ToolCallStatusFailed),
		acp.WithStartContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}))
}

// formComplete tells an editor that has sent its user to an address that the
// server knows it.
func (s *conversation) formComplete(m claude.Message) {
	if id := m.Get("elicitation_id").String(); id != "" && s.agent.editor().opensURL {
		s.out.Notify(acp.ClientMethodElicitationComplete, acp.UnstableCompleteElicitationNotification{ElicitationId: acp.UnstableElicitationId(id)})
	}
}

// dialog refuses a dialog of the CLI's own. None was declared, so none should
// come; an error would leave it open for ever, and this makes the CLI go on as
// it does without dialogs.
func (p *pump) dialog(m claude.Message) {
	p.s.agent.log.Warn("Claude Code asked for a dialog that acp-bridge does not have", "session", p.s.id, "kind", clean.Line(m.Get("request.dialog_kind").String()))
	p.reply(m.RequestID(), map[string]string{"behavior": "cancelled"})
}
