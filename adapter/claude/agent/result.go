package agent

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
)

// resultEnding says how a prompt ends that was not cancelled.
func resultEnding(m claude.Message, t *turn) ending {
	switch {
	case m.Subtype == "error_max_turns":
		return stopped(acp.StopReasonMaxTurnRequests)
	case m.Get("stop_reason").Str == "refusal":
		return stopped(acp.StopReasonRefusal)
	case m.Get("stop_reason").Str == "max_tokens", m.Get("api_error").Str == "max_output_tokens":
		return stopped(acp.StopReasonMaxTokens)
	case strings.HasPrefix(m.Get("terminal_reason").Str, "aborted"):
		return stopped(acp.StopReasonCancelled)
	case t.authError:
		return ending{err: authRequired(resultText(m) + "\n" + loginHelp)}
	case m.Get("is_error").Bool() || m.Subtype != "success":
		return ending{err: internal(resultText(m))}
	}
	return stopped(acp.StopReasonEndTurn)
}

// resultText is what the CLI says went wrong, without its own diagnostics.
func resultText(m claude.Message) string {
	var lines []string
	for _, e := range m.Get("errors").Array() {
		if s := strings.TrimSpace(e.String()); s != "" && !strings.HasPrefix(s, "[ede_diagnostic]") {
			lines = append(lines, s)
		}
	}
	if s := strings.TrimSpace(m.Get("result").String()); s != "" {
		lines = append(lines, s)
	}
	if len(lines) == 0 {
		return "Claude Code reported an error without saying which (" + m.Subtype + ")"
	}
	return strings.Join(lines, "\n")
}
