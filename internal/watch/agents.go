package watch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Agent is an agent whose terminal can be answered at a hub.
type Agent struct {
	Name, Title string
	// Notice says that a hook can tell that it waits, and nothing more.
	Notice bool
	// part is what is installed for it.
	part part
	// hooks are those that come before its dialog, if there are any: it waits for the hub only
	// while somebody is away.
	hooks *hooks
}

// Claude is Claude Code, which has hooks of its own kind, see package hook.
var Claude = Agent{Name: "claude", Title: "Claude Code"}

// Agents are those beside Claude Code that acp-bridge hook install knows by name.
func Agents() []Agent {
	return []Agent{
		{Name: "opencode", Title: "OpenCode", part: pluginOf("opencode")},
		{Name: "kilo", Title: "Kilo", part: pluginOf("kilo")},
		{Name: "qwen", Title: "Qwen Code", part: inSettings(HomeFile("QWEN_HOME", ".qwen", "settings.json"), shellHooks("qwen", waitMillis, map[string]string{"PermissionRequest": "*"}), endsWith("hook qwen")), hooks: &qwen},
		{Name: "gemini", Title: "Gemini CLI", part: inSettings(HomeFile("", ".gemini", "settings.json"), shellHooks("gemini", waitMillis, map[string]string{"BeforeTool": "ask_user"}), endsWith("hook gemini")), hooks: &gemini},
		{Name: "copilot", Title: "Copilot CLI", part: ownFile("hooks", HomeFile("COPILOT_HOME", ".copilot", "hooks", "acp-bridge.json"), copilotHooks, "hook copilot"), hooks: &copilot},
		{Name: "kimi", Title: "Kimi Code", part: inTOML(HomeFile("KIMI_CODE_HOME", ".kimi-code", "config.toml"), kimiHooks, "hook kimi"), Notice: true},
		{Name: "grok", Title: "Grok Build", part: ownFile("hooks", HomeFile("GROK_HOME", ".grok", "hooks", "acp-bridge.json"), grokHooks, "hook grok"), Notice: true},
	}
}

// FindAgent finds one of them.
func FindAgent(name string) (Agent, bool) {
	list := Agents()
	i := slices.IndexFunc(list, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return list[i], true
}

// pluginOf is the plugin of OpenCode, or Kilo, where it looks for those of this user, on every
// system.
func pluginOf(name string) part {
	text := func(program string) string { return pluginText(program, "hook", name) }
	return ownFile("plugin", HomeFile("XDG_CONFIG_HOME", ".config", name, "plugin", pluginFileName), text, pluginMark)
}

func (o *Installer) installAgent(ctx context.Context, a Agent) error {
	name, err := a.part.put(o.Program, false)
	if err != nil {
		return err
	}
	state, err := agentsDoor.read()
	if err != nil || state.Hub != o.Hub.Address || state.door.works(ctx, state.call) != nil {
		old := state
		if state, err = o.enrol(ctx, old); err != nil {
			return err
		}
		state.Agents = old.Agents
	}
	if !slices.Contains(state.Agents, a.Name) {
		state.Agents = append(state.Agents, a.Name)
	}
	err = state.write()
	_, put := a.part.put(o.Program, true)
	if err = errors.Join(err, put); err != nil {
		return err
	}
	hub := clean.Line(o.Hub.Address)
	when := "What it asks in any terminal is at " + hub + ", too; whoever answers first has answered."
	if a.hooks != nil {
		when = "Its terminal shows no dialog while a hook waits: what it asks is at " + hub + " only while you are away (acp-bridge away, acp-bridge back)."
	}
	if a.Notice {
		when = "Whoever is notified by " + hub + " learns that it waits. It takes answers in its terminal alone."
	}
	_, err = fmt.Fprintf(o.Out, "%s tells acp-bridge what it asks: %s\n%s It holds for sessions that are started from now on.\n"+
		"acp-bridge hook remove %s takes it away, acp-bridge doctor says whether it works.\n", a.Title, name, when, a.Name)
	return err
}

func (o *Installer) removeAgent(ctx context.Context, a Agent) error {
	state, err := agentsDoor.read()
	if errors.Is(err, os.ErrNotExist) || err == nil && !slices.Contains(state.Agents, a.Name) {
		return NotInstalled("nothing is installed for " + a.Title)
	}
	if err != nil {
		return err
	}
	if err := a.part.take(); err != nil {
		return err
	}
	state.Agents = slices.DeleteFunc(state.Agents, func(n string) bool { return n == a.Name })
	if len(state.Agents) > 0 {
		err = state.write()
	} else {
		err = o.forget(ctx, state)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s asks in its terminal alone again.\n", a.Title)
	return err
}

// RunAgent is what an agent starts: a hook, or plugin, which talks to the agent's own until that
// ends. Whatever goes wrong is as if there were nothing: it says nothing, and ends well.
func RunAgent(ctx context.Context, a Agent, in io.Reader, out io.Writer, plugin func(context.Context, io.Reader, io.Writer, *Watch, string) error) {
	state, err := agentsDoor.read()
	if err != nil || os.Getenv(AsksVariable) != "" {
		return
	}
	switch {
	case a.Notice:
		_ = runNotice(ctx, in, a, state)
	case a.hooks != nil:
		_ = runBefore(ctx, in, out, a, state)
	default:
		_ = runPlugin(ctx, state, func(ctx context.Context, w *Watch) error { return plugin(ctx, in, out, w, a.Title) })
	}
}

// runPlugin lets plugin watch. Signals for the terminal's whole group are the agent's business:
// it ends, or goes on.
func runPlugin(ctx context.Context, state State, plugin func(context.Context, *Watch) error) error {
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	w, err := state.watch()
	if err != nil {
		return err
	}
	defer w.Close()
	return plugin(ctx, w)
}

// behindEnv is set for the process that runBefore leaves behind.
const behindEnv = "ACP_BRIDGE_BEHIND"

// runBefore answers a hook that comes before its agent's dialog. Unless somebody is away,
// it says nothing, at once. The agent goes on when the hook has ended: what becomes of an
// answer is seen by another process, which outlives it.
func runBefore(ctx context.Context, in io.Reader, out io.Writer, a Agent, state State) error {
	signal.Ignore(syscall.SIGPIPE)
	if os.Getenv(behindEnv) != "" {
		return runBehind(ctx, in, out, a, state)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	data, err := io.ReadAll(io.LimitReader(in, maxEvent))
	if err != nil {
		return err
	}
	if _, err := ReadHook(a.Name, data); err != nil {
		return err
	}
	away := false
	watchSilence.tell(func() (err error) { away, err = state.away(ctx); return err })
	if !away {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go endWithParent(ctx, cancel)
	return askBehind(ctx, a.Name, data, out)
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
func runBehind(ctx context.Context, in io.Reader, out io.Writer, a Agent, state State) error {
	lines := bufio.NewReader(io.LimitReader(in, maxEvent+1))
	event, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	asking, err := ReadHook(a.Name, event)
	if err != nil {
		return err
	}
	w, err := state.watch()
	if err != nil {
		return err
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = lines.ReadByte() // the hook has ended
		cancel()
	}()
	asking.Hold(ctx, w, func(ctx context.Context) bool { away, _ := state.away(ctx); return away }, out)
	return nil
}

// endWithParent ends what waits for a program that was killed, and told nobody.
func endWithParent(ctx context.Context, cancel func()) {
	tick := time.NewTicker(parentTime)
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
