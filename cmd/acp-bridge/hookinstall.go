package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// hookActions are what can be done with hooks; without one it is what Claude Code starts.
var hookActions = []string{"install", "remove"}

type hookOptions struct {
	claude     string
	asSettings bool
	print      bool
	hub        hubFlags
	own        string // how this program is started
}

func hookCommand(fs *flagSet) runner {
	o := new(hookOptions)
	fs.StringVar(&o.claude, "claude", "", "`path` of the Claude Code executable (default: found)")
	fs.BoolVar(&o.asSettings, "settings", false, "install: put them into the user's settings.json, not into a plugin")
	fs.BoolVar(&o.print, "print", false, "install: print the hooks and change nothing")
	o.hub.flags(fs)
	return func(ctx context.Context, args []string, s streams) (err error) {
		if len(args) == 0 {
			return runHook(ctx, s)
		}
		words, err := fs.ParseWords(args)
		if err != nil {
			return err
		}
		if a, ok := findHookAgent(words[0]); ok && len(words) == 1 {
			return runAgentHook(ctx, a, s)
		}
		if len(words) > 2 || !slices.Contains(hookActions, words[0]) {
			return misused("expected acp-bridge hook install or acp-bridge hook remove")
		}
		o.own = ownPath()
		if len(words) == 2 && words[1] != "claude" {
			a, ok := findHookAgent(words[1])
			switch {
			case !ok:
				return misused("expected claude, %s, got %q", strings.Join(hookAgentNames(), ", "), words[1])
			case words[0] == "remove":
				return o.removeAgent(ctx, a, s)
			}
			return o.installAgent(ctx, a, s)
		}
		if words[0] == "remove" {
			return o.remove(ctx, s)
		}
		return o.install(ctx, s)
	}
}

// hooks are those that start this program.
func (o *hookOptions) hooks() json.RawMessage { return hook.Hooks(o.own, "hook") }

// ours reports whether a hook starts acp-bridge.
func ours(command string, args []string) bool {
	return strings.HasPrefix(filepath.Base(command), "acp-bridge") && slices.Equal(args, []string{"hook"})
}

func (o *hookOptions) install(ctx context.Context, s streams) error {
	if o.print {
		_, err := io.WriteString(s.Out, o.inClaude("").text(o.own))
		return err
	}
	if err := o.hub.atLocalHub(); err != nil {
		return err
	}
	if !o.asSettings { // before anything is changed
		if _, err := claude.Find(o.claude, os.Getenv); err != nil {
			return fmt.Errorf("%w.\nIts plugins are installed by Claude Code itself; acp-bridge hook install --settings writes its settings.json without it", err)
		}
	}
	settings, put := "", func() error { return o.addPlugin(ctx) }
	if o.asSettings {
		settings = filepath.Join(transcript.ConfigDir(os.Getenv), "settings.json")
		var err error
		if put, _, err = o.inClaude(settings).put(o.own); err != nil {
			return err
		}
	}
	old, none := readHookState()
	state, err := o.enrol(ctx, old, deviceOf("claude"), "hook", func() error {
		probe := map[string]string{"hook_event_name": "AcpBridgeProbe", "session_id": "00000000-0000"}
		return o.hub.call(ctx, http.MethodPost, "/hooks/claude", probe, nil)
	})
	if err != nil {
		return err
	}
	if none == nil {
		if err := o.takeOut(ctx, old); err != nil {
			state.Settings = old.Settings // where they are
			return errors.Join(err, state.write())
		}
	}
	where := "as the plugin " + pluginID
	if state.Settings = settings; settings != "" {
		where = "in " + settings
	}
	if err := state.write(); err != nil {
		return err
	}
	if err := put(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Claude Code's hooks are installed %s.\nClaude sessions that you start from now on also ask at %s; the first answer counts.\nacp-bridge hook remove undoes this, acp-bridge doctor checks that it works.\n", where, clean.Line(o.hub.Address))
	return err
}

// enrol makes a device of the hub that may do this and nothing else. A token that may do
// no more than that is taken as it is, if the probe says so.
// One that was made here before makes way; one of the same name may be somebody else's.
func (o *hookOptions) enrol(ctx context.Context, old hookState, device, can string, probe func() error) (hookState, error) {
	st := hookState{Hub: o.hub.Address, Own: o.hub.TokenFile == "" && os.Getenv(tokenEnv) == ""}
	if old.Device != "" && old.Hub == st.Hub {
		_ = o.hub.call(ctx, http.MethodDelete, "/devices/"+url.PathEscape(old.Device), nil, nil)
	}
	var made struct{ Token string }
	var err error
	for _, st.Device = range []string{device, device + "-" + strings.ToLower(life.Mint()[:6])} {
		if err = o.hub.call(ctx, http.MethodPost, "/devices", map[string]any{"name": st.Device, "can": can}, &made); err == nil {
			break
		}
	}
	st.Token = made.Token
	if err != nil {
		token, noToken := o.hub.Token()
		switch {
		case !errors.As(err, new(hublink.ReplyError)): // it is not there
			return st, err
		case noToken != nil || probe() != nil:
			return st, fmt.Errorf("%w; expected the token of the hub's owner, or of a device with --can %s", err, can)
		}
		st.Token, st.Device = token, ""
	}
	return st, nil
}

// deviceOf is the name of this machine's hooks at a hub.
func deviceOf(what string) string {
	machine, _ := os.Hostname()
	return clean.Truncate(what+"-"+regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(machine, "-"), 60)
}

func (st hookState) write() error { return hublink.WriteState(hookStateName, st) }

// readThere reads a file of settings; nil is one that is not there.
func readThere(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Lstat(name); err == nil {
			return nil, fmt.Errorf("%s is a link to a file that is not there; nothing was changed", name)
		}
		return nil, nil
	}
	return data, err
}

