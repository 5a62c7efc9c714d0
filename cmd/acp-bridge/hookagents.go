package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/opencode"
)

// hookAgent is an agent beside Claude Code whose terminal can be answered at a hub.
type hookAgent struct {
	name, title string
	// file is where our part of it goes, and text what that is.
	file func() (string, error)
	text func(program string) string
	// run is what the agent starts.
	run func(ctx context.Context, s streams, a hookAgent, state watchState) error
}

// hookAgents are those that acp-bridge hook install knows by name.
func hookAgents() []hookAgent {
	return []hookAgent{
		{name: "opencode", title: "OpenCode", file: pluginFile("opencode"), text: pluginText("opencode"), run: runPlugin},
		{name: "kilo", title: "Kilo", file: pluginFile("kilo"), text: pluginText("kilo"), run: runPlugin},
	}
}

func hookAgentNames() (names []string) {
	for _, a := range hookAgents() {
		names = append(names, a.name)
	}
	return names
}

func findHookAgent(name string) (hookAgent, bool) {
	list := hookAgents()
	i := slices.IndexFunc(list, func(a hookAgent) bool { return a.name == name })
	if i < 0 {
		return hookAgent{}, false
	}
	return list[i], true
}

// pluginFile is where OpenCode, or Kilo, looks for plugins of this user, on every system.
func pluginFile(name string) func() (string, error) {
	return func() (string, error) {
		dir := os.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", err
			}
			dir = filepath.Join(home, ".config")
		}
		return filepath.Join(dir, name, "plugin", opencode.PluginName), nil
	}
}

func pluginText(name string) func(string) string {
	return func(program string) string { return opencode.Plugin(program, "hook", name) }
}

// watchState is where what agents ask in their terminals goes. It is in a file of its
// own: no token is in the settings of an agent, or on a command line.
type watchState struct {
	hookState
	Agents []string `json:"agents"`
}

const watchStateName = "watch.json"

func readWatchState() (s watchState, err error) {
	err = readState(watchStateName, &s)
	return s, err
}

func (st watchState) write() error { return writeState(watchStateName, st) }

// options are those of a link to that hub.
func (st watchState) options() (hublink.Options, error) {
	urls, err := hublink.ParseURLs(st.Hub)
	if err != nil {
		return hublink.Options{}, err
	}
	o := hublink.Options{URL: urls[0], Others: urls[1:], Token: func() (string, error) { return st.Token, nil }}
	if st.Prove != "" {
		o.Prove, o.Proof = true, st.proof
	}
	return o, nil
}

// proof is the token that the hub has to know.
func (st hookState) proof() (string, error) {
	data, err := os.ReadFile(st.Prove)
	return strings.TrimSpace(string(data)), err
}

// installAgent installs what puts an agent's questions to the hub.
func (o *hookOptions) installAgent(ctx context.Context, a hookAgent, s streams) error {
	if o.asSettings {
		return misused("--settings is for Claude Code: %s has a file of its own", a.title)
	}
	text := a.text(o.own)
	if o.print {
		_, err := fmt.Fprint(s.out, text)
		return err
	}
	name, err := a.file()
	if err != nil {
		return err
	}
	if there, err := os.ReadFile(name); err == nil && !strings.Contains(string(there), opencode.Mark) {
		return fmt.Errorf("%s is there, and was not made by acp-bridge; nothing was changed", name)
	}
	o.hub.atLocalHub()
	if err := o.hub.check(0); err != nil {
		return err
	}
	state, err := o.enrolWatch(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(state.Agents, a.name) {
		state.Agents = append(state.Agents, a.name)
	}
	if err := errors.Join(state.write(), writePrivate(name, []byte(text))); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s tells acp-bridge what it asks: %s\nWhat it asks in any terminal is at %s, too; whoever answers first has answered. It holds for sessions that are started from now on.\n"+
		"acp-bridge hook remove %s takes it away, acp-bridge doctor says whether it works.\n", a.title, name, clean.Line(o.hub.address), a.name)
	return err
}

