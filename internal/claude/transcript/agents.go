package transcript

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	// maxDepth bounds how deep sub-agents of sub-agents are followed.
	maxDepth = 8
	// maxAgents bounds how many sub-agents of a session are looked up.
	maxAgents = 10_000
	// maxAgentMeta bounds the file that names a sub-agent's call.
	maxAgentMeta = 64 << 10
)

// Agent is a sub-agent that has a transcript of its own.
type Agent struct {
	// ID is the CLI's id of it, Type the kind of agent it is, Task what it was
	// for, in a few words. Type and Task may be empty.
	ID, Type, Task string
	// Stopped is set if the user stopped it.
	Stopped bool

	path string
}

// findAgents returns a session's sub-agents by the call that started them. The
// CLI keeps their transcripts in a folder named after the session, nested ones
// beside the others.
func findAgents(session string) map[string]Agent {
	byCall := map[string]Agent{}
	dir := filepath.Join(strings.TrimSuffix(session, extension), "subagents")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".meta.json")
		if !ok || len(byCall) >= maxAgents {
			continue
		}
		meta := readSmall(filepath.Join(dir, e.Name()), maxAgentMeta)
		if !clean.ValidJSON(meta) {
			continue
		}
		if call := gjson.GetBytes(meta, "toolUseId").String(); call != "" {
			byCall[call] = Agent{
				ID:   strings.TrimPrefix(name, "agent-"),
				Type: gjson.GetBytes(meta, "agentType").String(), Task: gjson.GetBytes(meta, "description").String(),
				Stopped: gjson.GetBytes(meta, "stoppedByUser").Bool(),
				path:    filepath.Join(dir, name+extension),
			}
		}
	}
	return byCall
}

// agent replays the sub-agent that a call started, if there is one. A file
// that cannot be read is a sub-agent without history.
func (r *replay) agent(t *Transcript, call string) {
	agent, ok := r.agents[call]
	if !ok || t.depth >= maxDepth {
		return
	}
	delete(r.agents, call) // each once: what names itself as its parent ends here
	r.running[call] = true
	defer delete(r.running, call)
	sub, err := open(r.ctx, agent.path, call, t.depth+1)
	if err != nil {
		return
	}
	defer sub.Close()
	_ = r.run(sub)
}
