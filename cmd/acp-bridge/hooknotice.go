package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// runNotice tells the hub that an agent waits in its terminal. That is all that a hook of
// such an agent can do: it takes no answer.
func runNotice(ctx context.Context, s streams, a hookAgent, state watchState) error {
	data, err := io.ReadAll(io.LimitReader(s.in, maxHookEvent))
	if err != nil {
		return err
	}
	e := gjson.ParseBytes(data)
	session, text := e.Get("session_id").Str, waitsFor(e)
	if session == "" || text == "" {
		return nil
	}
	told := hublink.Turn{Event: hublink.TurnWaits, Agent: a.title, Dir: e.Get("cwd").Str, Text: clean.Truncate(about.Redact(clean.Truncate(text, maxSearched)), maxNotice)}
	_, err = state.fetch(ctx, http.MethodPost, "/conversations/"+url.PathEscape(session)+"/turn", clean.JSON(told))
	return err
}

const (
	// maxNotice is how much of what an agent waits for is told.
	maxNotice = 1000
	// maxSearched is how much of it is searched for secrets: megabytes take seconds.
	maxSearched = 64 * maxNotice
)

// waitsFor is what an event says that a person has to decide; empty if nothing.
func waitsFor(e gjson.Result) string {
	switch e.Get("hook_event_name").Str {
	case "PermissionRequest":
		return cmp.Or(e.Get("action").Str, e.Get("tool_name").Str)
	case "Notification":
		if e.Get("notificationType").Str == grokWaits {
			return cmp.Or(e.Get("message").Str, "A permission")
		}
	case "PreToolUse":
		if name := e.Get("tool_name").Str; name == kimiAsks || name == grokAsks {
			return cmp.Or(e.Get("tool_input.questions.0.question").Str, "A question")
		}
	}
	return ""
}

// kimiAsks and grokAsks are the tools that ask their user, and grokWaits is what Grok says of
// itself when it asks for a permission.
const kimiAsks, grokAsks, grokWaits = "AskUserQuestion", "ask_user_question", "permission_prompt"

// grokHooks are a file of hooks for Grok.
func grokHooks(program string) string {
	entry := func(matcher string) []any {
		return []any{map[string]any{"matcher": "^" + matcher + "$", "hooks": []any{
			map[string]any{"type": "command", "command": shellQuote(program) + " hook grok", "timeout": 5},
		}}}
	}
	data, _ := json.MarshalIndent(map[string]any{"hooks": map[string]any{"Notification": entry(grokWaits), "PreToolUse": entry(grokAsks)}}, "", "  ")
	return string(data) + "\n"
}

// kimiEvents are the events that tell that Kimi waits, with what they are limited to.
var kimiEvents = [][2]string{{"PermissionRequest", ""}, {"PreToolUse", kimiAsks}}

// kimiHooks are hooks in the settings of Kimi.
func kimiHooks(program string) string {
	command := clean.JSON(shellQuote(program) + " hook kimi") // such a string is one of TOML, too
	var b strings.Builder
	for _, e := range kimiEvents {
		fmt.Fprintf(&b, "\n[[hooks]]\nevent = %q\n", e[0])
		if e[1] != "" {
			fmt.Fprintf(&b, "matcher = %q\n", e[1])
		}
		fmt.Fprintf(&b, "command = %s\ntimeout = 5\n", command)
	}
	return b.String()
}

// inTOML are tables [[hooks]] in a file of settings, beside the user's own. Ours run
// acp-bridge with the mark: comments are lost when the agent writes the file anew.
type inTOML struct {
	file func() (string, error)
	make func(program string) string
	mark string
}

func (p inTOML) text(program string) string { return strings.TrimPrefix(p.make(program), "\n") }

var (
	tables  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*\[`) })
	listed  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*["']?hooks["']?[ \t]*=`) })
	started = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*command[ \t]*=(.*acp-bridge.*)["'][ \t\r]*$`)
	})
	behind = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(^[ \t]*(#.*)?\r?\n?)+\z`) }) // a table: blank lines and comments
)

// own reports whether a table is ours.
func (p inTOML) own(table string) bool {
	found := started().FindStringSubmatch(table)
	return strings.HasPrefix(strings.TrimSpace(table), "[[hooks]]") && found != nil && strings.HasSuffix(found[1], " "+p.mark)
}

// split is the file, our tables in it, and the rest.
func (p inTOML) split() (name string, own []string, rest string, err error) {
	if name, err = p.file(); err != nil {
		return name, nil, "", err
	}
	data, err := readThere(name)
	text, begin := string(data), 0
	for _, at := range append(tables().FindAllStringIndex(text, -1), []int{len(text)}) {
		table := text[begin:at[0]]
		begin = at[0]
		if !p.own(table) {
			rest += table
			continue
		}
		own = append(own, table)
		if said := behind().FindString(table); strings.TrimSpace(said) != "" { // of what follows
			rest += said
		}
	}
	return name, own, rest, err
}

func (p inTOML) put(program string) (func() error, string, error) {
	name, _, rest, err := p.split()
	if err == nil && listed().MatchString(rest) {
		err = fmt.Errorf("%s: expected tables [[hooks]], got a list; nothing was changed", name)
	}
	return func() error {
		return writePrivate(name, []byte(strings.TrimLeft(strings.TrimRight(rest, "\n")+"\n"+p.make(program), "\n")))
	}, name, err
}

func (p inTOML) take() error {
	name, own, rest, err := p.split()
	if err != nil || len(own) == 0 {
		return err
	}
	return writePrivate(name, []byte(strings.TrimLeft(strings.TrimRight(rest, "\n")+"\n", "\n")))
}

func (p inTOML) look(program string) (string, error) {
	name, own, _, err := p.split()
	if err != nil {
		return "", err
	}
	for _, e := range kimiEvents {
		there := false
		for _, table := range own {
			there = there || strings.Contains(table, e[0]) && strings.Contains(table, program)
		}
		if !there {
			return "", fmt.Errorf("its hook for %s is not in %s, or %w", e[0], name, errOther)
		}
	}
	return "has the hooks, in " + name, nil
}
