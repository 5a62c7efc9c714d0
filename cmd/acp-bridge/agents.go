package main

import (
	"fmt"
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
		rows = append(rows, agentRow{Name: p.Name, Title: p.Title, Start: p.Start, Tool: p.Tool, Env: env, Note: p.Note})
	}
	if asJSON {
		return printJSON(s, map[string]any{"agents": rows})
	}
	columns := []column{10, 30, 34}
	fmt.Fprint(s.out, row(columns, "NAME", "AGENT", "STARTED WITH"))
	for _, r := range rows {
		note := r.Note
		if len(r.Env) > 0 {
			note += "; set for it: " + strings.Join(r.Env, " ")
		}
		fmt.Fprint(s.out, row(columns, r.Name, r.Title, strings.Join(r.Start, " ")), cli.Indent(cli.Wrap(note, cli.Width-4), "    "))
	}
	_, err := fmt.Fprintf(s.out, "\n%s", cli.Wrap("Start one with acp-bridge proxy -- COMMAND. It is recognised by its program's name, or by the name it gives itself; "+
		"--agent NAME overrides that. An agent that is not listed gets forms, and vendors' questions are recognised by their shape. "+
		"What is set for an agent stays as it is if you have set it. Settings for an editor: acp-bridge doctor --editor zed --agent gemini.", cli.Width))
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
	return e, flags
}
