package claudetest

import (
	"maps"
	"os"
)

func (e *engine) initReply() object {
	mode, _ := e.now()
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
			{"value": "default", "supportsAutoMode": true, "resolvedModel": "claude-opus-5-5", "displayName": "Default (recommended)", "description": "Use the default model (currently Opus 5.5)"},
			{"value": "sonnet", "supportsAutoMode": true, "resolvedModel": "claude-sonnet-5-5", "displayName": "Sonnet", "description": "Efficient for routine tasks"},
			{"value": "haiku", "supportsAutoMode": true, "resolvedModel": "claude-haiku-5-5", "displayName": "Haiku", "description": "Fastest for quick answers"},
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
	mode, model := e.now()
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