// inClaude are the hooks in a file of settings of Claude Code.
func (o *hookOptions) inClaude(name string) hookPart {
	return inSettings(func() (string, error) { return name, nil }, func(string) json.RawMessage { return o.hooks() }, ours)
}

// A plugin has a name, and a marketplace that offers it.
const (
	pluginName = "acp-bridge"
	pluginID   = pluginName + "@" + pluginName
)

// addPlugin makes a marketplace with one plugin, and has Claude Code install it.
func (o *hookOptions) addPlugin(ctx context.Context) error {
	path, err := claude.Find(o.claude, os.Getenv)
	if err != nil {
		return err
	}
	dir, err := hublink.StateFile("claude-plugin")
	if err != nil {
		return err
	}
	about := "Answer what Claude Code asks in a terminal from a browser or a phone, too, through an acp-bridge hub."
	number := cmp.Or(regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`).FindString(version()), "0.0.1")
	for name, v := range map[string]any{
		".claude-plugin/marketplace.json": map[string]any{"name": pluginName, "owner": map[string]string{"name": pluginName}, "metadata": map[string]string{"description": about},
			"plugins": []map[string]string{{"name": pluginName, "source": "./plugin", "description": about}}},
		"plugin/.claude-plugin/plugin.json": map[string]any{"name": pluginName, "version": number, "description": about},
		"plugin/hooks/hooks.json":           map[string]any{"description": about, "hooks": o.hooks()},
	} {
		data, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			err = proc.WritePrivate(filepath.Join(dir, filepath.FromSlash(name)), append(data, '\n'))
		}
		if err != nil {
			return err
		}
	}
	if err := runClaude(ctx, path, "plugin", "marketplace", "add", dir); err != nil {
		return err
	}
	return runClaude(ctx, path, "plugin", "install", pluginID)
}

// runClaude runs a command of Claude Code that changes its settings.
func runClaude(ctx context.Context, path string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, claudeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = proc.Environ(nil)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("claude %s: %w: %s", strings.Join(args, " "), err, clean.Truncate(clean.Line(string(out)), 400))
	}
	return nil
}

func (o *hookOptions) remove(ctx context.Context, s streams) error {
	state, err := readHookState()
	if errors.Is(err, os.ErrNotExist) {
		return usagef("the hooks are not installed")
	}
	if err != nil {
		return err
	}
	if err := o.takeOut(ctx, state); errors.Is(err, claude.ErrNotFound) { // nobody else can take its plugin out
		fmt.Fprintf(s.Err, "Claude Code is not found, so its plugin stays, and does nothing. claude plugin uninstall %s removes it.\n", pluginID)
	} else if err != nil {
		return err
	}
	err = o.forgetDevice(ctx, state)
	if err := hublink.RemoveState(hookStateName); err != nil {
		return err
	}
	if err != nil {
		fmt.Fprintf(s.Err, "The hub still has the device %s: %s\n", clean.Line(state.Device), cli.OneLine(err))
	}
	_, err = fmt.Fprintln(s.Out, "Claude Code's hooks are removed.")
	return err
}

// takeOut takes the hooks out of Claude Code, where they are.
func (o *hookOptions) takeOut(ctx context.Context, state hookState) error {
	if state.Settings != "" {
		return o.inClaude(state.Settings).take()
	}
	dir, err := hublink.StateFile("claude-plugin")
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil // it was not finished
	}
	path, err := claude.Find(o.claude, os.Getenv)
	if err != nil {
		return err
	}
	err = errors.Join(runClaude(ctx, path, "plugin", "uninstall", pluginID), runClaude(ctx, path, "plugin", "marketplace", "remove", pluginName))
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
