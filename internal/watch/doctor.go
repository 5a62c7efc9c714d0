package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// Finding is one thing that acp-bridge doctor looked at.
type Finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Found says what is there; it never holds a secret.
	Found string `json:"found"`
	// Do says what to do about it when it is not OK.
	Do string `json:"do,omitempty"`
}

// Fine is one that is OK.
func Fine(what, found string) Finding { return Finding{What: what, OK: true, Found: found} }

// Wrong is one that is not.
func Wrong(what, found, do string) Finding { return Finding{What: what, Found: found, Do: do} }

// hookVersion is the version of Claude Code with which the hooks were last seen to work.
const hookVersion = "2.1.325"

// ExamineClaude says whether a claude in a terminal reaches the hub. The hooks need not be
// installed.
func ExamineClaude(ctx context.Context, version string) []Finding {
	const what = "hooks"
	state, err := ReadClaude()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []Finding{Fine(what, "not installed: a claude in a terminal asks only there; acp-bridge up installs them, and starts a hub")}
	case err != nil:
		return []Finding{Wrong(what, clean.Line(err.Error()), "run acp-bridge hook install again")}
	}
	findings := []Finding{state.Installed(), switchedOn(managedFolder())}
	if err := state.door.works(ctx, state.call); err != nil {
		findings = append(findings, Wrong(what, "the hub at "+state.Hub+" does not take them: "+clean.Line(err.Error())+". Until it does, claude asks only in its terminal",
			"start the hub (acp-bridge hub), or run acp-bridge hook install again"))
	} else {
		findings = append(findings, Fine(what, "the hub at "+state.Hub+" takes them"))
	}
	if version != "" && !strings.Contains(version, hookVersion) {
		findings = append(findings, Fine(what, "were last seen to work with Claude Code "+hookVersion))
	}
	return append(findings, Fine(what, "claude -p uses them for permissions but not for questions; dontAsk and --bare run none of them, bypassPermissions only those for questions"))
}

// Installed says whether Claude Code has the hooks.
func (st State) Installed() Finding {
	const again = "run acp-bridge hook install again"
	file, found := st.Settings, "are in "+st.Settings
	if file == "" {
		name := filepath.Join(transcript.ConfigDir(os.Getenv), "settings.json")
		data, _ := os.ReadFile(name)
		if !gjson.GetBytes(data, "enabledPlugins."+gjson.Escape(pluginID)).Bool() {
			return Wrong("hooks", "the plugin "+pluginID+" is not enabled in "+name, again)
		}
		dir, _ := hublink.StateFile(pluginFolder)
		file = filepath.Join(dir, "plugin", "hooks", "hooks.json")
		found = "the plugin " + pluginID + " is enabled"
	}
	data, _ := os.ReadFile(file)
	for _, event := range hook.Events {
		if !strings.Contains(gjson.GetBytes(data, "hooks."+event).Raw, `"hook"`) {
			return Wrong("hooks", event+" is not in "+file, again)
		}
	}
	return Fine("hooks", found)
}

// switchedOn looks for settings that switch hooks off, without a word on the screen.
// managed is the folder of whoever administers the machine.
func switchedOn(managed string) Finding {
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
				return Wrong("hooks", key+" in "+name+" switches them off", do)
			}
		}
	}
	return Fine("hooks", "no setting switches them off in this folder")
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

// ExamineAgents says whether what other agents ask in their terminals reaches the hub.
// It says nothing where nothing is installed for them.
func ExamineAgents(ctx context.Context, program string, refuses func(context.Context, Agent) error) (findings []Finding) {
	state, err := agentsDoor.read()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return []Finding{Wrong("terminals", clean.Line(err.Error()), "run acp-bridge hook install AGENT again")}
	}
	for _, name := range state.Agents {
		if a, ok := FindAgent(name); ok {
			findings = append(findings, a.examine(program, refuses(ctx, a)))
		}
	}
	if err := state.door.works(ctx, state.call); err != nil {
		return append(findings, Wrong("terminals", "the hub at "+state.Hub+" does not take what they ask: "+clean.Line(err.Error())+". Until it does, they ask there alone",
			"start the hub (acp-bridge hub), or run acp-bridge hook install AGENT again"))
	}
	return append(findings, Fine("terminals", "the hub at "+state.Hub+" takes what they ask"))
}

// examine looks whether an agent has what was installed for it, as it is now.
func (a Agent) examine(program string, refused error) Finding {
	again := "run acp-bridge hook install " + a.Name + " again"
	found, err := a.part.look(program)
	switch {
	case refused != nil:
		return Wrong(a.Title, refused.Error(), "run acp-bridge hook remove "+a.Name)
	case errors.Is(err, errNotOurs):
		return Wrong(a.Title, clean.Line(err.Error()), "move it away, and "+again)
	case err != nil:
		return Wrong(a.Title, clean.Line(err.Error()), again)
	}
	if a.hooks != nil {
		found += "; its terminal waits for the hub only while you are away"
	}
	if a.Notice {
		found += "; the hub tells that it waits, and it is answered in its terminal alone"
	}
	return Fine(a.Title, found)
}
