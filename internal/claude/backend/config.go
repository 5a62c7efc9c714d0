package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// Ids of the configuration options of a session.
const (
	modeOption      = "mode"
	modelOption     = "model"
	effortOption    = "effort"
	fastOption      = "fast"
	ultracodeOption = "ultracode"
	agentOption     = "agent" // who leads the conversation
)

// defaultValue leaves an option to Claude Code.
const defaultValue = "default"

var onOff = []string{"on", "off"}

// modeNames are the permission modes that the CLI can be switched to.
var modeNames = []acp.SessionMode{
	{Id: "default", Name: "Default", Description: acp.Ptr("Asks before it edits files or runs commands")},
	{Id: "acceptEdits", Name: "Accept Edits", Description: acp.Ptr("Edits files without asking")},
	{Id: "plan", Name: "Plan", Description: acp.Ptr("Plans and changes nothing")},
	{Id: "dontAsk", Name: "Don't Ask", Description: acp.Ptr("Refuses what is not allowed already")},
	{Id: "auto", Name: "Auto", Description: acp.Ptr("Decides by itself what needs asking")},
	{Id: "bypassPermissions", Name: "Bypass Permissions", Description: acp.Ptr("Does everything without asking")},
}

// mayBypass reports whether the user started the bridge with leave to do so.
func (a *backend) mayBypass() bool {
	return slices.Contains(a.opts.Args, "--dangerously-skip-permissions") ||
		slices.Contains(a.opts.Args, "--allow-dangerously-skip-permissions")
}

// mayAuto reports whether the CLI has the mode auto now. Of a model that it does not list
// it does not say that.
func (s *conversation) mayAuto() bool {
	c, info := s.chosen.Load(), s.info.Load()
	model := c.currentModel(info)
	return !c.settings.AutoOff && (model.Auto || !lists(info, model.Value) && slices.ContainsFunc(info.Models, func(m claude.Model) bool { return m.Auto }))
}

// trusts reports whether what the editor says about a session may raise what runs
// without asking. An editor that may choose to ask for nothing can do no more.
func (a *backend) trusts() bool { return a.opts.TrustEditor || a.mayBypass() }

// has reports whether the CLI can be switched to a mode now.
func (s *conversation) has(mode string) bool {
	switch mode {
	case "auto":
		return s.mayAuto()
	case "bypassPermissions":
		return s.agent.mayBypass()
	}
	return true
}

// modes are the session's modes as ACP modes.
func (s *conversation) modes() *acp.SessionModeState {
	current := cmp.Or(s.chosen.Load().mode, "default")
	state := &acp.SessionModeState{CurrentModeId: acp.SessionModeId(current)}
	air := s.agent.editor().air
	for _, m := range modeNames {
		if kind := kindForAIR[m.Id]; air && kind != "" {
			m.Meta = forAIR(nil, "kind", kind)
		}
		if s.has(string(m.Id)) || string(m.Id) == current {
			state.AvailableModes = append(state.AvailableModes, m)
		}
	}
	if !slices.ContainsFunc(state.AvailableModes, func(m acp.SessionMode) bool { return m.Id == state.CurrentModeId }) {
		state.AvailableModes = append(state.AvailableModes, acp.SessionMode{Id: state.CurrentModeId, Name: current})
	}
	return state
}

// options are the session's configuration options, as the editor has them.
func (s *conversation) options() []acp.SessionConfigOption {
	list, c := s.offered(), s.chosen.Load()
	if s.agent.editor().airTakes[airRecommended] {
		recommendAll(list, c, s.info.Load())
	}
	return list
}

// offered are the session's configuration options with all values that they take.
func (s *conversation) offered() []acp.SessionConfigOption {
	modes := s.modes()
	var list []acp.SessionConfigSelectOption
	for _, m := range modes.AvailableModes {
		list = append(list, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueId(m.Id), Name: m.Name, Description: m.Description, Meta: m.Meta})
	}
	options := []acp.SessionConfigOption{selectOption(modeOption, "Mode", acp.SessionConfigOptionCategoryMode, string(modes.CurrentModeId), list)}
	list = nil
	info, c := s.info.Load(), s.chosen.Load()
	for _, m := range info.Models {
		list = append(list, optionValue(m.Value, m.DisplayName, m.Description))
	}
	if len(list) == 0 {
		return options
	}
	model := c.currentModel(info)
	if !lists(info, model.Value) {
		list = append(list, optionValue(model.Value, model.DisplayName, ""))
	}
	options = append(options, selectOption(modelOption, "Model", acp.SessionConfigOptionCategoryModel, model.Value, list))
	return append(append(options, s.tunings(c, model)...), s.agents(c)...)
}

