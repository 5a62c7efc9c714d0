package backend

import (
	"context"
	"maps"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// tune gives a process that has just been started what the user picked before. A
// version of the CLI that has no settings is left alone.
func (s *conversation) tune(ctx context.Context, proc *claude.Process, info *claude.InitInfo) {
	if !hasEfforts(info) {
		return
	}
	_, now := s.choose(func(c *choices) {
		if !slices.ContainsFunc(info.Models, func(m claude.Model) bool { return slices.Contains(m.Efforts, c.effort) }) {
			c.effort = "" // an editor may name any
		}
		if c.lead != nil && *c.lead != "" && !slices.ContainsFunc(info.Agents, func(a claude.Agent) bool { return a.Name == *c.lead }) {
			c.lead = nil // it was there when the user picked it
		}
		if !c.fastPicked {
			c.fast, c.fastOff = info.FastMode == "on" || info.FastMode == "cooldown", info.FastModeReason
		}
	})
	picks := maps.Clone(s.given)
	maps.Copy(picks, now.picks())
	if len(picks) > 0 {
		if err := proc.ApplySettings(ctx, picks); err != nil {
			s.agent.log.Warn("Claude Code did not take the session's options", "session", s.id, "err", err)
		}
	}
}

// hasEfforts tells a CLI that knows its settings from one that is too old.
func hasEfforts(info *claude.InitInfo) bool {
	return slices.ContainsFunc(info.Models, func(m claude.Model) bool { return len(m.Efforts) > 0 })
}

// tunes reports whether the CLI tells its settings.
func (s *conversation) tunes() bool { return hasEfforts(s.info.Load()) }

// readSettings notes what the CLI says its settings are, and reports whether
// that is news.
func (s *conversation) readSettings(ctx context.Context, proc *claude.Process) bool {
	_, asked := s.choose(func(c *choices) { c.asks++ })
	settings, err := proc.Settings(ctx)
	if err != nil {
		s.agent.log.Debug("Claude Code does not tell its settings", "session", s.id, "err", err)
		return false
	}
	info := s.info.Load()
	before, now := s.choose(func(c *choices) {
		if asked.asks < c.told { // what was asked later knows more
			return
		}
		was := c.settings.Model
		c.settings, c.told = settings, asked.asks
		if was != "" && was != settings.Model {
			c.model = ""
			c.model = c.currentModel(info).Value // the next process keeps to it
		}
	})
	return now.settings != before.settings
}

// refresh asks the CLI for its settings, and tells the editor what is new.
func (s *conversation) refresh() {
	proc := s.process()
	if proc == nil || !s.tunes() {
		return
	}
	go func() {
		if s.readSettings(s.ctx, proc) {
			s.configChanged()
		}
	}()
}

// tunings are the options that the model has.
func (s *conversation) tunings(c *choices, model claude.Model) []acp.SessionConfigOption {
	var options []acp.SessionConfigOption
	if len(model.Efforts) > 0 {
		current := c.effortValue(model)
		first := optionValue(defaultValue, "Default", "As Claude Code is set up")
		if current == defaultValue && c.settings.Effort != "" {
			first.Name = "Default (" + c.settings.Effort + ")"
		}
		list := []acp.SessionConfigSelectOption{first}
		for _, level := range model.Efforts {
			list = append(list, optionValue(level, levelName(level), ""))
		}
		o := selectOption(effortOption, "Effort", acp.SessionConfigOptionCategoryThoughtLevel, current, list)
		o.Select.Description = acp.Ptr("How much the model thinks")
		options = append(options, o)
	}
	if model.Fast {
		text := "Faster answers, at a higher price"
		if why := fastReasons[c.fastOff]; why != "" && !c.fast {
			text += "; now " + why
		}
		options = append(options, s.toggle(fastOption, "Fast mode", text, c.fast))
	}
	if c.settings.UltracodeOffered {
		options = append(options, s.toggle(ultracodeOption, "Ultracode", "Splits every task into a workflow of agents", c.settings.Ultracode))
	}
	return options
}

// fastReasons are those of the CLI's reasons that a user can do something about.
var fastReasons = map[string]string{
	"free":                 "not part of the plan",
	"extra_usage_disabled": "off because the account has no extra usage",
	"not_first_party":      "not offered by this provider",
	"disabled_by_env":      "switched off in the environment",
	"network_error":        "off because the account could not be checked",
}

// effortValue is the level that is set, as one of those on offer.
func (c *choices) effortValue(model claude.Model) string {
	level := c.effort
	if c.settings.EffortSet {
		level = c.settings.Effort // which can be lower than the pick
	}
	if slices.Contains(model.Efforts, level) {
		return level
	}
	return defaultValue
}

func levelName(level string) string {
	if level == "xhigh" {
		return "Extra high"
	}
	return strings.ToUpper(level[:1]) + level[1:]
}

// toggle is an option that is on or off, for a client without such options a
// choice of the two.
func (s *conversation) toggle(id, name, description string, on bool) acp.SessionConfigOption {
	category := acp.SessionConfigOptionCategory("model_config")
	if s.agent.editor().toggles {
		return acp.SessionConfigOption{Boolean: &acp.SessionConfigOptionBoolean{
			Id: acp.SessionConfigId(id), Name: name, Description: &description, Category: &category, CurrentValue: on, Type: "boolean",
		}}
	}
	current := "off"
	if on {
		current = "on"
	}
	o := selectOption(id, name, category, current, []acp.SessionConfigSelectOption{optionValue("on", "On", ""), optionValue("off", "Off", "")})
	o.Select.Description = &description
	return o
}

// fastModeIs notes what the CLI says of its fast mode. A cooldown is over soon:
// it changes nothing.
func (s *conversation) fastModeIs(state, reason string) {
	if state != "on" && state != "off" {
		return
	}
	on := state == "on"
	if now := s.chosen.Load(); now.fast == on && now.fastOff == reason { // as nearly always
		return
	}
	before, now := s.choose(func(c *choices) { c.fast, c.fastOff = on, reason })
	news := before.fast != on || fastReasons[before.fastOff] != fastReasons[reason]
	if news && now.currentModel(s.info.Load()).Fast {
		s.configChanged()
	}
}
