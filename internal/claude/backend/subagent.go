package backend

import (
	"cmp"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// subAgent is a sub-agent at work.
type subAgent struct{ call, task string }

// agentStarted notes the tool call in which a sub-agent works, and on what. It
// may work on when that call has its result.
func (p *painter) agentStarted(m claude.Message) {
	a := subAgent{call: m.Get("tool_use_id").String(), task: m.Get("description").String()}
	a.task = cmp.Or(a.task, p.task(a.call))
	p.agents[m.Get("task_id").String()] = a
	p.beginPart(m, a)
}

func (p *painter) agentEnded(m claude.Message) {
	delete(p.agents, m.Get("task_id").String())
	p.partEnded(m)
}

// task is what a tool call that started a sub-agent says it is for.
func (p *painter) task(call string) string {
	if c := p.calls[call]; c != nil {
		return gjson.GetBytes(c.tool.Input, "description").String()
	}
	return ""
}

// asker says which sub-agent makes a request; it is zero for the agent itself.
func (p *painter) asker(t claude.ToolRequest) convert.SubAgent {
	if t.AgentID == "" {
		return convert.SubAgent{}
	}
	a := p.agents[t.AgentID]
	if c := p.calls[t.ToolUseID]; a.call == "" && c != nil {
		a = subAgent{c.parent, p.task(c.parent)}
	}
	who := convert.SubAgent{ID: t.AgentID, Parent: a.call, Task: a.task}
	if p.parts[t.AgentID] != nil {
		who.Session = t.AgentID
	}
	return who
}

// markSubAgent says in a permission request which sub-agent asks.
func markSubAgent(r *acp.RequestPermissionRequest, tool string, a convert.SubAgent) {
	who := a.Whose()
	if who == "" {
		return
	}
	// Behind the rest: clients look for a diff or a command at the front.
	r.ToolCall.Content = append(r.ToolCall.Content, acp.ToolContent(acp.TextBlock("Asked by the "+who+".")))
	meta := map[string]any{"toolName": tool}
	if a.Parent != "" {
		meta["parentToolUseId"] = a.Parent
	}
	r.Meta = map[string]any{"claudeCode": meta}
}