func optionValue(value, name, description string) acp.SessionConfigSelectOption {
	o := acp.SessionConfigSelectOption{Value: acp.SessionConfigValueId(value), Name: name}
	if description != "" {
		o.Description = &description
	}
	return o
}

// currentModel is the model that is set, if possible as one of those that the
// CLI lists.
func (c *choices) currentModel(info *claude.InitInfo) claude.Model {
	models := info.Models
	find := func(is func(claude.Model) bool) (claude.Model, bool) {
		if i := slices.IndexFunc(models, is); i >= 0 {
			return models[i], true
		}
		return claude.Model{}, false
	}
	if m, ok := find(func(m claude.Model) bool { return m.Value == c.model }); ok {
		return m
	}
	name := c.settings.Model
	if m, ok := find(func(m claude.Model) bool { return m.Resolved == name || m.Value == name }); ok {
		return m
	}
	if name != "" {
		return claude.Model{Value: name, DisplayName: name, Resolved: name}
	}
	if len(models) == 0 {
		return claude.Model{}
	}
	return models[0]
}

// lists reports whether the CLI lists a model.
func lists(info *claude.InitInfo, value string) bool {
	return slices.ContainsFunc(info.Models, func(m claude.Model) bool { return m.Value == value })
}

func selectOption(id, name string, category acp.SessionConfigOptionCategory, current string, list acp.SessionConfigSelectOptionsUngrouped) acp.SessionConfigOption {
	o := acp.NewSessionConfigOptionSelect(acp.SessionConfigValueId(current), acp.SessionConfigSelectOptions{Ungrouped: &list})
	o.Select.Id, o.Select.Name, o.Select.Category = acp.SessionConfigId(id), name, &category
	return o
}

// setMode answers session/set_mode.
func (s *conversation) setMode(ctx context.Context, r acp.SetSessionModeRequest) (any, error) {
	if err := s.setOption(ctx, modeOption, clean.JSON(r.ModeId)); err != nil {
		return nil, err
	}
	s.configChanged()
	return acp.SetSessionModeResponse{}, nil
}

// requestOption answers session/set_config_option. The SDK's own type cannot tell
// its variants apart without a field that clients leave out.
func (s *conversation) requestOption(ctx context.Context, params json.RawMessage) (any, error) {
	r, err := conn.Decode[struct {
		ConfigID string          `json:"configId"`
		Value    json.RawMessage `json:"value"`
	}](params)
	if err != nil {
		return nil, err
	}
	before := s.modes().CurrentModeId
	if err := s.setOption(ctx, r.ConfigID, r.Value); err != nil {
		return nil, err
	}
	if mode := s.modes().CurrentModeId; r.ConfigID == modeOption && mode != before {
		s.tellMode(mode)
	}
	return acp.SetSessionConfigOptionResponse{ConfigOptions: s.options()}, nil
}

// notOffered says why the session does not have an option that others have.
var notOffered = map[string]string{
	effortOption:    "the current model has no levels of effort",
	fastOption:      "the current model has no fast mode",
	ultracodeOption: "ultracode is not offered with the current model",
	agentOption:     "there is no agent to choose from",
}

// setOption changes an option, if it takes the value.
func (s *conversation) setOption(ctx context.Context, id string, value json.RawMessage) error {
	values := map[string][]string{}
	var ids []string
	for _, o := range s.offered() {
		if o.Boolean != nil {
			ids = append(ids, string(o.Boolean.Id))
			values[ids[len(ids)-1]] = onOff
			continue
		}
		ids = append(ids, string(o.Select.Id))
		for _, v := range *o.Select.Options.Ungrouped {
			values[string(o.Select.Id)] = append(values[string(o.Select.Id)], string(v.Value))
		}
	}
	takes, has := values[id]
	switch {
	case !has && notOffered[id] != "":
		return conn.Invalid("%s", notOffered[id])
	case !has:
		return conn.Invalid("unknown option %q: expected %s", id, strings.Join(ids, ", "))
	}
	toggle := slices.Equal(takes, onOff)
	word := map[string]string{"true": "on", "false": "off"}[string(value)]
	switch err := json.Unmarshal(value, &word); {
	case toggle && !slices.Contains(takes, word):
		return conn.Invalid("option %q: expected on or off, got %s", id, value)
	case !toggle && err != nil:
		return conn.Invalid("option %q: expected one of its values, got %s", id, value)
	case !slices.Contains(takes, word):
		return conn.Invalid("unknown %s %q: expected %s", id, word, strings.Join(takes, ", "))
	}
	return s.change(ctx, id, word)
}

