package proxy

import (
	"cmp"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// told is what people at a desk are told of the agent and its sessions. Its lock is
// taken with any other held, and none within it. What the agent says is not there:
// most of what passes is that, and it passes unread.
type told struct {
	mu            sync.Mutex
	name, version string
	dirs          map[string]string
	words         map[string]*about.Words
}

// maxTold bounds what is remembered of sessions that nobody closes.
const maxTold = 1000

// agent takes what the agent says of itself.
func (t *told) agent(info gjson.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name, t.version = cmp.Or(info.Get("title").String(), info.Get("name").String()), info.Get("version").String()
}

func (t *told) opened(session, dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dirs == nil || len(t.dirs) > maxTold {
		t.dirs, t.words = map[string]string{}, map[string]*about.Words{}
	}
	t.dirs[session], t.words[session] = dir, &about.Words{}
}

func (t *told) prompt(session, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.words[session]; w != nil && text != "" {
		w.Prompt(text)
	}
}

// describe says who asks, and where.
func (t *told) describe(it *desk.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	it.Agent, it.About.Model, it.Dir = t.name, t.version, t.dirs[it.Call.Session]
	if w := t.words[it.Call.Session]; w != nil {
		w.Tell(&it.About)
	}
}
