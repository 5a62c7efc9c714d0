package backend

import (
	"cmp"
	"context"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// agentOption is the id of the option that says which agent leads the conversation.
const agentOption = "agent"

// ownLead stands for Claude Code's own way to lead it.
const ownLead = "default"

// agents are the option for the main agent, if the user, the project or a plugin has
// brought any.
func (s *conversation) agents(c *choices) []acp.SessionConfigOption {
	leads := s.leads()
	if len(leads) == 0 {
		return nil
	}
	list := []acp.SessionConfigSelectOption{{Value: ownLead, Name: "Default", Description: acp.Ptr("Claude Code itself")}}
	for _, a := range leads {
		o := acp.SessionConfigSelectOption{Value: acp.SessionConfigValueId(a.Name), Name: a.Name}
		if a.Description != "" {
			o.Description = acp.Ptr(a.Description)
		}
		list = append(list, o)
	}
	current := s.currentLead(c)
	if current == "" {
		current = ownLead
	} else if !slices.ContainsFunc(leads, func(a claude.Agent) bool { return a.Name == current }) {
		list = append(list, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueId(current), Name: current})
	}
	o := selectOption(agentOption, "Agent", "", current, list)
	o.Select.Category, o.Select.Description = nil, acp.Ptr("Who leads the conversation; fixed from the first prompt on")
	return []acp.SessionConfigOption{o}
}

// leads are the agents that can lead it. Those that are part of Claude Code are for
// tasks.
func (s *conversation) leads() []claude.Agent {
	var list []claude.Agent
	for _, a := range s.info.Load().Agents {
		if !a.Own && a.Name != ownLead {
			list = append(list, a)
		}
	}
	return list
}

// currentLead is the name of the agent that leads, or nothing.
func (s *conversation) currentLead(c *choices) string {
	if c.lead != nil {
		return *c.lead
	}
	if c.settings.Agent != "" {
		return c.settings.Agent
	}
	args := slices.Concat(s.agent.opts.Args, s.args)
	for i, a := range slices.Backward(args) {
		if name, ok := strings.CutPrefix(a, "--agent="); ok {
			return name
		}
		if a == "--agent" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

func (s *conversation) changeAgent(ctx context.Context, name string) error {
	before := s.chosen.Load()
	names := []string{ownLead}
	for _, a := range s.leads() {
		names = append(names, a.Name)
	}
	current, late := s.currentLead(before), s.prompted.Load() || s.forkOf != ""
	if len(names) == 1 {
		return conn.Invalid("there is no agent to choose from")
	}
	if !slices.Contains(names, name) && name != current {
		return conn.Invalid("unknown agent %q: expected %s", name, strings.Join(names, ", "))
	}
	if name == ownLead {
		name = ""
	}
	if name == current {
		return nil
	}
	if late { // the CLI would say yes, and go on as before
		return conn.Invalid("the agent can only be changed before the first prompt: start a new session for it")
	}
	err := s.change(ctx, "the agent", map[string]any{"agent": orNil(name)}, func(c *choices) { c.lead = &name }, func(c *choices) { c.lead = before.lead })
	if err != nil {
		return err
	}
	s.remember(agentOption, name)
	return nil
}

// orNil is the value of a setting; nothing takes it back.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// remember keeps what the user picked for the time when the session is loaded: the
// CLI's transcript does not tell. Nothing is Claude Code's own choice.
func (s *conversation) remember(option, value string) {
	n := s.agent.notes(s.env)
	if value == "" {
		n.remove(s.id, optionNote+option)
		return
	}
	n.keep(s.id, optionNote+option, value)
}

// recall takes up what the user picked when the session was last open. What the
// editor says now goes before.
func (s *conversation) recall() {
	n := s.agent.notes(s.env)
	effort, lead := n.of(s.id, optionNote+effortOption), n.of(s.id, optionNote+agentOption)
	s.choose(func(c *choices) {
		c.effort = cmp.Or(c.effort, effort)
		if lead != "" && s.currentLead(c) == "" {
			c.lead = &lead
		}
	})
}
