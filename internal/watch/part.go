package watch

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
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// part is what is installed for an agent: a file, or a part of one that is the user's.
type part struct {
	what string // it is, for people
	file func() (string, error)
	// text is what is installed, for people.
	text func(program string) string
	// with is the file with our part, in place of what is there of it, and without is the
	// file without: the same where there is nothing of ours, nil where nothing is left.
	with    func(there []byte, program string) ([]byte, error)
	without func(there []byte) ([]byte, error)
	// works says why it does not.
	works func(name string, there []byte, program string) error
}

// errNotOurs means that a file was made by somebody else.
var errNotOurs = errors.New("is not ours")

var errOther = errors.New("is that of another version, or starts an acp-bridge elsewhere")

// change is the file as edit makes it.
func (p part) change(edit func(there []byte) ([]byte, error)) (name string, there, data []byte, err error) {
	if name, err = p.file(); err != nil {
		return name, nil, nil, err
	}
	if there, err = readThere(name); err == nil {
		if data, err = edit(there); err != nil {
			err = fmt.Errorf("%s: %w; nothing was changed", name, err)
		}
	}
	return name, there, data, err
}

// put installs it, and says where; or it says only whether and where it could be.
func (p part) put(program string, really bool) (where string, err error) {
	where, _, data, err := p.change(func(there []byte) ([]byte, error) { return p.with(there, program) })
	if err == nil && really {
		err = proc.WritePrivate(where, data)
	}
	return where, err
}

// take removes it. What is not there any more is no error.
func (p part) take() error {
	name, there, data, err := p.change(p.without)
	switch {
	case err != nil || bytes.Equal(there, data):
		return err
	case data == nil:
		return os.Remove(name)
	}
	return proc.WritePrivate(name, data)
}

// look says where it is, or why it does not work.
func (p part) look(program string) (found string, err error) {
	name, err := p.file()
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(name)
	if err == nil {
		err = p.works(name, data, program)
	}
	return "has the " + p.what + ", in " + name, err
}

// ownFile is a file of ours: all of them have the mark in it.
func ownFile(what string, file func() (string, error), text func(program string) string, mark string) part {
	ours := func(there []byte) bool { return strings.Contains(string(there), mark) }
	return part{
		what: what, file: file, text: text,
		with: func(there []byte, program string) ([]byte, error) {
			if there != nil && !ours(there) {
				return nil, errors.New("it was not made by acp-bridge")
			}
			return []byte(text(program)), nil
		},
		without: func(there []byte) ([]byte, error) {
			if ours(there) {
				return nil, nil
			}
			return there, nil
		},
		works: func(name string, there []byte, program string) error {
			switch {
			case !ours(there):
				return fmt.Errorf("%s %w", name, errNotOurs)
			case string(there) != text(program):
				return fmt.Errorf("%s %w", name, errOther)
			}
			return nil
		},
	}
}

// inSettings are hooks in a file of settings, beside the user's own: ours are known by
// their command and arguments.
func inSettings(file func() (string, error), hooks func(program string) json.RawMessage, ours func(command string, args []string) bool) part {
	return part{
		what: "hooks", file: file,
		text: func(program string) string {
			return clean.Indented(fmt.Sprintf(`{"hooks":%s}`, hooks(program))) + "\n"
		},
		with: func(there []byte, program string) ([]byte, error) { return merged(there, hooks(program), ours) },
		without: func(there []byte) ([]byte, error) {
			if !bytes.Contains(there, []byte("acp-bridge")) { // it may be anything
				return there, nil
			}
			return merged(there, nil, ours)
		},
		works: func(name string, there []byte, program string) error {
			if gjson.GetBytes(there, "hooksConfig.enabled").Type == gjson.False || gjson.GetBytes(there, "disableAllHooks").Bool() {
				return fmt.Errorf("%s switches hooks off", name)
			}
			for event, want := range gjson.ParseBytes(hooks(program)).Map() {
				entries := gjson.GetBytes(there, "hooks."+gjson.Escape(event)).Array()
				if !slices.ContainsFunc(entries, func(e gjson.Result) bool { return clean.Indented(e.Raw) == clean.Indented(want.Get("0").Raw) }) {
					return missing(event, name)
				}
			}
			return nil
		},
	}
}

func missing(event, name string) error {
	return fmt.Errorf("its hook for %s is not in %s, or %w", event, name, errOther)
}

// endsWith knows a hook of ours by the end of its command.
func endsWith(mark string) func(command string, _ []string) bool {
	return func(command string, _ []string) bool {
		return strings.Contains(command, "acp-bridge") && strings.HasSuffix(command, " "+mark)
	}
}

// merged are settings with our hooks, or without them if these are nil.
func merged(there []byte, hooks json.RawMessage, ours func(command string, args []string) bool) ([]byte, error) {
	if there == nil {
		there = []byte("{}")
	}
	if !json.Valid(there) || !bytes.HasPrefix(bytes.TrimSpace(there), []byte("{")) {
		return nil, errors.New("expected JSON")
	}
	members := 0
	gjson.ParseBytes(there).ForEach(func(k, v gjson.Result) bool {
		if k.String() == "hooks" {
			members++
			if !v.IsObject() {
				members++
			}
		}
		return true
	})
	if members > 1 {
		return nil, errors.New("expected one object named hooks")
	}
	return []byte(clean.Indented(hook.Merge(there, hooks, ours)) + "\n"), nil
}

// HomeFile is a file in the folder that an agent keeps in the user's home, or that a
// variable names.
func HomeFile(variable string, path ...string) func() (string, error) {
	return func() (string, error) {
		if dir := os.Getenv(variable); variable != "" && filepath.IsAbs(dir) {
			return filepath.Join(append([]string{dir}, path[1:]...)...), nil
		}
		home, err := os.UserHomeDir()
		return filepath.Join(append([]string{home}, path...)...), err
	}
}
