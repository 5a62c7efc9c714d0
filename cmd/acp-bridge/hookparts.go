package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// hookPart is what is installed for an agent, in its own settings.
type hookPart interface {
	// text is what is installed, for people.
	text(program string) string
	// put checks that it can be installed, and says where; calling what it returns does it.
	put(program string) (do func() error, where string, err error)
	// take removes it. What is not there any more is no error.
	take() error
	// look says where it is, or why it does not work.
	look(program string) (found string, err error)
}

// errNotOurs means that a file was made by somebody else.
var errNotOurs = errors.New("is not ours")

var errOther = errors.New("is that of another version, or starts an acp-bridge elsewhere")

// ownFile is a file of ours: all of them have the mark in it.
type ownFile struct {
	what string // it is, for people
	file func() (string, error)
	make func(program string) string
	mark string
}

func (p ownFile) text(program string) string { return p.make(program) }

func (p ownFile) put(program string) (func() error, string, error) {
	name, err := p.file()
	if err != nil {
		return nil, "", err
	}
	there, err := readThere(name)
	if err != nil {
		return nil, "", err
	}
	if there != nil && !strings.Contains(string(there), p.mark) {
		return nil, "", fmt.Errorf("%s is there, and was not made by acp-bridge; nothing was changed", name)
	}
	return func() error { return writePrivate(name, []byte(p.make(program))) }, name, nil
}

func (p ownFile) take() error {
	name, err := p.file()
	if err != nil {
		return err
	}
	if there, err := os.ReadFile(name); err != nil || !strings.Contains(string(there), p.mark) {
		return nil
	}
	return os.Remove(name)
}

func (p ownFile) look(program string) (string, error) {
	name, err := p.file()
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(name)
	switch {
	case err != nil:
		return "", err
	case !strings.Contains(string(data), p.mark):
		return "", fmt.Errorf("%s %w", name, errNotOurs)
	case string(data) != p.make(program):
		return "", fmt.Errorf("%s %w", name, errOther)
	}
	return "has the " + p.what + " " + name, nil
}

// inSettings are hooks in a file of settings, beside the user's own. Ours end with the
// mark.
type inSettings struct {
	file  func() (string, error)
	hooks func(program string) json.RawMessage
	mark  string
}

func (p inSettings) text(program string) string {
	var b bytes.Buffer
	_ = json.Indent(&b, fmt.Appendf(nil, `{"hooks":%s}`, p.hooks(program)), "", "  ")
	return b.String() + "\n"
}

// own reports whether a hook is ours, by its command.
func (p inSettings) own(command string, _ []string) bool {
	return strings.Contains(command, "acp-bridge") && strings.HasSuffix(command, " "+p.mark)
}

func (p inSettings) put(program string) (func() error, string, error) {
	name, err := p.file()
	if err == nil {
		_, err = merged(name, p.hooks(program), p.own)
	}
	return func() error { return mergeSettings(name, p.hooks(program), p.own) }, name, err
}

func (p inSettings) take() error {
	name, err := p.file()
	if err != nil {
		return err
	}
	return mergeSettings(name, nil, p.own)
}

func (p inSettings) look(program string) (string, error) {
	name, err := p.file()
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if gjson.GetBytes(data, "hooksConfig.enabled").Type == gjson.False || gjson.GetBytes(data, "disableAllHooks").Bool() {
		return "", fmt.Errorf("%s switches hooks off", name)
	}
	missing := ""
	gjson.ParseBytes(p.hooks(program)).ForEach(func(event, want gjson.Result) bool {
		there := gjson.GetBytes(data, "hooks."+gjson.Escape(event.Str)).Array()
		if !slices.ContainsFunc(there, func(e gjson.Result) bool { return same(e.Raw, want.Get("0").Raw) }) {
			missing = event.Str
		}
		return missing == ""
	})
	if missing != "" {
		return "", fmt.Errorf("its hook for %s is not in %s, or %w", missing, name, errOther)
	}
	return "has the hooks, in " + name, nil
}

// same reports whether two documents of JSON differ in nothing but space.
func same(a, b string) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, []byte(a)) == nil && json.Compact(&y, []byte(b)) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// homeFile is a file in the folder that an agent keeps in the user's home, or that a
// variable names.
func homeFile(variable string, path ...string) func() (string, error) {
	return func() (string, error) {
		if dir := os.Getenv(variable); variable != "" && filepath.IsAbs(dir) {
			return filepath.Join(append([]string{dir}, path[1:]...)...), nil
		}
		home, err := os.UserHomeDir()
		return filepath.Join(append([]string{home}, path...)...), err
	}
}

// A hook may wait as long as a working day; these agents count in milliseconds, and
// Copilot in seconds.
const (
	waitSeconds = 8 * 60 * 60
	waitMillis  = waitSeconds * 1000
)

// shellHook is an entry of settings that runs acp-bridge hook AGENT in a shell.
func shellHook(program, agent, matcher string) json.RawMessage {
	return clean.JSON([]any{map[string]any{"matcher": matcher, "hooks": []any{
		map[string]any{"type": "command", "command": shellQuote(program) + " hook " + agent, "timeout": waitMillis},
	}}})
}

func qwenHooks(program string) json.RawMessage {
	return fmt.Appendf(nil, `{"PermissionRequest":%s}`, shellHook(program, "qwen", "*"))
}

func geminiHooks(program string) json.RawMessage {
	return fmt.Appendf(nil, `{"BeforeTool":%s}`, shellHook(program, "gemini", "ask_user"))
}

// copilotHooks are a file of hooks: one that asks for permissions, and one for questions.
func copilotHooks(program string) string {
	entry := []any{map[string]any{"type": "command", "bash": shellQuote(program) + " hook copilot",
		"powershell": "& '" + strings.ReplaceAll(program, "'", "''") + "' hook copilot", "timeoutSec": waitSeconds}}
	data, _ := json.MarshalIndent(map[string]any{"version": 1, "hooks": map[string]any{"permissionRequest": entry, "preToolUse": entry}}, "", "  ")
	return string(data) + "\n"
}
