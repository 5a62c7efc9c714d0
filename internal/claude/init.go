package claude

import (
	"encoding/json"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/tidwall/gjson"
)

// InitInfo is the CLI's reply to initialize. Commands, Models and Agents must not be
// changed: many sessions of a project share them.
type InitInfo struct {
	Commands []Command
	Models   []Model
	Agents   []Agent
	Mode     string // the permission mode
	Version  string // of the CLI
	// FastMode is "on", "off" or "cooldown"; empty when the CLI does not tell.
	FastMode string
	// FastModeReason says why fast mode is off.
	FastModeReason string
	// Account is what the CLI says about the login, for example the key's
	// source; nil when it says nothing.
	Account json.RawMessage

	offers *offers // of Commands, Models and Agents
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
	text := func(path string) string { return strings.Clone(r.Get(path).String()) } // raw is not kept
	info := &InitInfo{
		Mode:           text("current_permission_mode"),
		Version:        text("claude_code_version"),
		FastMode:       text("fast_mode_state"),
		FastModeReason: text("fast_mode_disabled_reason"),
		offers:         shareOffers(r.Get("commands").Raw, r.Get("models").Raw, r.Get("agents").Raw),
	}
	info.Commands, info.Models, info.Agents = info.offers.commands, info.offers.models, info.offers.agents
	if r.Get("account").IsObject() {
		info.Account = json.RawMessage(text("account"))
	}
	return info
}

// offers is the long part of the reply: tens of kB, the same in most sessions.
type offers struct {
	key      string // the JSON that it was read from
	commands []Command
	models   []Model
	agents   []Agent
}

// shared holds the offers that sessions have, each once. One that no session has
// any more is gone.
var shared = struct {
	sync.Mutex
	seed   maphash.Seed
	offers map[uint64]weak.Pointer[offers]
}{seed: maphash.MakeSeed(), offers: map[uint64]weak.Pointer[offers]{}}

// shareOffers reads commands, models and agents, or returns what was read from the same
// text before.
func shareOffers(commands, models, agents string) *offers {
	key := commands + models + agents
	hash := maphash.String(shared.seed, key)
	shared.Lock()
	defer shared.Unlock()
	if o := shared.offers[hash].Value(); o != nil && o.key == key {
		return o
	}
	rest := key[len(commands):]
	o := &offers{key: key, commands: readCommands(key[:len(commands)]), models: readModels(rest[:len(models)]), agents: readAgents(rest[len(models):])}
	pointer := weak.Make(o)
	shared.offers[hash] = pointer
	runtime.AddCleanup(o, func(hash uint64) {
		shared.Lock()
		defer shared.Unlock()
		if shared.offers[hash] == pointer {
			delete(shared.offers, hash)
		}
	}, hash)
	return o
}

func readCommands(list string) (commands []Command) {
	for _, c := range gjson.Parse(list).Array() {
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

func readAgents(list string) (agents []Agent) {
	for _, a := range gjson.Parse(list).Array() {
		if name := a.Get("name").String(); name != "" {
			agents = append(agents, Agent{Name: name, Description: a.Get("description").String(), Own: slices.Contains(ownAgents, name)})
		}
	}
	return agents
}

func readModels(list string) (models []Model) {
	for _, m := range gjson.Parse(list).Array() {
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
