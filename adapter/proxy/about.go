package proxy

import (
	"cmp"
	"errors"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// aboutAgent is what people at a desk are told of the agent and its sessions. Its lock is
// taken with any other held, and none within it.
type aboutAgent struct {
	proc.Shared
	name, version string
	dirs          map[string]string
	words         map[string]*about.Words
}

// maxTold bounds what is remembered of sessions that nobody closes.
const maxTold = 1000

// agent takes what the agent says of itself.
func (t *aboutAgent) agent(info gjson.Result) {
	t.Step(func() {
		t.name, t.version = cmp.Or(info.Get("title").String(), info.Get("name").String()), info.Get("version").String()
	})
}

func (t *aboutAgent) opened(session, dir string) {
	t.Step(func() {
		if t.dirs == nil || len(t.dirs) > maxTold {
			t.dirs, t.words = map[string]string{}, map[string]*about.Words{}
		}
		t.dirs[session], t.words[session] = dir, &about.Words{}
	})
}

func (t *aboutAgent) prompt(session, text string) {
	t.Step(func() {
		if w := t.words[session]; w != nil && text != "" {
			w.Prompt(text)
		}
	})
}

// say notes a piece of what the agent says. Most of what passes is that: it is read only
// where there is a desk, and no more of it than the words.
func (t *aboutAgent) say(line []byte) {
	update := gjson.GetBytes(line, "params.update")
	if update.Get("sessionUpdate").Str != "agent_message_chunk" {
		return
	}
	session, text := gjson.GetBytes(line, "params.sessionId").Str, update.Get("content.text").Str
	t.Step(func() {
		if w := t.words[session]; w != nil {
			w.Say(text)
		}
	})
}

// rests tells people elsewhere that the agent is through with what it had to do.
func (p *proxy) rests(s *session, how machine.Ending) {
	if p.opts.Desk == nil || s.within != "" {
		return
	}
	if said := gjson.Get(how.Raw, "error.message").Str; said != "" {
		how.Err = errors.New(said)
	}
	it := desk.Item{Call: convert.Call{Session: s.id}}
	p.about.describe(&it)
	p.opts.Desk.EndTurn(desk.Turn{Session: s.id, Agent: it.Agent, Dir: it.Dir, About: it.About, Err: how.Err})
}

// describe says who asks, and where.
func (t *aboutAgent) describe(it *desk.Item) {
	t.Step(func() {
		it.Agent, it.About.Model, it.Dir = t.name, t.version, t.dirs[it.Call.Session]
		if w := t.words[it.Call.Session]; w != nil {
			w.Tell(&it.About)
		}
	})
}
