package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// Ids of the options that depend on the model.
const (
	effortOption    = "effort"
	fastOption      = "fast"
	ultracodeOption = "ultracode"
)

// defaultEffort leaves the level to Claude Code.
const defaultEffort = "default"

// tuning is what a session's options besides mode and model are set to. mu of
// the session guards it.
type tuning struct {
	settings   claude.Settings // as the CLI last told
	asks, told int             // count how often it was asked, and which of these that was
	effort     string          // what the user picked; empty for Claude Code's own
	fast       bool
	fastPicked bool   // by the user, so it holds for the next process too
	fastOff    string // why the CLI does not have it on
	// ultracode is what the user picked: a process that is started anew does not
	// know it.
	ultracode *bool
	lead      *string // the main agent that the user picked; empty for Claude Code's own
}

// picks are the settings to give to a process that is started anew.
func (u *tuning) picks() map[string]any {
	picks := map[string]any{}
	if u.effort != "" {
		picks["effortLevel"] = u.effort
	}
	if u.fastPicked {
		picks["fastMode"] = u.fast
	}
	if u.ultracode != nil {
		picks["ultracode"] = *u.ultracode
	}
	if u.lead != nil {
		picks["agent"] = orNil(*u.lead)
	}
	return picks
}

// tune gives a process that has just been started what the user picked before. A
// version of the CLI that has no settings is left alone.
func (s *conversation) tune(ctx context.Context, proc *claude.Process, info *claude.InitInfo) {
	if !hasEfforts(info) {
		return
	}
	s.mu.Lock()
	if !slices.ContainsFunc(info.Models, func(m claude.Model) bool { return slices.Contains(m.Efforts, s.effort) }) {
		s.effort = "" // an editor may name any
	}
	if s.lead != nil && *s.lead != "" && !slices.ContainsFunc(info.Agents, func(a claude.Agent) bool { return a.Name == *s.lead }) {
		s.lead = nil // it was there when the user picked it
	}
	picks := maps.Clone(s.given)
	maps.Copy(picks, s.picks())
	if !s.fastPicked {
		s.fast, s.fastOff = info.FastMode == "on" || info.FastMode == "cooldown", info.FastModeReason
	}
	s.mu.Unlock()
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
	s.mu.Lock()
	s.asks++
	n := s.asks
	s.mu.Unlock()
	now, err := proc.Settings(ctx)
	if err != nil {
		s.agent.log.Debug("Claude Code does not tell its settings", "session", s.id, "err", err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < s.told { // what was asked later knows more
		return false
	}
	before := s.settings
	s.settings, s.told = now, n
	if before.Model != "" && now.Model != before.Model {
		s.model = ""
		s.model = s.currentModel().Value // the next process keeps to it
	}
	return now != before
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

// tunings are the options that the model has. mu is held.
func (s *conversation) tunings() []acp.SessionConfigOption {
	var options []acp.SessionConfigOption
	model := s.currentModel()
	if len(model.Efforts) > 0 {
		current := s.effortValue(model)
		first := acp.SessionConfigSelectOption{Value: defaultEffort, Name: "Default", Description: acp.Ptr("As Claude Code is set up")}
		if current == defaultEffort && s.settings.Effort != "" {
			first.Name = "Default (" + s.settings.Effort + ")"
		}
		list := []acp.SessionConfigSelectOption{first}
		for _, level := range model.Efforts {
			list = append(list, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueId(level), Name: levelName(level)})
		}
		o := selectOption(effortOption, "Effort", acp.SessionConfigOptionCategoryThoughtLevel, current, list)
		o.Select.Description = acp.Ptr("How much the model thinks")
		options = append(options, o)
	}
	if model.Fast {
		text := "Faster answers, at a higher price"
		if why := fastReasons[s.fastOff]; why != "" && !s.fast {
			text += "; now " + why
		}
		options = append(options, s.toggle(fastOption, "Fast mode", text, s.fast))
	}
	if s.settings.UltracodeOffered {
		options = append(options, s.toggle(ultracodeOption, "Ultracode", "Splits every task into a workflow of agents", s.settings.Ultracode))
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
func (s *conversation) effortValue(model claude.Model) string {
	level := s.effort
	if s.settings.EffortSet {
		level = s.settings.Effort // which can be lower than the pick
	}
	if slices.Contains(model.Efforts, level) {
		return level
	}
	return defaultEffort
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
	o := selectOption(id, name, category, current, []acp.SessionConfigSelectOption{{Value: "on", Name: "On"}, {Value: "off", Name: "Off"}})
	o.Select.Description = &description
	return o
}

// toggled reads the value of an option that is on or off.
func toggled(id string, value json.RawMessage) (bool, error) {
	switch string(value) {
	case `true`, `"on"`:
		return true, nil
	case `false`, `"off"`:
		return false, nil
	}
	return false, editor.Invalid("option %q: expected on or off, got %s", id, value)
}

func (s *conversation) changeEffort(ctx context.Context, level string) error {
	s.mu.Lock()
	levels := s.currentModel().Efforts
	ultracode := s.settings.Ultracode
	before := s.effort
	s.mu.Unlock()
	if len(levels) == 0 {
		return editor.Invalid("the current model has no levels of effort")
	}
	if level != defaultEffort && !slices.Contains(levels, level) {
		return editor.Invalid("unknown effort %q: expected %s or %s", level, defaultEffort, strings.Join(levels, ", "))
	}
	set := map[string]any{"effortLevel": level}
	if level == defaultEffort {
		level, set["effortLevel"] = "", nil
	}
	if ultracode {
		set["ultracode"] = true // a change of the level alone would end it
	}
	if err := s.change(ctx, "effort", set, func() { s.effort = level }, func() { s.effort = before }); err != nil {
		return err
	}
	s.remember(effortOption, level)
	return nil
}

func (s *conversation) changeFast(ctx context.Context, on bool) error {
	s.mu.Lock()
	offered, before, picked := s.currentModel().Fast, s.fast, s.fastPicked
	s.mu.Unlock()
	if !offered {
		return editor.Invalid("the current model has no fast mode")
	}
	return s.change(ctx, "fast mode", map[string]any{"fastMode": on},
		func() { s.fast, s.fastPicked = on, true }, func() { s.fast, s.fastPicked = before, picked })
}

func (s *conversation) changeUltracode(ctx context.Context, on bool) error {
	s.mu.Lock()
	offered, before := s.settings.UltracodeOffered, s.ultracode
	s.mu.Unlock()
	if !offered {
		return editor.Invalid("ultracode is not offered with the current model")
	}
	return s.change(ctx, "ultracode", map[string]any{"ultracode": on},
		func() { s.ultracode = &on }, func() { s.ultracode = before })
}

// change gives settings to the CLI. note and undo run with mu held.
func (s *conversation) change(ctx context.Context, what string, settings map[string]any, note, undo func()) error {
	locked := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}
	locked(note)
	proc := s.process()
	if proc == nil {
		return nil // the next process gets it
	}
	err := s.tell(ctx, func(ctx context.Context) error {
		if err := proc.ApplySettings(ctx, settings); err != nil {
			return err
		}
		s.readSettings(ctx, proc)
		return nil
	}, func() {
		locked(undo)
		s.configChanged()
	})
	if err != nil {
		locked(undo)
		return processError(fmt.Errorf("%s was not changed: %w", what, err))
	}
	return nil
}

// fastModeIs notes what the CLI says of its fast mode. A cooldown is over soon:
// it changes nothing.
func (s *conversation) fastModeIs(state, reason string) {
	if state != "on" && state != "off" {
		return
	}
	s.mu.Lock()
	on := state == "on"
	news := s.fast != on || fastReasons[s.fastOff] != fastReasons[reason]
	s.fast, s.fastOff = on, reason
	shown := s.currentModel().Fast
	s.mu.Unlock()
	if news && shown {
		s.configChanged()
	}
}
