package backend

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
)

// In auto mode the CLI denies what its check flags, in words for the model, and asks
// nobody. The verdict is in the stream before the call is decided: the CLI's callback
// before the call is held until then, and a flagged call is asked.

const (
	autoCallback = "acp-bridge-auto"
	// autoTime is how long the CLI waits for the callback, longer than for any model.
	autoTime = 8 * time.Hour

	blockedFor = "Auto mode blocked this: "
	notChecked = "Auto mode cannot check this here."
)

// checkedModes are those in which it checks. To plan is one where auto mode can be had; else
// no verdict comes in it, and the CLI asks by itself.
var checkedModes = []string{"auto", "plan"}

// autoMode is what is known of the check, for the lane.
type autoMode struct {
	message   string            // the one that is streamed
	writing   bool              // its verdicts are to come
	asks      map[string]string // why a call is asked; nil before the verdicts
	unchecked bool              // the message came without: there is no check, and the CLI denies all that needs it
	held      []claude.Message  // callbacks that wait for a verdict
}

// verdicts takes a stream event of the conversation.
func (p *pump) verdicts(m claude.Message) {
	if m.ParentToolUseID() != "" {
		return
	}
	switch m.Subtype {
	case "message_start":
		p.auto = autoMode{message: m.Get("event.message.id").Str, writing: true, held: p.auto.held}
	case "message_delta":
		for _, r := range m.Get("event.delta.safeguard_results").Array() {
			if r.Get("status.type").Str == "available" {
				p.auto.asks = asksFor(r.Get("status.tool_uses"))
				p.judged()
			}
		}
	case "message_stop":
		p.auto.unchecked = p.auto.asks == nil
		p.judged()
	}
}

// whole takes a message of the conversation. One that is not streamed, as after a stream
// that broke off, has no verdicts.
func (p *pump) whole(m claude.Message) {
	if m.ParentToolUseID() == "" && m.Get("message.id").Str != p.auto.message {
		p.auto.unchecked, p.auto.asks = true, nil
		p.judged()
	}
}

// autoHook takes the callback before a call, or the one behind a call that was blocked: in a
// sub-agent, where nothing checks while Claude Code plans, or because its verdict came late.
func (p *pump) autoHook(m claude.Message) {
	in, said := m.Get("request.input"), hook.NoSay
	checked := slices.Contains(checkedModes, in.Get("permission_mode").Str)
	if checked {
		said = p.blocks.reply(in)
	}
	if !checked || in.Get("agent_id").Exists() || in.Get("hook_event_name").Str == hook.PermissionDenied || !bytes.Equal(said, hook.NoSay) {
		p.reply(m.RequestID(), said)
		return
	}
	p.auto.held = append(p.auto.held, m)
	if !p.auto.writing {
		p.judged()
	}
}

// judged answers the callbacks that wait: no verdict comes any more.
func (p *pump) judged() {
	held := p.auto.held
	p.auto.held, p.auto.writing = nil, false
	for _, m := range held {
		in := m.Get("request.input")
		why, ask := p.auto.asks[in.Get("tool_use_id").Str]
		if !ask && p.auto.unchecked && in.Get("permission_mode").Str == "auto" && acts(in.Get("tool_name").Str) {
			why, ask = notChecked, true
		}
		if !ask {
			p.reply(m.RequestID(), struct{}{})
			continue
		}
		p.reply(m.RequestID(), hook.Ask(why))
	}
}

// blocks are the calls that were blocked in this turn without a verdict in the stream, which
// has none for sub-agents, and why. Such a call may be made again, once, and is asked then.
type blocks map[[sha256.Size]byte]string

func (b blocks) reply(in gjson.Result) json.RawMessage {
	call := sha256.Sum256([]byte(in.Get("[agent_id,tool_name,tool_input]").Raw))
	why, known := b[call]
	switch {
	case in.Get("hook_event_name").Str != hook.PermissionDenied:
		if why == "" {
			return hook.NoSay
		}
		b[call] = ""
		return hook.Ask(why)
	case known:
		return hook.NoSay
	}
	if b[call] = blockedFor + in.Get("reason").Str; in.Get("reason").Str == hook.Unchecked {
		b[call] = notChecked
	}
	return hook.Retry
}

func asksFor(verdicts gjson.Result) map[string]string {
	asks := map[string]string{}
	for id, v := range verdicts.Map() {
		switch {
		case v.Get("outcome").Str == "flagged":
			asks[id] = blockedFor + v.Get("explanation").String()
		case v.Get("type").Str == "unavailable":
			asks[id] = notChecked
		}
	}
	return asks
}

// acts reports whether a tool does something that is asked in other modes.
func acts(tool string) bool {
	return !slices.Contains([]acp.ToolKind{acp.ToolKindRead, acp.ToolKindSearch, acp.ToolKindThink, acp.ToolKindSwitchMode},
		display.Tool{Name: tool}.Info("").Kind)
}
