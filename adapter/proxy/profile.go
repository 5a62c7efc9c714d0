package proxy

import (
	"slices"
	"time"

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
	// Start is the command that starts it over ACP.
	Start []string
	// Choices is set for an agent that puts questions into ordinary permission
	// requests.
	Choices bool
	// NoWords is set for an agent that takes none but the answers it offers.
	NoWords bool
	// Tool is set for an agent that has no question tool over ACP.
	Tool bool
	// ServerNames is set for an agent that mixes up MCP servers of one name in
	// several sessions: each session's has a name of its own.
	ServerNames bool
	// MixesServers is set for an agent that calls the MCP server of one session
	// from another, and shows its tool calls where they belong.
	MixesServers bool
	// ToolLimit is how long it waits for a tool over MCP, less a margin; 0 is not
	// known.
	ToolLimit time.Duration
	// Env is set for the agent's process, unless the user has.
	Env []string
	// Config is the variable with a configuration in JSON that gets a feature.
	Config string
	// Until is the first major version that is another agent under the same command,
	// with no such API and none of these variables; 0 is none.
	Until int
	// SidePassword is the variable with the password of the HTTP API of an agent
	// that takes answers there alone.
	SidePassword string
	// Note says for people what the proxy does for it.
	Note string
}

// Profiles is the table of known agents.
func Profiles() []Profile {
	return []Profile{
		{
			Name: "antigravity", Title: "Antigravity",
			NoWords: true,
			Says:    []string{"antigravity-acp"}, Programs: []string{"agy_acp_server.par", "agy_acp_server"}, Start: []string{"agy_acp_server.par", "--uid="},
			Choices: true,
			Note:    "asks with permission requests, as it is documented (not run); accepts only its options",
		},
		{
			Name: "claude", Title: "Claude Code (claude-agent-acp)",
			Says: []string{"@agentclientprotocol/claude-agent-acp"}, Programs: []string{"claude-agent-acp"}, Start: []string{"claude-agent-acp"},
			Note: "asks with forms",
		},
		{
			Name: "codex", Title: "Codex (codex-acp)",
			Says: []string{"@agentclientprotocol/codex-acp"}, Programs: []string{"codex-acp"}, Start: []string{"codex-acp"},
			ToolLimit: 270 * time.Second, Config: "CODEX_CONFIG",
			Note: "asks with forms",
		},
		{
			Name: "copilot", Title: "GitHub Copilot CLI",
			Says: []string{"Copilot"}, Programs: []string{"copilot"}, Start: []string{"copilot", "--acp"},
			Tool: true, ToolLimit: 10 * time.Minute,
			Note: "gets a question tool",
		},
		{
			Name: "cursor", Title: "Cursor",
			NoWords:  true,
			Programs: []string{"cursor-agent"}, Start: []string{"cursor-agent", "acp"},
			Note: "asks with cursor/ask_question; accepts only its options",
		},
		{
			Name: "droid", Title: "Factory Droid",
			Says: []string{"@factory/cli"}, Programs: []string{"droid"}, Start: []string{"droid", "exec", "--output-format", "acp"},
			Tool: true, ToolLimit: 150 * time.Second, ServerNames: true,
			Note: "gets a question tool",
		},
		{
			Name: "gemini", Title: "Gemini CLI",
			Says: []string{"gemini-cli"}, Programs: []string{"gemini"}, Start: []string{"gemini", "--acp"},
			Tool: true, ToolLimit: 9 * time.Minute,
			Note: "gets a question tool; for companies and API keys: since June 2026 Google serves it to no private accounts",
		},
		{
			Name: "goose", Title: "goose",
			Says: []string{"goose"}, Programs: []string{"goose"}, Start: []string{"goose", "acp"},
			Tool: true, ToolLimit: 3500 * time.Second, Env: []string{"GOOSE_DEFAULT_EXTENSION_TIMEOUT=3600"},
			Note: "gets a question tool; MCP servers ask with forms",
		},
		{
			Name: "grok", Title: "Grok Build",
			Programs: []string{"grok"}, Start: []string{"grok", "agent", "stdio"},
			Note: "asks with _x.ai/ask_user_question",
		},
		{
			Name: "kilo", Title: "Kilo",
			Says: []string{"Kilo"}, Programs: []string{"kilo", "kilocode"}, Start: []string{"kilo", "acp"},
			SidePassword: "KILO_SERVER_PASSWORD", MixesServers: true,
			Note: "is answered over its HTTP API",
		},
		{
			Name: "kimi", Title: "Kimi Code",
			NoWords: true,
			Says:    []string{"Kimi Code CLI"}, Programs: []string{"kimi"}, Start: []string{"kimi", "acp"},
			ToolLimit: 3500 * time.Second, Env: []string{"KIMI_MCP_TOOL_TIMEOUT_MS=3600000"},
			Note: "asks with forms; accepts only its options",
		},
		{
			Name: "nanocoder", Title: "nanocoder",
			NoWords: true,
			Says:    []string{"nanocoder"}, Programs: []string{"nanocoder"}, Start: []string{"nanocoder", "--acp"},
			Choices: true,
			Note:    "asks with permission requests; accepts only its options",
		},
		{
			Name: "opencode", Title: "OpenCode",
			Says: []string{"OpenCode"}, Programs: []string{"opencode"}, Start: []string{"opencode", "acp"},
			SidePassword: "OPENCODE_SERVER_PASSWORD", MixesServers: true, Env: []string{"OPENCODE_ENABLE_QUESTION_TOOL=1"}, Until: 2,
			Note: "is answered over its HTTP API; version 2 gets a question tool in place of its own",
		},
		{
			Name: "pi", Title: "pi (pi-acp)",
			NoWords: true,
			Says:    []string{"pi-acp"}, Programs: []string{"pi-acp"}, Start: []string{"pi-acp"},
			Choices: true,
			Note:    "asks with permission requests; accepts only its options",
		},
		{
			Name: "qwen", Title: "Qwen Code",
			Says: []string{"qwen-code"}, Programs: []string{"qwen"}, Start: []string{"qwen", "--acp"},
			Note: "asks with permission requests of its own kind",
		},
	}
}

// named is the profile of an agent that has answered initialize. Where its name
// is not known, what its command says stays.
func (p Profile) named(result []byte) Profile {
	name := gjson.GetBytes(result, "agentInfo.name").String()
	if gjson.GetBytes(result, "_meta.grokShell").Bool() { // it has no agentInfo
		return profileNamed("grok")
	}
	if known := profileWith(func(k Profile) bool { return slices.Contains(k.Says, name) }); known.Name != "" {
		return known
	}
	return p
}

func profileNamed(name string) Profile {
	return profileWith(func(p Profile) bool { return p.Name == name })
}

// profileWith is the first that fits; the zero value is none.
func profileWith(fits func(Profile) bool) Profile {
	for _, known := range Profiles() {
		if fits(known) {
			return known
		}
	}
	return Profile{}
}
