package backend

import (
	"context"
	"encoding/json"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// What is not in the stable protocol yet. A client that declares a draft is told of
// these, and gets them; to others everything is as the stable protocol has it. The
// methods answer whoever calls them.

const (
	methodSetTitle  = "session/set_title"
	methodUnarchive = "session/unarchive"
	methodStatus    = "session/status"
)

// knowsDrafts reports whether a client declares a capability that only the unstable
// protocol has.
func knowsDrafts(initialize []byte) bool {
	c := gjson.GetBytes(initialize, "clientCapabilities")
	return c.Get("plan").IsObject() || c.Get("subagents").IsObject()
}

// withDrafts is the response to initialize with what the SDK's types lack.
func (a *backend) withDrafts(r acp.InitializeResponse) (any, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	within := func(o object, name string) object {
		in, _ := o[name].(object)
		return in
	}
	agent := within(all, "agentCapabilities")
	within(agent, "auth")["status"] = object{}
	if a.trusts() {
		agent["providers"] = object{}
	}
	merged(within(agent, "sessionCapabilities"), object{
		"title": object{}, "status": object{}, "archive": object{},
		"systemPrompt": object{"mode": object{"override": object{}}},
	})
	return all, nil
}

// draftPrompt makes the systemPrompt of a request what _meta has for it, which
// counts if it is there, too.
func draftPrompt(params json.RawMessage, meta map[string]any) (map[string]any, error) {
	said := gjson.GetBytes(params, "systemPrompt")
	if said.Type == gjson.Null || meta["systemPrompt"] != nil {
		return meta, nil
	}
	var words []string
	for _, b := range said.Get("content").Array() {
		if b.Get("type").Str != "text" || b.Get("text").Type != gjson.String {
			return nil, conn.Invalid("systemPrompt.content: expected texts")
		}
		words = append(words, b.Get("text").Str)
	}
	text := strings.Join(words, "\n\n")
	if strings.TrimSpace(text) == "" {
		return nil, conn.Invalid("systemPrompt.content: expected a text, got none")
	}
	added := object{}
	switch mode := said.Get("mode").Str; mode {
	case "append":
		added["systemPrompt"] = object{"append": text}
	case "override":
		added["systemPrompt"] = text
	default:
		return nil, conn.Invalid("systemPrompt.mode: expected append or override, got %q", mode)
	}
	return merged(added, meta), nil
}

// sessionStatus answers session/status for a session that is not open.
func (a *backend) sessionStatus(id acp.SessionId) (any, error) {
	if _, _, err := a.find(nil, id, ""); err != nil {
		return nil, err
	}
	return object{"status": "saved"}, nil
}

// maxTitle is what the CLI keeps of a title, in characters.
const maxTitle = 200

func titleOf(params json.RawMessage) (string, error) {
	title := clean.Truncate(clean.Line(gjson.GetBytes(params, "title").String()), maxTitle)
	if title == "" {
		return "", conn.Invalid("title: expected a text, got none")
	}
	return title, nil
}

// setTitle names a session that is not open, where the CLI keeps its name.
func (a *backend) setTitle(id acp.SessionId, params json.RawMessage) (any, error) {
	title, err := titleOf(params)
	if err != nil {
		return nil, err
	}
	path, cli, err := a.find(nil, id, "")
	if err != nil {
		return nil, err
	}
	return keepTitle(path, cli, title)
}

func keepTitle(path, cli, title string) (any, error) {
	if err := transcript.SetTitle(path, cli, title); err != nil {
		return nil, conn.Internal("the title was not kept: " + err.Error())
	}
	return object{"title": title}, nil
}

// setTitle names the session. The CLI keeps the name if it runs.
func (s *conversation) setTitle(ctx context.Context, params json.RawMessage) (any, error) {
	title, err := titleOf(params)
	if err != nil {
		return nil, err
	}
	if proc := s.process(); proc != nil {
		if _, err := proc.Control(ctx, "rename_session", object{"title": title}); err == nil {
			return object{"title": title}, nil
		}
	}
	path, err := transcript.Find(s.agent.configDir(s.env), s.cliID(), s.cwd)
	if err != nil {
		return nil, conn.Invalid("a session gets its title with its first prompt")
	}
	return keepTitle(path, s.cliID(), title)
}

// turnUsage is what a turn took, for a client that reads it.
func (s *conversation) turnUsage(m claude.Message) *acp.Usage {
	u := m.Get("usage")
	if !s.agent.editor().drafts || !u.IsObject() {
		return nil
	}
	in, out := int(u.Get("input_tokens").Int()), int(u.Get("output_tokens").Int())
	read, write := int(u.Get("cache_read_input_tokens").Int()), int(u.Get("cache_creation_input_tokens").Int())
	return &acp.Usage{InputTokens: in, OutputTokens: out, CachedReadTokens: &read, CachedWriteTokens: &write, TotalTokens: in + out + read + write}
}

// showPlan shows the plan that a call asks to go on with as Markdown, to a client
// that has plans of that kind.
func (p *painter) showPlan(t display.Tool, within string) {
	if t.Name != "ExitPlanMode" || !p.client.plans {
		return
	}
	if plan := gjson.GetBytes(t.Input, "plan").String(); plan != "" {
		p.out.UpdateOf(within, object{"sessionUpdate": "plan_update", "plan": object{"type": "markdown", "planId": "plan", "content": clean.Block(plan)}})
	}
}

// setupOf reads what a request that opens a session says about it, and which one is opened if
// it is there. All four have the members of this one.
func (a *backend) setupOf(params json.RawMessage) (u setup, id acp.SessionId, err error) {
	r, err := conn.Decode[acp.ResumeSessionRequest](params)
	if err != nil {
		return u, "", err
	}
	meta, err := draftPrompt(params, r.Meta)
	if err != nil {
		return u, "", err
	}
	u, err = newSetup(r.Cwd, r.AdditionalDirectories, r.McpServers, meta, a.trusts(), a.log)
	return u, r.SessionId, err
}