// change changes an option to one of its values, of which default leaves it to Claude Code.
func (s *conversation) change(ctx context.Context, id, value string) error {
	before := s.chosen.Load()
	next, settings := *before, object{}
	on, own := value == "on", value
	if value == defaultValue {
		own = ""
	}
	switch id {
	case modeOption:
		next.mode = value
		s.picked.Store(&value)
	case modelOption:
		next.model = value
	case effortOption:
		next.effort, settings["effortLevel"] = own, orNil(own)
		if before.settings.Ultracode {
			settings["ultracode"] = true // a change of the level alone would end it
		}
	case agentOption:
		switch {
		case own == s.currentLead(before):
			return nil
		case s.prompted.Load() || s.forkOf != "": // the CLI would say yes, and go on as before
			return conn.Invalid("the agent can only be changed before the first prompt: start a new session for it")
		}
		next.lead, settings["agent"] = &own, orNil(own)
	case fastOption:
		next.fast, next.fastPicked, settings["fastMode"] = on, true, on
	case ultracodeOption:
		next.ultracode, settings["ultracode"] = &on, on
	}
	// Noted first: the CLI's own report of the change is then no news.
	note := func(from *choices) { s.choose(func(c *choices) { c.take(id, from) }) }
	note(&next)
	if proc := s.process(); proc != nil { // else the next process gets it
		err := s.tell(ctx, func(ctx context.Context) (err error) {
			switch id {
			case modeOption:
				return proc.SetMode(ctx, value)
			case modelOption:
				err = proc.SetModel(ctx, value)
			default:
				err = proc.ApplySettings(ctx, settings)
			}
			if err == nil && s.tunes() { // the levels of effort are the model's
				s.readSettings(ctx, proc)
			}
			if err == nil && id == modelOption {
				note(&next)
			}
			return err
		}, func() {
			if note(before); id == modeOption {
				s.tellMode(s.modes().CurrentModeId)
			}
			s.configChanged()
		})
		if err != nil {
			note(before)
			return processError(fmt.Errorf("the option %s was not changed: %w", id, err))
		}
	}
	if id == effortOption || id == agentOption {
		s.agent.notes(s.env).keep(s.id, optionNote+id, own) // the CLI's transcript does not tell
	}
	return nil
}

// tell sends a request to the CLI and waits for its reply. While too much is
// held the CLI is not read, and the editor must not wait: its user may be about
// to answer what holds it up. If the CLI refuses then, undo is called.
func (s *conversation) tell(ctx context.Context, request func(context.Context) error, undo func()) error {
	replied := make(chan error, 1)
	go func() { replied <- request(s.ctx) }()
	select {
	case err := <-replied:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.out.Stuck():
	}
	go func() {
		if err := <-replied; err != nil && s.ctx.Err() == nil {
			s.agent.log.Warn("Claude Code refused a change of its options", "session", s.id, "err", err)
			undo()
		}
	}()
	return nil
}

// modeChanged tells the editor about a mode that the CLI changed to by itself.
func (s *conversation) modeChanged(mode string) {
	if mode == "" || s.chosen.Load().mode == mode { // as nearly always
		return
	}
	if before, _ := s.choose(func(c *choices) { c.mode = mode }); before.mode != mode {
		s.tellMode(acp.SessionModeId(mode))
		s.configChanged()
	}
}

func (s *conversation) tellMode(mode acp.SessionModeId) {
	s.out.UpdateNow(acp.SessionUpdate{CurrentModeUpdate: &acp.SessionCurrentModeUpdate{CurrentModeId: mode}})
}

// configChanged tells the editor the options as they are now.
func (s *conversation) configChanged() {
	s.out.UpdateNow(acp.SessionUpdate{ConfigOptionUpdate: &acp.SessionConfigOptionUpdate{ConfigOptions: s.options()}})
}

// announce tells the editor what it can know of a session once it is open.
func (s *conversation) announce() {
	s.announceCommands()
	s.hear()
	s.refresh() // asking for it first would make the editor wait
}

// announceCommands tells the editor the slash commands of the CLI.
func (s *conversation) announceCommands() {
	info := s.info.Load()
	commands := make([]acp.AvailableCommand, 0, len(info.Commands))
	for _, c := range info.Commands {
		command := acp.AvailableCommand{Name: c.Name, Description: c.Description}
		if c.ArgumentHint != "" {
			command.Input = &acp.AvailableCommandInput{Unstructured: &acp.UnstructuredCommandInput{Hint: c.ArgumentHint}}
		}
		commands = append(commands, command)
	}
	s.out.UpdateNow(acp.SessionUpdate{AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{AvailableCommands: commands}})
}
