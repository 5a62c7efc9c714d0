package backend

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
)

// AIR is JetBrains' client. It says so in its capabilities, and then reads what is
// under _meta.jetbrains.air; no other client gets that. JetBrains' own help does not
// describe these fields. docs/air-extensions.md of claude-agent-acp does, and this is
// the part of it that says how something looks.

// airOf is what AIR says in _meta; nil is said by others.
func airOf(meta map[string]any) object {
	jetBrains, _ := meta["jetbrains"].(map[string]any)
	air, _ := jetBrains["air"].(map[string]any)
	return air
}

// forAIR is meta with something for AIR. It must not be shared.
func forAIR(meta object, name string, value any) object {
	if meta == nil {
		meta = object{}
	}
	meta["jetbrains"] = object{"air": object{"version": 1, name: value}}
	return meta
}

// toolForAIR says of a tool call what AIR shows of it.
func (p *painter) toolForAIR(t display.Tool, meta object) object {
	if !p.client.air {
		return meta
	}
	in := gjson.ParseBytes(t.Input)
	switch {
	case t.Shell() && in.Get("description").String() != "":
		return forAIR(meta, "commandTitle", in.Get("description").String())
	case launches(t.Name):
		return forAIR(meta, "subagent", true)
	case t.Name == "Skill" && in.Get("skill").String() != "":
		return forAIR(meta, "skill", object{"name": in.Get("skill").String()})
	case strings.HasPrefix(t.Name, "mcp__"):
		meta["is_mcp_tool_call"] = true
	}
	return meta
}

// kindForAIR is what AIR shows a permission mode as.
var kindForAIR = map[acp.SessionModeId]string{
	"default": "standard", "acceptEdits": "standard", "plan": "plan", "auto": "auto_review", "bypassPermissions": "full_access",
}
