package claude

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"
)

// InitInfo is the CLI's reply to initialize.
type InitInfo struct {
	Commands []Command
	Models   []Model
	Agents   []Agent
	Mode     string // the permission mode
	// FastMode is "on", "off" or "cooldown"; empty when the CLI does not tell.
	FastMode string
	// FastModeReason says why fast mode is off.
	FastModeReason string
}

// Command is a slash command, without its slash.
type Command struct {
	Name         string
	Description  string
	ArgumentHint string
}

// Model is a model that SetModel takes.
type Model struct {
	Value       string
	DisplayName string
	Description string
	// Resolved is the name under which the API knows it.
	Resolved string
	// Efforts are the levels of effort that it takes, nil if it has none.
	Efforts []string
	// Fast is set if it has a fast mode, Auto if the CLI can decide in it what needs asking.
	Fast, Auto bool
}

// Agent is one that the main conversation can be led by, or a task be given to.
type Agent struct {
	Name        string
	Description string
	// Own is set for those that are part of the CLI. It has them for tasks.
	Own bool
}

// ownAgents are the names of those agents: the CLI does not tell them apart.
var ownAgents = []string{"claude", "general-purpose", "Explore", "Plan", "statusline-setup"}

func parseInit(raw json.RawMessage) *InitInfo {
	r := gjson.ParseBytes(raw)
	text := func(path string) string { return r.Get(path).String() }
	return &InitInfo{
		Mode:           text("current_permission_mode"),
		FastMode:       text("fast_mode_state"),
		FastModeReason: text("fast_mode_disabled_reason"),
		Commands:       readCommands(r.Get("commands")),
		Models:         readModels(r.Get("models")),
		Agents:         readAgents(r.Get("agents")),
	}
}

func readCommands(list gjson.Result) (commands []Command) {
	for _, c := range list.Array() {
		if name := c.Get("name").String(); name != "" {
			commands = append(commands, Command{
				Name:         name,
				Description:  c.Get("description").String(),
				ArgumentHint: c.Get("argumentHint").String(),
			})
		}
	}
	return commands
}

func readAgents(list gjson.Result) (agents []Agent) {
	for _, a := range list.Array() {
		if name := a.Get("name").String(); name != "" {
			agents = append(agents, Agent{Name: name, Description: a.Get("description").String(), Own: slices.Contains(ownAgents, name)})
		}
	}
	return agents
}

func readModels(list gjson.Result) (models []Model) {
	for _, m := range list.Array() {
		value := m.Get("value").String()
		if value == "" {
			continue
		}
		model := Model{
			Value:       value,
			DisplayName: m.Get("displayName").String(),
			Description: m.Get("description").String(),
			Resolved:    m.Get("resolvedModel").String(),
			Fast:        m.Get("supportsFastMode").Bool(),
			Auto:        m.Get("supportsAutoMode").Bool(),
		}
		if m.Get("supportsEffort").Bool() {
			for _, level := range m.Get("supportedEffortLevels").Array() {
				model.Efforts = append(model.Efforts, level.String())
			}
		}
		models = append(models, model)
	}
	return models
}