// enrolWatch makes a device of the hub that may ask, and nothing else, or takes the one
// that was made for another agent.
func (o *hookOptions) enrolWatch(ctx context.Context) (watchState, error) {
	old, err := readWatchState()
	if err == nil && old.Hub == o.hub.address && old.works(ctx) == nil {
		return old, nil
	}
	st, err := o.enrol(ctx, deviceOf("terminals"), "ask", func() error {
		var said hubError
		err := o.hub.call(ctx, http.MethodGet, "/conversations/acp-bridge-doctor", nil, nil)
		if errors.As(err, &said) && said.status == http.StatusNotFound {
			return nil
		}
		return err
	})
	return watchState{st, old.Agents}, err
}

// works asks the hub whether it takes the token. A conversation that is not there is a
// reply of one that does.
func (st watchState) works(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	client, err := st.client()
	if err != nil {
		return err
	}
	urls, err := hublink.ParseURLs(st.Hub)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, urls[0].String()+"/conversations/acp-bridge-doctor", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+st.Token)
	reply, err := client.Do(req)
	if err != nil {
		return err
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusNotFound {
		return errors.New("it replied " + reply.Status)
	}
	return nil
}

// removeAgent takes away what installAgent has made.
func (o *hookOptions) removeAgent(ctx context.Context, a hookAgent, s streams) error {
	state, err := readWatchState()
	if errors.Is(err, os.ErrNotExist) || err == nil && !slices.Contains(state.Agents, a.name) {
		return usagef("nothing is installed for %s", a.title)
	}
	if err != nil {
		return err
	}
	name, err := a.file()
	if err != nil {
		return err
	}
	if there, err := os.ReadFile(name); err == nil && strings.Contains(string(there), opencode.Mark) {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	state.Agents = slices.DeleteFunc(state.Agents, func(n string) bool { return n == a.name })
	if len(state.Agents) > 0 {
		err = state.write()
	} else {
		err = o.forgetWatch(ctx, state, s)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s asks in its terminal alone again.\n", a.title)
	return err
}

// forgetWatch removes the device and the file that names it.
func (o *hookOptions) forgetWatch(ctx context.Context, state watchState, s streams) error {
	if err := o.forgetDevice(ctx, state.hookState); err != nil {
		fmt.Fprintf(s.err, "The device %s is still known at the hub: %s\n", clean.Line(state.Device), cli.OneLine(err))
	}
	name, err := stateFile(watchStateName)
	return cmp.Or(err, os.Remove(name))
}

// forgetDevice removes the device that was made for hooks.
func (o *hookOptions) forgetDevice(ctx context.Context, st hookState) error {
	if st.Device == "" {
		return nil
	}
	o.hub.address = st.Hub
	if err := o.hub.check(0); err != nil {
		return err
	}
	return o.hub.call(ctx, http.MethodDelete, "/devices/"+url.PathEscape(st.Device), nil, nil)
}

// runAgentHook is what an agent starts. Whatever goes wrong is as if there were nothing:
// it says nothing, and ends well.
func runAgentHook(ctx context.Context, a hookAgent, s streams) error {
	if os.Getenv(hookedEnv) != "" {
		return nil
	}
	state, err := readWatchState()
	if err != nil {
		return nil
	}
	_ = a.run(ctx, s, a, state)
	return nil
}

// runPlugin talks to the plugin of OpenCode until that ends. Signals for the terminal's
// whole group are OpenCode's business: it ends, or goes on.
func runPlugin(ctx context.Context, s streams, a hookAgent, state watchState) error {
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	o, err := state.options()
	if err != nil {
		return err
	}
	w := watch.Start(o)
	defer w.Close()
	return opencode.Run(ctx, s.in, s.out, w, a.title)
}
