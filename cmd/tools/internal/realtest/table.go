package realtest

import (
	"fmt"
	"path/filepath"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
)

// Agents lists the agents that are known here.
func Agents() []Agent {
	return []Agent{
		{"grok", []string{"@xai-official/grok@1.0.41"}, ".bin/grok", grok, false},
		{"kimi", []string{"@moonshot-ai/kimi-code@2.1.0"}, ".bin/kimi", kimi, false},
		{"qwen", []string{"@qwen-code/qwen-code@0.24.4"}, ".bin/qwen", qwen, false},
		{"codex", []string{"@agentclientprotocol/codex-acp@2.6.0"}, ".bin/codex-acp", codex, false},
		{"goose", []string{"@aaif/goose-binary-linux-x64@1.52.0"}, "@aaif/goose-binary-linux-x64/bin/goose", goose, false},
		{"opencode", []string{"opencode-ai@1.18.33"}, ".bin/opencode", opencode, false},
		{"opencode2", nil, ".bin/opencode", opencode2, true}, // npm has none: it is built from its sources
		{"gemini", []string{"@google/gemini-cli@0.61.0"}, ".bin/gemini", gemini, true},
		{"copilot", []string{"@github/copilot@1.0.102"}, ".bin/copilot", copilot, true},
		{"kilo", []string{"@kilocode/cli@7.7.7"}, ".bin/kilo", kilo, true},
		{"droid", []string{"droid@0.215.0"}, ".bin/droid", droid, true},
		{"nanocoder", []string{"@nanocollective/nanocoder@1.30.0"}, ".bin/nanocoder", nanocoder, true},
		{"claude", []string{"@agentclientprotocol/claude-agent-acp@0.99.1"}, ".bin/claude-agent-acp", claude, true},
	}
}

func grok(s *setting) (args, env []string) {
	v1 := s.url + "/v1"
	return []string{"agent", "--no-leader", "--xai-api-base-url", v1, "--cli-chat-proxy-base-url", v1, "stdio"},
		[]string{"XAI_API_KEY=fake", "GROK_HOME=" + s.home + "/.grok"}
}

func kimi(s *setting) (args, env []string) {
	return []string{"acp"}, []string{
		"KIMI_CODE_HOME=" + s.home + "/.kimi", "KIMI_MODEL_NAME=" + modeltest.Model, "KIMI_MODEL_API_KEY=fake",
		"KIMI_MODEL_PROVIDER_TYPE=openai", "KIMI_MODEL_BASE_URL=" + s.url + "/v1", "KIMI_CODE_NO_AUTO_UPDATE=1",
	}
}

func qwen(s *setting) (args, env []string) {
	s.write(".qwen/settings.json", `{"security":{"auth":{"selectedType":"openai"}}}`)
	return []string{"--acp"}, []string{"OPENAI_API_KEY=fake", "OPENAI_BASE_URL=" + s.url + "/v1", "OPENAI_MODEL=" + modeltest.Model}
}

// codex gets a model that it does not know: those it knows have their tools
// inside another tool, as JavaScript.
func codex(s *setting) (args, env []string) {
	s.write(".codex/config.toml", fmt.Sprintf(`model = %q
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = %q
wire_api = "responses"
env_key = "FAKE_KEY"
`, modeltest.Model, s.url+"/v1"))
	return nil, []string{"CODEX_HOME=" + s.home + "/.codex", "FAKE_KEY=fake", "OPENAI_API_KEY=fake"}
}

func goose(s *setting) (args, env []string) {
	return []string{"acp"}, []string{
		"GOOSE_PROVIDER=openai", "GOOSE_MODEL=" + modeltest.Model, "OPENAI_HOST=" + s.url,
		"OPENAI_API_KEY=fake", "GOOSE_DISABLE_KEYRING=1",
	}
}

func opencode(s *setting) (args, env []string) {
	s.write(".config/opencode/opencode.json", openCodeConfig(s))
	return []string{"acp"}, []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
}

func kilo(s *setting) (args, env []string) {
	s.write(".config/kilo/kilo.json", openCodeConfig(s))
	return []string{"acp"}, []string{"KILO_DISABLE_MODELS_FETCH=1", "KILO_DISABLE_AUTOUPDATE=1"}
}

func openCodeConfig(s *setting) string {
	return fmt.Sprintf(`{"model":"fake/%[1]s","small_model":"fake/%[1]s","permission":{"bash":"ask"},"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","name":"fake",
"options":{"baseURL":%[2]q,"apiKey":"fake"},"models":{%[1]q:{"name":"fake","tool_call":true,"limit":{"context":100000,"output":8000}}}}}}`,
		modeltest.Model, s.url+"/v1")
}

// opencode2 was built from github.com/anomalyco/opencode, branch v2, commit 3edcb3ca2b.
func opencode2(s *setting) (args, env []string) {
	s.write(".config/opencode/opencode.json", fmt.Sprintf(`{"enabled_providers":["fake"],"model":"fake/%[1]s","permissions":[{"action":"shell","resource":"*","effect":"ask"},{"action":"edit","resource":"*","effect":"ask"}],
"providers":{"fake":{"name":"fake","package":"@opencode-ai/ai/providers/openai-compatible","settings":{"baseURL":%[2]q,"apiKey":"fake"},
"models":{%[1]q:{"name":"fake","capabilities":{"tools":true,"input":["text"],"output":["text"]},"limit":{"context":100000,"output":8000}}}}}}`,
		modeltest.Model, s.url+"/v1"))
	return []string{"acp"}, []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_FFF=1"}
}

func gemini(s *setting) (args, env []string) {
	s.write(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
	return []string{"--acp", "-m", "gemini-2.5-pro"}, []string{
		"GEMINI_API_KEY=fake", "GOOGLE_GEMINI_BASE_URL=" + s.url, "GEMINI_CLI_TRUST_WORKSPACE=true",
	}
}

func copilot(s *setting) (args, env []string) {
	return []string{"--acp"}, []string{
		"COPILOT_PROVIDER_BASE_URL=" + s.url + "/v1", "COPILOT_PROVIDER_API_KEY=fake",
		"COPILOT_MODEL=" + modeltest.Model, "COPILOT_OFFLINE=true",
	}
}

func droid(s *setting) (args, env []string) {
	s.write(".factory/settings.json", fmt.Sprintf(`{"customModels":[{"model":%q,"displayName":"Fake","baseUrl":%q,
"apiKey":"fake","provider":"generic-chat-completion-api","maxOutputTokens":8000}]}`, modeltest.Model, s.url+"/v1"))
	return []string{"exec", "--output-format", "acp", "-m", "custom:Fake-0"},
		[]string{"FACTORY_API_KEY=fk-fake", "FACTORY_AIRGAP_ENABLED=true"}
}

func nanocoder(s *setting) (args, env []string) {
	s.put(filepath.Join(s.work, "agents.config.json"), fmt.Sprintf(`{"nanocoder":{"providers":[{"name":"fake","baseUrl":%q,
"apiKey":"fake","models":[%q]}]}}`, s.url+"/v1", modeltest.Model))
	return []string{"--acp"}, nil
}

func claude(s *setting) (args, env []string) {
	return nil, []string{
		"ANTHROPIC_BASE_URL=" + s.url, "ANTHROPIC_API_KEY=fake",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1",
	}
}
