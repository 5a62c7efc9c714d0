package hook

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// waits is how long Claude Code lets a hook wait, in seconds: a person may be away for
// a working day. notes bounds those that only tell something. A hub costs them less; the rest
// is for a machine that is too busy to start a program: with the hook a yes would be lost.
const (
	waits = 8 * 60 * 60
	notes = 10
)

// Events are those that need a hook: three that ask, and the fewest that tell how it
// ended. Each is told before Claude Code goes on, so that they come in their order.
var Events = []string{
	PermissionRequest, Elicitation, PermissionDenied, PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch,
	Stop, StopFailure, SubagentStop, SessionEnd, Notification,
}

// entry is one hook in the settings of Claude Code.
type entry struct {
	Matcher string    `json:"matcher"`
	Hooks   []command `json:"hooks"`
}

type command struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Timeout int      `json:"timeout"`
}

// Hooks are the settings that have a program told of all events. It is a command, and
// no address, for three reasons: Claude Code says on the screen that an address does not
// answer; whoever listens at an address while the hub is down could allow things; and a
// command needs no token in the settings.
func Hooks(program string, args ...string) json.RawMessage {
	all := map[string][]entry{}
	for _, name := range Events {
		timeout := notes
		if (Event{Name: name}).Asks() {
			timeout = waits
		}
		all[name] = []entry{{"*", []command{{"command", program, args, timeout}}}}
	}
	return clean.JSON(all)
}

// Merge puts hooks into settings, and leaves all else as it is. Ours that are there
// already, as own says by their command and arguments, are replaced; with nil hooks they
// are removed.
func Merge(settings, hooks json.RawMessage, own func(command string, args []string) bool) json.RawMessage {
	root := gjson.ParseBytes(settings)
	merged := mergeHooks(root.Get("hooks"), gjson.ParseBytes(hooks), own)
	var out members
	root.ForEach(func(k, v gjson.Result) bool {
		if k.Str != "hooks" {
			out.add(k.Raw, v.Raw)
		} else if len(merged) > 0 {
			out.add(k.Raw, merged.String())
		}
		return true
	})
	if !root.Get("hooks").Exists() && len(merged) > 0 {
		out.add(`"hooks"`, merged.String())
	}
	return json.RawMessage(out.String())
}

func mergeHooks(there, ours gjson.Result, own func(string, []string) bool) (out members) {
	names := []string{}
	there.ForEach(func(k, _ gjson.Result) bool { names = append(names, k.Str); return true })
	ours.ForEach(func(k, _ gjson.Result) bool {
		if !slices.Contains(names, k.Str) {
			names = append(names, k.Str)
		}
		return true
	})
	for _, name := range names {
		var entries []string
		for _, e := range there.Get(gjson.Escape(name)).Array() {
			if kept := without(e, own); kept != "" {
				entries = append(entries, kept)
			}
		}
		for _, e := range ours.Get(gjson.Escape(name)).Array() {
			entries = append(entries, e.Raw)
		}
		if len(entries) > 0 {
			out.add(string(clean.JSON(name)), list(entries))
		}
	}
	return out
}

// without is an entry without our hooks, empty if there is nothing else in it.
func without(e gjson.Result, own func(string, []string) bool) string {
	var kept []string
	found := false
	for _, h := range e.Get("hooks").Array() {
		var args []string
		for _, a := range h.Get("args").Array() {
			args = append(args, a.String())
		}
		if own(h.Get("command").String(), args) {
			found = true
			continue
		}
		kept = append(kept, h.Raw)
	}
	switch {
	case !found:
		return e.Raw
	case len(kept) == 0:
		return ""
	}
	var out members
	e.ForEach(func(k, v gjson.Result) bool {
		if k.Str == "hooks" {
			out.add(k.Raw, list(kept))
		} else {
			out.add(k.Raw, v.Raw)
		}
		return true
	})
	return out.String()
}

// members are those of an object, in their order.
type members []string

func (m *members) add(key, value string) { *m = append(*m, key+":"+value) }

func (m members) String() string { return "{" + strings.Join(m, ",") + "}" }

func list(items []string) string { return "[" + strings.Join(items, ",") + "]" }
