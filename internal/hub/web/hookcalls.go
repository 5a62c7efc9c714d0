package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
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
	passes  []pass
}

// step has the calls to itself.
func (c *calls) step(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
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

// canonical is the same for inputs that differ in the order of their members, and in
// nothing else: numbers and texts are as they are written.
func canonical(input json.RawMessage) []byte {
	if clean.Depth(input) > 100 || !clean.ValidJSON(input) {
		return input
	}
	return []byte(ordered(gjson.ParseBytes(input)))
}

func ordered(v gjson.Result) string {
	if !v.IsObject() && !v.IsArray() {
		return v.Raw
	}
	var parts [][2]string
	v.ForEach(func(k, v gjson.Result) bool {
		parts = append(parts, [2]string{k.Raw, ordered(v)})
		return true
	})
	// By what a name means: of two that mean the same the last one counts. The elements of an array have none.
	slices.SortStableFunc(parts, func(a, b [2]string) int {
		return strings.Compare(gjson.Parse(a[0]).Str, gjson.Parse(b[0]).Str)
	})
	return v.Raw[:1] + fmt.Sprint(parts)
}

// see takes an event that tells of calls, or that they are over. What it returns is for the
// hook.
func (c *calls) see(d Device, e hook.Event) (said json.RawMessage) {
	c.step(func() { said = c.seen(d, e) })
	return said
}

func (c *calls) seen(d Device, e hook.Event) json.RawMessage {
	at := placeAt(d, e)
	c.drops(func(p pass) bool {
		return e.Name == hook.TakenBack && p.device == at.device && p.session == e.Session && p.blocked.Held == e.Held
	})
	switch e.Name {
	case hook.PreToolUse:
		key := keyAt(d, e)
		known := slices.ContainsFunc(c.list, func(t toolCall) bool { return t.place == at && t.id == e.ToolUse })
		if e.ToolUse != "" && !known {
			c.list = append(c.list, toolCall{callKey: key, id: e.ToolUse})
			c.list = c.list[max(0, len(c.list)-maxCalls):]
			return c.use(key, e)
		}
	case hook.PostToolUse, hook.PostToolUseFailure:
		c.drop(func(t toolCall) bool { return t.place == at && t.id == e.ToolUse })
	case hook.PostToolBatch:
		c.drop(func(t toolCall) bool { return t.place == at && slices.Contains(e.Calls, t.id) })
		return c.tells(at, e)
	case hook.UserPromptSubmit, hook.Stop, hook.StopFailure, hook.SubagentStop:
		c.over(func(p place) bool { return p == at })
	case hook.SessionEnd:
		c.over(func(p place) bool { return p.device == at.device && p.session == at.session && p.process == at.process })
	}
	return hook.NoSay
}

// over drops what was called where a turn, or a session, has ended.
func (c *calls) over(there func(place) bool) {
	c.drops(func(p pass) bool { return there(p.place) })
	c.drop(func(t toolCall) bool { return there(t.place) })
	maps.DeleteFunc(c.crossed, func(k crossing, _ string) bool { return there(k.place) })
}

// call is the call for which a request was that take has given an id, or else that one.
func (c *calls) call(at place, taken, is string) string {
	c.step(func() { is = cmp.Or(c.crossed[crossing{at, taken}], is) })
	return is
}

// cross exchanges the calls of two requests.
func (c *calls) cross(at place, one, other string) {
	c.step(func() {
		a, b := crossing{at, one}, crossing{at, other}
		x, y := cmp.Or(c.crossed[b], other), cmp.Or(c.crossed[a], one)
		c.became(a, x)
		c.became(b, y)
	})
}

// became notes for which call a request is.
func (c *calls) became(was crossing, call string) {
	if c.crossed == nil {
		c.crossed = map[crossing]string{}
	}
	c.crossed[was] = call
}

func (c *calls) drop(over func(toolCall) bool) { c.list = slices.DeleteFunc(c.list, over) }

// take is the id of the call for which an event asks, or empty if none is known. Two
// of the same input are taken in their order, until an event tells: see
// [Server.uncross].
func (c *calls) take(d Device, e hook.Event) (id string) {
	key := keyAt(d, e)
	c.step(func() {
		c.drops(func(p pass) bool { return p.callKey == key }) // a person is asked anew
		i := slices.IndexFunc(c.list, func(t toolCall) bool { return !t.taken && t.callKey == key && (e.ToolUse == "" || e.ToolUse == t.id) })
		if i >= 0 {
			c.list[i].taken, id = true, c.list[i].id
		}
	})
	return id
}
