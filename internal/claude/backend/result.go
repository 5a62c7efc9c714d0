package backend

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// resultEnd says how prompts end that were not cancelled.
func (s *conversation) resultEnd(m claude.Message) editor.TurnEnd {
	switch {
	case m.Subtype == "error_max_turns":
		return reason(acp.StopReasonMaxTurnRequests)
	case m.Get("stop_reason").Str == "refusal":
		return reason(acp.StopReasonRefusal)
	case m.Get("stop_reason").Str == "max_tokens", m.Get("api_error").Str == "max_output_tokens":
		return reason(acp.StopReasonMaxTokens)
	case strings.HasPrefix(m.Get("terminal_reason").Str, "aborted"):
		return reason(acp.StopReasonCancelled)
	case s.badLogin:
		return editor.TurnEnd{Err: authRequired(resultText(m) + "\n" + loginHelp)}
	case m.Get("is_error").Bool() || m.Subtype != "success":
		return editor.TurnEnd{Err: conn.Internal(resultText(m))}
	}
	return reason(acp.StopReasonEndTurn)
}

func reason(r acp.StopReason) editor.TurnEnd { return editor.TurnEnd{Reason: r} }

// resultText is what the CLI says went wrong, without its own diagnostics.
func resultText(m claude.Message) string {
	lines := m.Errors()
	if s := strings.TrimSpace(m.Get("result").String()); s != "" {
		lines = append(lines, s)
	}
	if len(lines) == 0 {
		return "Claude Code reported an error without saying which (" + m.Subtype + ")"
	}
	return strings.Join(lines, "\n")
}
