package backend

import (
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// A prompt that comes while a turn runs goes to the CLI at once. At the next
// step of the turn the CLI shows it to the model; if there is none, it makes a
// turn of its own of it, of all that wait if they are several. Each prompt has
// an id, and a result names those that it answers.

// canSteer reads in system/init whether the CLI does all that this needs: tell
// what becomes of a prompt, and take back what it has not begun with.
func canSteer(init claude.Message) bool {
	return init.Get(`capabilities.#(=="msg_lifecycle_v1")`).Exists() && init.Get(`capabilities.#(=="interrupt_cancel_queued_v1")`).Exists()
}

// answeredBy are the ids of the prompts that a result answers.
func answeredBy(result claude.Message) []string {
	var ids []string
	for _, id := range result.Get("user_message_uuids").Array() {
		ids = append(ids, id.Str)
	}
	if id := result.Get("user_message_uuid").Str; id != "" && len(ids) == 0 {
		ids = append(ids, id)
	}
	return ids
}

// promptChanged takes what the CLI says of a prompt.
func (p *pump) promptChanged(m claude.Message) {
	id := m.Get("command_uuid").Str
	switch m.Get("state").Str {
	case "started":
		p.s.out.PromptBegun(id)
	case "cancelled", "discarded":
		p.s.out.PromptBack(id, nil)
	case "refused":
		p.s.out.PromptBack(id, conn.Internal("Claude Code refused the prompt"))
	}
}
