package claudetest

import (
	"fmt"
	"maps"
	"os"
	"strings"
)

// FullInit is for [Script].Init: a reply of the size that the real CLI's has
// without plugins, 17 kB with 44 commands.
func FullInit() map[string]any {
	words := func(n int) string { return strings.Repeat("does what it says and then some; ", n/33+1)[:n] }
	var commands, agents, models []any
	for i := range 44 {
		commands = append(commands, object{
			"name": fmt.Sprintf("command-%d", i+1), "description": fmt.Sprintf("%d ", i) + words(190),
			"argumentHint": "[<target>]", "aliases": []string{fmt.Sprintf("c%d", i+1)}, "builtin": true,
		})
	}
	for i := range 6 {
		agents = append(agents, object{"name": fmt.Sprintf("agent-%d", i+1), "description": words(200)})
	}
	for i := range 5 {
		models = append(models, object{
			"value": fmt.Sprintf("model-%d", i+1), "resolvedModel": fmt.Sprintf("claude-model-%d", i+1),
			"displayName": fmt.Sprintf("Model %d", i+1), "description": words(80), "supportsEffort": true,
			"supportedEffortLevels": []string{"low", "medium", "high"}, "supportsFastMode": true,
		})
	}
	return map[string]any{"commands": commands, "agents": agents, "models": models}
}

func (e *engine) initReply() object {
	e.mu.Lock()
	mode := e.mode
	e.mu.Unlock()
	reply := object{
		"commands": []object{
			{"name": "code-review", "description": "Review the current diff", "argumentHint": "[<target>]", "aliases": []string{"review"}, "builtin": true},
			{"name": "compact", "description": "Compact the conversation", "argumentHint": "", "builtin": true},
			{"name": "context", "description": "Show context usage", "argumentHint": "", "builtin": true},
		},
		"agents":                  []object{{"name": "general-purpose", "description": "General-purpose agent"}},
		"output_style":            "default",
		"available_output_styles": []string{"default", "Concise"},
		"models": []object{
			{"value": "default", "resolvedModel": "claude-opus-5-5", "displayName": "Default (recommended)", "description": "Use the default model (currently Opus 5.5)"},
			{"value": "sonnet", "resolvedModel": "claude-sonnet-5-5", "displayName": "Sonnet", "description": "Efficient for routine tasks"},
			{"value": "haiku", "resolvedModel": "claude-haiku-5-5", "displayName": "Haiku", "description": "Fastest for quick answers"},
		},
		"account":                 object{"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty"},
		"pid":                     os.Getpid(),
		"claude_code_version":     "2.1.325",
		"current_permission_mode": mode,
		"session_state":           "idle",
	}
	maps.Copy(reply, e.script.Init)
	maps.DeleteFunc(reply, func(_ string, v any) bool { return v == nil })
	return reply
}

func (e *engine) initMessage() object {
	cwd, _ := os.Getwd()
	e.mu.Lock()
	mode, model := e.mode, e.model
	e.mu.Unlock()
	capabilities := []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1"}
	if e.script.Old {
		capabilities = nil
	}
	return object{
		"capabilities": capabilities,
		"type":         "system", "subtype": "init", "cwd": cwd, "model": model, "permissionMode": mode,
		"tools":       []string{"Task", "AskUserQuestion", "Bash", "Edit", "ExitPlanMode", "Read", "WebFetch", "Write"},
		"mcp_servers": []any{}, "slash_commands": []string{"code-review", "compact", "context"},
		"apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "2.1.325", "output_style": "default",
		"agents": []string{"general-purpose"},
	}
}
