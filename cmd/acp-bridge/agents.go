package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

// agentRow is one agent in what the doctor prints.
type agentRow struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	Start []string `json:"start"`
	Tool  bool     `json:"tool"`
	Env   []string `json:"env,omitempty"`
	Note  string   `json:"note"`
	// Terminal says what of it can be answered at a hub when it runs in a plain terminal.
	Terminal string `json:"terminal,omitempty"`
}

// inTerminals is what of an agent in a plain terminal can be answered at a hub: tried with
// these versions on 16 and 17 November 2026, unless it says otherwise.
var inTerminals = []cli.Example{
	{Line: "claude", What: "questions, plans, permissions, forms; the terminal's dialog stays, and the first answer counts; what auto mode blocks: a yes allows the same call once (2.1.325)"},
	{Line: "opencode", What: "questions, permissions, also of sub-agents; the dialog stays (1.18.33); version 2 with nothing installed: by this machine's hub, or acp-bridge watch opencode (2.0.0)"},
	{Line: "kilo", What: "questions, permissions; the dialog stays (7.7.7)"},
	{Line: "codex", What: "questions, approvals, with nothing installed: by this machine's hub, or acp-bridge watch codex (0.166.0)"},
	{Line: "qwen", What: "questions, permissions, only while you are away: its terminal shows nothing while a hook waits (0.24.4)"},
	{Line: "copilot", What: "questions, permissions, only while you are away (1.0.102)"},
	{Line: "gemini", What: "questions, only while you are away; a hook cannot allow anything (0.61.0)"},
	{Line: "kimi", What: "a notice that it waits: its hooks cannot answer (2.1.0)"},
	{Line: "grok", What: "a notice that it waits: its hooks can only refuse (1.0.41)"},
	{Line: "droid", What: "nothing: its hooks come before the dialog (0.215.0, not run)"},
}

func inTerminal(name string) string {
	i := slices.IndexFunc(inTerminals, func(e cli.Example) bool { return e.Line == name })
	if i < 0 {
		return ""
	}
	return inTerminals[i].What
}

// printAgents prints what is known of agents.
func printAgents(s streams, asJSON bool) error {
	var rows []agentRow
	for _, p := range proxy.Profiles() {
		env := p.Env
		for _, name := range []string{p.Config, p.SidePassword} {
			if name != "" {
				env = append(env, name)
			}
		}
		rows = append(rows, agentRow{Name: p.Name, Title: p.Title, Start: p.Start, Tool: p.Tool, Env: env, Note: p.Note, Terminal: inTerminal(p.Name)})
	}
	if asJSON {
		return printJSON(s, map[string]any{"agents": rows})
	}
	columns := []column{11, 30, 34}
	fmt.Fprint(s.Out, row(columns, "NAME", "AGENT", "STARTED WITH"))
	for _, r := range rows {
		note := r.Note
		if len(r.Env) > 0 {
			note += "; set for it: " + strings.Join(r.Env, " ")
		}
		fmt.Fprint(s.Out, row(columns, r.Name, r.Title, strings.Join(r.Start, " ")), cli.Indent(cli.Wrap(note, cli.Width-4), "    "))
		if r.Terminal != "" {
			fmt.Fprint(s.Out, cli.Indent(cli.Wrap("In a plain terminal, at a hub: "+r.Terminal, cli.Width-4), "    "))
		}
	}
	_, err := fmt.Fprintf(s.Out, "\n%s", cli.Wrap("Start one with acp-bridge proxy -- COMMAND. It is recognised by the name of its program, or by the name it reports; "+
		"--agent NAME overrides that. An agent that is not listed gets forms, and its vendor's questions are recognised by their shape. "+
		"Environment variables that you have set yourself are left alone. Settings for an editor: acp-bridge doctor --editor zed --agent gemini. "+
		"What can be answered of one in a plain terminal was tried on 16 and 17 November 2026, with the version that is named.", cli.Width))
	return err
}

// behindProxy are the editor's settings with another agent in the place of Claude
// Code, and the arguments that start it.
func (e editorSettings) behindProxy(p proxy.Profile) (editorSettings, []string) {
	flags := append([]string{"proxy", "--"}, p.Start...)
	if strings.Contains(e.settings, messageArgs) { // the command comes before its flags
		e.settings = strings.ReplaceAll(e.settings, messageArgs, `"proxy", `+messageArgs)
		flags = flags[1:]
	}
	e.settings = strings.ReplaceAll(e.settings, "Claude Code (acp-bridge)", p.Title+" (acp-bridge)")
	e.title += ", with " + p.Title
	e.note = strings.TrimSpace(strings.TrimSuffix(e.note, claudeKeys))
	return e, flags
}
