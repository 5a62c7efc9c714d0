package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// A hook may wait as long as a working day. Most agents count in milliseconds, and Copilot in
// seconds. One that only tells something has noticeSeconds.
const (
	waitSeconds   = 8 * 60 * 60
	waitMillis    = waitSeconds * 1000
	noticeSeconds = 5
)

// shellHooks run acp-bridge hook AGENT in a shell, at these events; each is limited to what
// matches.
func shellHooks(agent string, timeout int, matchers map[string]string) func(program string) json.RawMessage {
	return func(program string) json.RawMessage {
		hooks := map[string]any{}
		for event, matcher := range matchers {
			hooks[event] = []any{map[string]any{"matcher": matcher, "hooks": []any{
				map[string]any{"type": "command", "command": proc.ShellQuote(program) + " hook " + agent, "timeout": timeout},
			}}}
		}
		return clean.JSON(hooks)
	}
}

// grokHooks are a file of hooks for Grok.
func grokHooks(program string) string {
	hooks := shellHooks("grok", noticeSeconds, map[string]string{"Notification": "^" + grokWaits + "$", "PreToolUse": "^" + grokAsks + "$"})
	return clean.Indented(clean.JSON(map[string]any{"hooks": hooks(program)})) + "\n"
}

// copilotHooks are a file of hooks: one that asks for permissions, and one for questions.
func copilotHooks(program string) string {
	entry := []any{map[string]any{"type": "command", "bash": proc.ShellQuote(program) + " hook copilot",
		"powershell": "& '" + strings.ReplaceAll(program, "'", "''") + "' hook copilot", "timeoutSec": waitSeconds}}
	return clean.Indented(clean.JSON(map[string]any{"version": 1, "hooks": map[string]any{"permissionRequest": entry, "preToolUse": entry}})) + "\n"
}

// kimiEvents are the events that tell that Kimi waits, with what they are limited to.
var kimiEvents = [][2]string{{"PermissionRequest", ""}, {"PreToolUse", kimiAsks}}

// kimiHooks are hooks in the settings of Kimi.
func kimiHooks(program string) string {
	command := clean.JSON(proc.ShellQuote(program) + " hook kimi") // such a string is one of TOML, too
	var b strings.Builder
	for _, e := range kimiEvents {
		fmt.Fprintf(&b, "\n[[hooks]]\nevent = %q\n", e[0])
		if e[1] != "" {
			fmt.Fprintf(&b, "matcher = %q\n", e[1])
		}
		fmt.Fprintf(&b, "command = %s\ntimeout = %d\n", command, noticeSeconds)
	}
	return b.String()
}

// inTOML are tables [[hooks]] in a file of settings, beside the user's own. Ours run
// acp-bridge with the mark: comments are lost when the agent writes the file anew.
func inTOML(file func() (string, error), text func(program string) string, mark string) part {
	return part{
		what: "hooks", file: file,
		text: func(program string) string { return strings.TrimPrefix(text(program), "\n") },
		with: func(there []byte, program string) ([]byte, error) {
			_, rest := splitTOML(string(there), mark)
			if listed().MatchString(rest) {
				return nil, errors.New("expected tables [[hooks]], got a list")
			}
			return []byte(strings.TrimLeft(strings.TrimRight(rest, "\n")+"\n"+text(program), "\n")), nil
		},
		without: func(there []byte) ([]byte, error) {
			own, rest := splitTOML(string(there), mark)
			if len(own) == 0 {
				return there, nil
			}
			return []byte(strings.TrimLeft(strings.TrimRight(rest, "\n")+"\n", "\n")), nil
		},
		works: func(name string, there []byte, program string) error {
			own, _ := splitTOML(string(there), mark)
			for _, e := range kimiEvents {
				if !slices.ContainsFunc(own, func(table string) bool { return strings.Contains(table, e[0]) && strings.Contains(table, program) }) {
					return missing(e[0], name)
				}
			}
			return nil
		},
	}
}

var (
	tables  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*\[`) })
	listed  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*["']?hooks["']?[ \t]*=`) })
	started = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*command[ \t]*=(.*acp-bridge.*)["'][ \t\r]*$`)
	})
	behind = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(^[ \t]*(#.*)?\r?\n?)+\z`) }) // a table: blank lines and comments
)

// splitTOML are our tables, and the rest.
func splitTOML(text, mark string) (own []string, rest string) {
	begin := 0
	for _, at := range append(tables().FindAllStringIndex(text, -1), []int{len(text)}) {
		table := text[begin:at[0]]
		begin = at[0]
		runs := started().FindStringSubmatch(table)
		if !strings.HasPrefix(strings.TrimSpace(table), "[[hooks]]") || runs == nil || !strings.HasSuffix(runs[1], " "+mark) {
			rest += table
			continue
		}
		own = append(own, table)
		if said := behind().FindString(table); strings.TrimSpace(said) != "" { // of what follows
			rest += said
		}
	}
	return own, rest
}
