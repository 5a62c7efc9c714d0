package backend

import (
	"cmp"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// agents are the option for the main agent, if the user, the project or a plugin has
// brought any.
func (s *conversation) agents(c *choices) []acp.SessionConfigOption {
	leads := s.leads()
	if len(leads) == 0 {
		return nil
	}
	list := []acp.SessionConfigSelectOption{optionValue(defaultValue, "Default", "Claude Code itself")}
	for _, a := range leads {
		list = append(list, optionValue(a.Name, a.Name, a.Description))
	}
	current := cmp.Or(s.currentLead(c), defaultValue)
	if !slices.ContainsFunc(list, func(o acp.SessionConfigSelectOption) bool { return string(o.Value) == current }) {
		list = append(list, optionValue(current, current, ""))
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
		if !a.Own && a.Name != defaultValue {
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

// orNil is the value of a setting; nothing takes it back.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
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
