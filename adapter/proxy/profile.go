package proxy

import (
	"slices"

	"github.com/tidwall/gjson"
)

// Profile is what is known of an agent beyond what it says over ACP. The zero
// value is an agent that nobody knows.
type Profile struct {
	// Name is what the agent is called here.
	Name string
	// Title is its name for people.
	Title string
	// Says are names by which it calls itself in agentInfo.
	Says []string
	// Programs are names by which it is started.
	Programs []string
	// Choices is set for an agent that puts questions into ordinary permission
	// requests.
	Choices bool
	// Note says for people what the proxy does for it.
	Note string
}

// Profiles is the table of known agents.
func Profiles() []Profile {
	return []Profile{
		{Name: "claude", Title: "Claude Code (claude-agent-acp)", Says: []string{"@agentclientprotocol/claude-agent-acp"}, Programs: []string{"claude-agent-acp"}, Note: "asks with forms"},
		{Name: "codex", Title: "Codex (codex-acp)", Says: []string{"@agentclientprotocol/codex-acp"}, Programs: []string{"codex-acp"}, Note: "asks with forms"},
		{Name: "cursor", Title: "Cursor", Programs: []string{"cursor-agent"}, Note: "asks with cursor/ask_question; takes no own words"},
		{Name: "grok", Title: "Grok Build", Programs: []string{"grok"}, Note: "asks with _x.ai/ask_user_question"},
		{Name: "kimi", Title: "Kimi Code", Says: []string{"Kimi Code CLI"}, Programs: []string{"kimi"}, Note: "asks with forms; takes no own words"},
		{Name: "nanocoder", Title: "nanocoder", Says: []string{"nanocoder"}, Programs: []string{"nanocoder"}, Choices: true, Note: "asks with permission requests; takes no own words"},
		{Name: "pi", Title: "pi (pi-acp)", Says: []string{"pi-acp"}, Programs: []string{"pi-acp"}, Choices: true, Note: "asks with permission requests; takes no own words"},
		{Name: "qwen", Title: "Qwen Code", Says: []string{"qwen-code"}, Programs: []string{"qwen"}, Note: "asks with permission requests of its own kind"},
	}
}

// named is the profile of an agent that has answered initialize. Where its name
// is not known, what its command says stays.
func (p Profile) named(result []byte) Profile {
	name := gjson.GetBytes(result, "agentInfo.name").String()
	if gjson.GetBytes(result, "_meta.grokShell").Bool() { // it has no agentInfo
		return profileNamed("grok")
	}
	for _, known := range Profiles() {
		if slices.Contains(known.Says, name) {
			return known
		}
	}
	return p
}

func profileNamed(name string) Profile {
	for _, known := range Profiles() {
		if known.Name == name {
			return known
		}
	}
	return Profile{}
}

// knows is what is known of the agent now.
func (p *proxy) knows() Profile {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.profile
}
