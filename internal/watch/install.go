package watch

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
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Installer has agents ask at a hub what they ask in their terminals.
type Installer struct {
	Hub hublink.Named
	// Program is how acp-bridge is started, and Version is its own.
	Program, Version string
	// Claude is the path of the Claude Code executable; empty is one that is found.
	Claude string
	// AsSettings puts Claude Code's hooks into the user's settings, and not into a plugin.
	AsSettings bool
	// Out is told what was done, and Err what could not be.
	Out, Err io.Writer
}

// NotInstalled says that there is nothing to remove.
type NotInstalled string

func (e NotInstalled) Error() string { return string(e) }

// Text is what is installed for an agent, for people.
func (o *Installer) Text(a Agent) string {
	if a.Name == Claude.Name {
		return o.inClaude("").text(o.Program)
	}
	return a.part.text(o.Program)
}

// Install has an agent ask at the hub as well.
func (o *Installer) Install(ctx context.Context, a Agent) error {
	if a.Name == Claude.Name {
		return o.installClaude(ctx)
	}
	return o.installAgent(ctx, a)
}

// Remove undoes [Installer.Install].
func (o *Installer) Remove(ctx context.Context, a Agent) error {
	if a.Name == Claude.Name {
		return o.removeClaude(ctx)
	}
	return o.removeAgent(ctx, a)
}

// hooks are those that start this program.
func (o *Installer) hooks() json.RawMessage { return hook.Hooks(o.Program, "hook") }

// ours reports whether a hook starts acp-bridge.
func ours(command string, args []string) bool {
	return strings.HasPrefix(filepath.Base(command), "acp-bridge") && slices.Equal(args, []string{"hook"})
}

func (o *Installer) installClaude(ctx context.Context) error {
	if !o.AsSettings { // before anything is changed
		if _, err := claude.Find(o.Claude, os.Getenv); err != nil {
			return fmt.Errorf("%w.\nIts plugins are installed by Claude Code itself; acp-bridge hook install --settings writes its settings.json without it", err)
		}
	}
	settings, put := "", func() error { return o.addPlugin(ctx) }
	if o.AsSettings {
		settings = filepath.Join(transcript.ConfigDir(os.Getenv), "settings.json")
		if _, err := o.inClaude(settings).put(o.Program, false); err != nil {
			return err
		}
		put = func() error { _, err := o.inClaude(settings).put(o.Program, true); return err }
	}
	old, none := ReadClaude()
	state, err := o.enrol(ctx, old)
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
	_, err = fmt.Fprintf(o.Out, "Claude Code's hooks are installed %s.\nClaude sessions that you start from now on also ask at %s; the first answer counts.\nacp-bridge hook remove undoes this, acp-bridge doctor checks that it works.\n", where, clean.Line(o.Hub.Address))
	return err
}

// enrol makes a device of the hub that may do this and nothing else. A token that may do
// no more than that is taken as it is, if the hub says so.
// One that was made here before makes way; one of the same name may be somebody else's.
func (o *Installer) enrol(ctx context.Context, old State) (State, error) {
	st := State{door: old.door, Hub: o.Hub.Address, Own: o.Hub.IsFound()}
	if old.Device != "" && old.Hub == st.Hub {
		_ = o.Hub.Call(ctx, http.MethodDelete, "/devices/"+url.PathEscape(old.Device), nil, nil)
	}
	var made struct{ Token string }
	var err error
	device := deviceOf(st.door.device)
	for _, st.Device = range []string{device, device + "-" + strings.ToLower(life.Mint()[:6])} {
		if err = o.Hub.Call(ctx, http.MethodPost, "/devices", map[string]any{"name": st.Device, "can": st.door.can}, &made); err == nil {
			break
		}
	}
	st.Token = made.Token
	if err != nil {
		token, noToken := o.Hub.Token()
		switch {
		case !errors.As(err, new(hublink.ReplyError)): // it is not there
			return st, err
		case noToken != nil || st.door.works(ctx, o.Hub.Call) != nil:
			return st, fmt.Errorf("%w; expected the token of the hub's owner, or of a device with --can %s", err, st.door.can)
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
func (o *Installer) inClaude(name string) part {
	return inSettings(func() (string, error) { return name, nil }, func(string) json.RawMessage { return o.hooks() }, ours)
}

// A plugin has a name, and a marketplace that offers it.
const (
	pluginName = "acp-bridge"
	pluginID   = pluginName + "@" + pluginName

	pluginFolder = "claude-plugin"
)

// addPlugin makes a marketplace with one plugin, and has Claude Code install it.
func (o *Installer) addPlugin(ctx context.Context) error {
	path, err := claude.Find(o.Claude, os.Getenv)
	if err != nil {
		return err
	}
	dir, err := hublink.StateFile(pluginFolder)
	if err != nil {
		return err
	}
	about := "Answer what Claude Code asks in a terminal from a browser or a phone, too, through an acp-bridge hub."
	number := cmp.Or(regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`).FindString(o.Version), "0.0.1")
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
	if err := claude.Run(ctx, path, "plugin", "marketplace", "add", dir); err != nil {
		return err
	}
	return claude.Run(ctx, path, "plugin", "install", pluginID)
}

func (o *Installer) removeClaude(ctx context.Context) error {
	state, err := ReadClaude()
	if errors.Is(err, os.ErrNotExist) {
		return NotInstalled("the hooks are not installed")
	}
	if err != nil {
		return err
	}
	if err := o.takeOut(ctx, state); errors.Is(err, claude.ErrNotFound) { // nobody else can take its plugin out
		fmt.Fprintf(o.Err, "Claude Code is not found, so its plugin stays, and does nothing. claude plugin uninstall %s removes it.\n", pluginID)
	} else if err != nil {
		return err
	}
	if err := o.forget(ctx, state); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.Out, "Claude Code's hooks are removed.")
	return err
}

// forget removes the device that was made for hooks, and the file that names it.
func (o *Installer) forget(ctx context.Context, st State) error {
	if st.Device != "" {
		hub := o.Hub
		hub.Address = st.Hub
		err := hub.Read()
		if err == nil {
			err = hub.Call(ctx, http.MethodDelete, "/devices/"+url.PathEscape(st.Device), nil, nil)
		}
		if err != nil {
			fmt.Fprintf(o.Err, "The hub still has the device %s: %s\n", clean.Line(st.Device), clean.Line(err.Error()))
		}
	}
	return hublink.RemoveState(st.door.file)
}

// takeOut takes the hooks out of Claude Code, where they are.
func (o *Installer) takeOut(ctx context.Context, state State) error {
	if state.Settings != "" {
		return o.inClaude(state.Settings).take()
	}
	dir, err := hublink.StateFile(pluginFolder)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil // it was not finished
	}
	path, err := claude.Find(o.Claude, os.Getenv)
	if err != nil {
		return err
	}
	err = errors.Join(claude.Run(ctx, path, "plugin", "uninstall", pluginID), claude.Run(ctx, path, "plugin", "marketplace", "remove", pluginName))
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
