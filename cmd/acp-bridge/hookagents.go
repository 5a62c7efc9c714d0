package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/opencode"
)

// hookAgent is an agent beside Claude Code whose terminal can be answered at a hub.
type hookAgent struct {
	name, title string
	// part is what is installed for it.
	part hookPart
	// away says that its dialog is shown only after the hook: it waits for the hub only
	// while somebody is away.
	away bool
	// notice says that a hook can tell that it waits, and nothing more.
	notice bool
	// run is what the agent starts.
	run func(ctx context.Context, s streams, a hookAgent, state watchState) error
}

// hookAgents are those that acp-bridge hook install knows by name.
func hookAgents() []hookAgent {
	return []hookAgent{
		{name: "opencode", title: "OpenCode", part: ownFile("plugin", pluginFile("opencode"), pluginText("opencode"), opencode.Mark), run: runPlugin},
		{name: "kilo", title: "Kilo", part: ownFile("plugin", pluginFile("kilo"), pluginText("kilo"), opencode.Mark), run: runPlugin},
		{name: "qwen", title: "Qwen Code", part: inSettings(homeFile("QWEN_HOME", ".qwen", "settings.json"), shellHooks("qwen", waitMillis, map[string]string{"PermissionRequest": "*"}), endsWith("hook qwen")), away: true, run: runBefore},
		{name: "gemini", title: "Gemini CLI", part: inSettings(homeFile("", ".gemini", "settings.json"), shellHooks("gemini", waitMillis, map[string]string{"BeforeTool": "ask_user"}), endsWith("hook gemini")), away: true, run: runBefore},
		{name: "copilot", title: "Copilot CLI", part: ownFile("hooks", homeFile("COPILOT_HOME", ".copilot", "hooks", "acp-bridge.json"), copilotHooks, "hook copilot"), away: true, run: runBefore},
		{name: "kimi", title: "Kimi Code", part: inTOML(homeFile("KIMI_CODE_HOME", ".kimi-code", "config.toml"), kimiHooks, "hook kimi"), notice: true, run: runNotice},
		{name: "grok", title: "Grok Build", part: ownFile("hooks", homeFile("GROK_HOME", ".grok", "hooks", "acp-bridge.json"), grokHooks, "hook grok"), notice: true, run: runNotice},
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
	return homeFile("XDG_CONFIG_HOME", ".config", name, "plugin", opencode.PluginName)
}

func pluginText(name string) func(string) string {
	return func(program string) string { return opencode.Plugin(program, "hook", name) }
}

// refuses is why an agent takes nothing that is installed for it: another one has its
// command.
func (a hookAgent) refuses(ctx context.Context) error {
	p := findProfile(a.name)
	version := p.Replacement(ctx, proxy.Command{Args: []string{a.name}})
	if version == "" {
		return nil
	}
	return fmt.Errorf("%s %s refuses the plugin, which is for version %d: what it asks in its terminal reaches no hub. Its permissions in an editor do, behind acp-bridge proxy --hub", a.title, version, p.Until-1)
}

// watchState is where what agents ask in their terminals goes. It is in a file of its
// own: no token is in the settings of an agent, or on a command line.
type watchState struct {
	hookState
	Agents []string `json:"agents"`
}

const watchStateName = "watch.json"

func readWatchState() (s watchState, err error) {
	err = hublink.ReadState(watchStateName, &s)
	return s, err
}

func (st watchState) write() error { return hublink.WriteState(watchStateName, st) }

// options are those of a link to that hub.
func (st watchState) options() (hublink.Options, error) {
	urls, err := hublink.ParseURLs(st.Hub)
	if err != nil {
		return hublink.Options{}, err
	}
	return hublink.Options{URL: urls[0], Others: urls[1:], Token: st.token}, nil
}

func (st hookState) token() (string, error) { return st.Token, nil }

// installAgent installs what puts an agent's questions to the hub.
func (o *hookOptions) installAgent(ctx context.Context, a hookAgent, s streams) error {
	if o.asSettings {
		return misused("--settings is for Claude Code: %s has a file of its own", a.title)
	}
	if o.print {
		_, err := fmt.Fprint(s.Out, a.part.text(o.own))
		return err
	}
	put, name, err := a.part.put(o.own)
	if err == nil {
		err = a.refuses(ctx)
	}
	if err != nil {
		return err
	}
	if err := o.hub.atLocalHub(); err != nil {
		return err
	}
	state, err := o.enrolWatch(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(state.Agents, a.name) {
		state.Agents = append(state.Agents, a.name)
	}
	if err := errors.Join(state.write(), put()); err != nil {
		return err
	}
	when := "What it asks in any terminal is at " + clean.Line(o.hub.Address) + ", too; whoever answers first has answered."
	if a.away {
		when = "Its terminal shows no dialog while a hook waits: what it asks is at " + clean.Line(o.hub.Address) + " only while you are away (acp-bridge away, acp-bridge back)."
	}
	if a.notice {
		when = "Whoever is notified by " + clean.Line(o.hub.Address) + " learns that it waits. It takes answers in its terminal alone."
	}
	_, err = fmt.Fprintf(s.Out, "%s tells acp-bridge what it asks: %s\n%s It holds for sessions that are started from now on.\n"+
		"acp-bridge hook remove %s takes it away, acp-bridge doctor says whether it works.\n", a.title, name, when, a.name)
	return err
}

// enrolWatch makes a device of the hub that may ask, and nothing else, or takes the one
// that was made for another agent.
func (o *hookOptions) enrolWatch(ctx context.Context) (watchState, error) {
	old, err := readWatchState()
	if err == nil && old.Hub == o.hub.Address && old.works(ctx) == nil {
		return old, nil
	}
	st, err := o.enrol(ctx, old.hookState, deviceOf("terminals"), "ask", func() error {
		return there(o.hub.call(ctx, http.MethodGet, probed, nil, nil))
	})
	return watchState{st, old.Agents}, err
}

// works asks the hub whether it takes the token.
func (st watchState) works(ctx context.Context) error {
	_, err := st.fetch(ctx, http.MethodGet, probed, nil)
	return there(err)
}

// probed is a conversation that is not there: to say so is a reply of a hub that takes the
// token.
const probed = "/conversations/acp-bridge-doctor"

func there(err error) error {
	if hublink.Replied(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// away reports whether the hub says that nobody is at the terminal. One that does not
// answer within a moment says nothing.
func (st hookState) away(ctx context.Context) bool {
	away, _ := st.isAway(ctx)
	return away
}

func (st hookState) isAway(ctx context.Context) (bool, error) {
	data, err := st.fetch(ctx, http.MethodGet, "/away", nil)
	return err == nil && gjson.GetBytes(data, "away").Bool(), err
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
	if err := a.part.take(); err != nil {
		return err
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
	_, err = fmt.Fprintf(s.Out, "%s asks in its terminal alone again.\n", a.title)
	return err
}

// forgetWatch removes the device and the file that names it.
func (o *hookOptions) forgetWatch(ctx context.Context, state watchState, s streams) error {
	if err := o.forgetDevice(ctx, state.hookState); err != nil {
		fmt.Fprintf(s.Err, "The device %s is still known at the hub: %s\n", clean.Line(state.Device), cli.OneLine(err))
	}
	return hublink.RemoveState(watchStateName)
}

// forgetDevice removes the device that was made for hooks.
func (o *hookOptions) forgetDevice(ctx context.Context, st hookState) error {
	if st.Device == "" {
		return nil
	}
	o.hub.Address = st.Hub
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
	return opencode.Run(ctx, s.In, s.Out, w, a.title)
}

// behindEnv is set for the process that runBefore leaves behind.
const behindEnv = "ACP_BRIDGE_BEHIND"

// runBefore answers a hook that comes before its agent's dialog. Unless somebody is away,
// it says nothing, at once. The agent goes on when the hook has ended: what becomes of an
// answer is seen by another process, which outlives it.
func runBefore(ctx context.Context, s streams, a hookAgent, state watchState) error {
	signal.Ignore(syscall.SIGPIPE)
	if os.Getenv(behindEnv) != "" {
		return runBehind(ctx, s, a, state)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	data, err := io.ReadAll(io.LimitReader(s.In, maxHookEvent))
	if err != nil {
		return err
	}
	if _, err := watch.ReadHook(a.name, data); err != nil {
		return err
	}
	away := false
	watchSilence.tell(func() (err error) { away, err = state.isAway(ctx); return err })
	if !away {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go endWithParent(ctx, cancel)
	return askBehind(ctx, a.name, data, s.Out)
}

// askBehind starts the process that asks, and prints the line that it says. That process
// takes the question back when its input ends before that: this one may be killed.
func askBehind(ctx context.Context, name string, event []byte, out io.Writer) error {
	var line bytes.Buffer
	if err := json.Compact(&line, event); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "hook", name)
	cmd.Env = append(proc.Environ(nil), behindEnv+"=1")
	proc.OwnSession(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	reply := make(chan []byte, 1)
	go func() {
		_, _ = in.Write(append(line.Bytes(), '\n'))
		data, _ := bufio.NewReader(said).ReadBytes('\n')
		reply <- data
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case data := <-reply:
		_, err := out.Write(data)
		return err
	}
}

// runBehind asks at the hub, says what the hook prints, and sees what becomes of it.
func runBehind(ctx context.Context, s streams, a hookAgent, state watchState) error {
	in := bufio.NewReader(io.LimitReader(s.In, maxHookEvent+1))
	event, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	asking, err := watch.ReadHook(a.name, event)
	if err != nil {
		return err
	}
	o, err := state.options()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = in.ReadByte() // the hook has ended
		cancel()
	}()
	w := watch.Start(o)
	defer w.Close()
	asking.Hold(ctx, w, state.away, s.Out)
	return nil
}

// endWithParent ends what waits for a program that was killed, and told nobody.
func endWithParent(ctx context.Context, cancel func()) {
	tick := time.NewTicker(lookTime)
	defer tick.Stop()
	for parent := os.Getppid(); os.Getppid() == parent; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	cancel()
}
