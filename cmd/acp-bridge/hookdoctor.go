package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// hookVersion is the version of Claude Code with which the hooks were last seen to work.
const hookVersion = "2.1.325"

// examineHooks says whether a claude in a terminal reaches the hub. The hooks need not be
// installed.
func examineHooks(ctx context.Context, version string) []finding {
	const what = "hooks"
	state, err := readHookState()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []finding{{What: what, OK: true, Found: "not installed: a claude in a terminal asks only there; acp-bridge up installs them, and starts a hub"}}
	case err != nil:
		return []finding{{what, false, oneLine(err), "run acp-bridge hook install again"}}
	}
	findings := []finding{installedAt(state), switchedOn(managedFolder())}
	if _, err := state.fetch(ctx, http.MethodPost, "/hooks/claude", []byte(`{"hook_event_name":"AcpBridgeProbe","session_id":"00000000-0000"}`)); err != nil {
		findings = append(findings, finding{what, false, "the hub at " + state.Hub + " does not take them: " + oneLine(err) + ". Until it does, claude asks only in its terminal",
			"start the hub (acp-bridge hub), or run acp-bridge hook install again"})
	} else {
		findings = append(findings, finding{What: what, OK: true, Found: "the hub at " + state.Hub + " takes them"})
	}
	if version != "" && !strings.Contains(version, hookVersion) {
		findings = append(findings, finding{What: what, OK: true, Found: "were last seen to work with Claude Code " + hookVersion})
	}
	return append(findings, finding{What: what, OK: true, Found: "claude -p uses them for permissions but not for questions; dontAsk and --bare run none of them, bypassPermissions only those for questions"})
}

// installedAt says whether Claude Code has the hooks.
func installedAt(state hookState) finding {
	const again = "run acp-bridge hook install again"
	name := filepath.Join(transcript.ConfigDir(os.Getenv), "settings.json")
	data, _ := os.ReadFile(name)
	if state.Settings == "" {
		if gjson.GetBytes(data, "enabledPlugins."+gjson.Escape(pluginID)).Bool() {
			return finding{What: "hooks", OK: true, Found: "the plugin " + pluginID + " is enabled"}
		}
		return finding{"hooks", false, "the plugin " + pluginID + " is not enabled in " + name, again}
	}
	data, _ = os.ReadFile(state.Settings)
	for _, event := range hook.Events {
		if !strings.Contains(gjson.GetBytes(data, "hooks."+event).Raw, `"hook"`) {
			return finding{"hooks", false, event + " is not in " + state.Settings, again}
		}
	}
	return finding{What: "hooks", OK: true, Found: "are in " + state.Settings}
}

// switchedOn looks for settings that switch hooks off, without a word on the screen.
// managed is the folder of whoever administers the machine.
func switchedOn(managed string) finding {
	dir, _ := os.Getwd()
	theirs, _ := filepath.Glob(filepath.Join(managed, "managed-settings.d", "*.json"))
	theirs = append(theirs, filepath.Join(managed, "managed-settings.json"))
	files := append(theirs,
		filepath.Join(transcript.ConfigDir(os.Getenv), "settings.json"),
		filepath.Join(dir, ".claude", "settings.json"),
		filepath.Join(dir, ".claude", "settings.local.json"))
	for i, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		keys, do := []string{"disableAllHooks"}, "remove that setting, or answer in the terminal there"
		if i < len(theirs) {
			keys, do = append(keys, "allowManagedHooksOnly"), "ask whoever administers this machine, or answer in the terminal"
		}
		for _, key := range keys {
			if gjson.GetBytes(data, key).Bool() {
				return finding{"hooks", false, key + " in " + name + " switches them off", do}
			}
		}
	}
	return finding{What: "hooks", OK: true, Found: "no setting switches them off in this folder"}
}

// managedFolder is where Claude Code looks for the settings of whoever administers the
// machine.
func managedFolder() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode"
	case "windows":
		return `C:\Program Files\ClaudeCode`
	}
	return "/etc/claude-code"
}

// examineTerminals says whether what other agents ask in their terminals reaches the hub.
// It says nothing where nothing is installed for them.
func examineTerminals(ctx context.Context) (findings []finding) {
	state, err := readWatchState()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return []finding{{"terminals", false, oneLine(err), "run acp-bridge hook install AGENT again"}}
	}
	for _, name := range state.Agents {
		if a, ok := findHookAgent(name); ok {
			findings = append(findings, a.examine(ctx))
		}
	}
	if err := state.works(ctx); err != nil {
		return append(findings, finding{"terminals", false, "the hub at " + state.Hub + " does not take what they ask: " + oneLine(err) + ". Until it does, they ask there alone",
			"start the hub (acp-bridge hub), or run acp-bridge hook install AGENT again"})
	}
	return append(findings, finding{What: "terminals", OK: true, Found: "the hub at " + state.Hub + " takes what they ask"})
}

// examine looks whether an agent has what was installed for it, as it is now.
func (a hookAgent) examine(ctx context.Context) finding {
	again := "run acp-bridge hook install " + a.name + " again"
	found, err := a.part.look(ownPath())
	refused := a.refuses(ctx)
	switch {
	case refused != nil:
		return finding{a.title, false, refused.Error(), "run acp-bridge hook remove " + a.name + ", and answer in the terminal"}
	case errors.Is(err, errNotOurs):
		return finding{a.title, false, oneLine(err), "move it away, and " + again}
	case err != nil:
		return finding{a.title, false, oneLine(err), again}
	}
	if a.away {
		found += "; its terminal waits for the hub only while you are away"
	}
	if a.notice {
		found += "; the hub tells that it waits, and it is answered in its terminal alone"
	}
	return finding{What: a.title, OK: true, Found: found}
}
