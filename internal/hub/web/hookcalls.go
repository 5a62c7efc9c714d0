package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
)

// calls are the tool calls that hooks have told of. A PermissionRequest does not say
// which call it is for; the PreToolUse right before it, with the same input, does.
type calls struct {
	mu   sync.Mutex
	list []toolCall // the oldest first
	// crossed says for which call a request was, where that turned out to be another
	// one with the same input.
	crossed map[crossing]string
}

// crossing is a call that a request was taken to be for.
type crossing struct {
	place
	call string
}

// maxCalls bounds what is remembered.
const maxCalls = 4096

// place is where something is called, and callKey what.
type place struct{ device, session, process, agent string }

type callKey struct {
	place
	tool  string
	input [sha256.Size]byte
}

type toolCall struct {
	callKey
	id    string
	taken bool // by a request
}

func placeAt(d Device, e hook.Event) place { return place{d.id(), e.Session, e.Process, e.Agent} }

func keyAt(d Device, e hook.Event) callKey {
	return callKey{placeAt(d, e), e.Tool, sha256.Sum256(canonical(e.Input))}
}

// canonical is the same for inputs that differ in the order of their members.
func canonical(input json.RawMessage) []byte {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return input
	}
	data, _ := json.Marshal(v) // it was JSON
	return data
}

// see takes an event that tells of calls, or that they are over.
func (c *calls) see(d Device, e hook.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := placeAt(d, e)
	switch e.Name {
	case hook.PreToolUse:
		known := slices.ContainsFunc(c.list, func(t toolCall) bool { return t.place == at && t.id == e.ToolUse })
		if e.ToolUse != "" && !known {
			c.list = append(c.list, toolCall{callKey: keyAt(d, e), id: e.ToolUse})
			c.list = c.list[max(0, len(c.list)-maxCalls):]
		}
	case hook.PostToolUse, hook.PostToolUseFailure:
		c.drop(func(t toolCall) bool { return t.place == at && t.id == e.ToolUse })
	case hook.PostToolBatch:
		c.drop(func(t toolCall) bool { return t.place == at && slices.Contains(e.Calls, t.id) })
	case hook.UserPromptSubmit, hook.Stop, hook.StopFailure, hook.SubagentStop:
		c.over(func(p place) bool { return p == at })
	case hook.SessionEnd:
		c.over(func(p place) bool { return p.device == at.device && p.session == at.session && p.process == at.process })
	}
}

// over drops what was called where a turn, or a session, has ended. mu is held.
func (c *calls) over(there func(place) bool) {
	c.drop(func(t toolCall) bool { return there(t.place) })
	maps.DeleteFunc(c.crossed, func(k crossing, _ string) bool { return there(k.place) })
}

// call is the call for which a request was that take has given an id.
func (c *calls) call(at place, taken string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.crossed[crossing{at, taken}], taken)
}

// cross exchanges the calls of two requests.
func (c *calls) cross(at place, one, other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crossed == nil {
		c.crossed = map[crossing]string{}
	}
	a, b := crossing{at, one}, crossing{at, other}
	c.crossed[a], c.crossed[b] = cmp.Or(c.crossed[b], other), cmp.Or(c.crossed[a], one)
}

func (c *calls) drop(over func(toolCall) bool) { c.list = slices.DeleteFunc(c.list, over) }

// take is the id of the call for which an event asks, or empty if none is known. Two
// of the same input are taken in their order, until an event tells: see
// [Server.uncross].
func (c *calls) take(d Device, e hook.Event) string {
	key := keyAt(d, e)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.list {
		if t := &c.list[i]; !t.taken && t.callKey == key {
			t.taken = true
			return t.id
		}
	}
	return ""
}
