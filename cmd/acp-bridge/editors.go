package main

import (
	"fmt"
	"strings"
	"unicode"
)

// editorSettings are how one editor is told to start acp-bridge.
type editorSettings struct {
	name, title string
	where       string // the file or place the settings go to
	settings    string // COMMAND stands for the path of acp-bridge
	note        string
}

// with is the settings for a path of acp-bridge, which stands in quotes
// everywhere but in a shell.
func (e editorSettings) with(path string) string {
	if strings.Contains(e.settings, `"COMMAND"`) {
		path = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path)
	} else {
		path = shellQuote(path)
	}
	return strings.ReplaceAll(e.settings, "COMMAND", path)
}

// shellQuote is a word for a shell.
func shellQuote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+:@%", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var editors = []editorSettings{
	{"zed", "Zed", "settings.json", `"agent_servers": {
  "Claude Code (acp-bridge)": {
    "type": "custom",
    "command": "COMMAND",
    "args": []
  }
}`, ""},
	{"jetbrains", "JetBrains IDEs", "~/.jetbrains/acp.json", `{
  "agent_servers": {
    "Claude Code (acp-bridge)": {
      "command": "COMMAND",
      "args": [],
      "env": {}
    }
  }
}`, ""},
	{"codecompanion", "Neovim, CodeCompanion", "your Neovim configuration", `require("codecompanion").setup({
  adapters = {
    acp = {
      acp_bridge = function()
        return require("codecompanion.adapters").extend("claude_code", {
          name = "acp_bridge",
          formatted_name = "Claude Code (acp-bridge)",
          commands = { default = { "COMMAND" } },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "acp_bridge" } },
})`, "Questions come as messages in the chat: CodeCompanion shows no options of a permission request."},
	{"avante", "Neovim, avante", "your Neovim configuration", `require("avante").setup({
  provider = "acp-bridge",
  acp_providers = {
    ["acp-bridge"] = {
      command = "COMMAND",
      args = { "--guard-auto-answers" },
      env = {},
    },
  },
})`, "avante approves by itself unless told otherwise, and does not say who it is: keep --guard-auto-answers."},
	{"agentic", "Neovim, agentic.nvim", "your Neovim configuration", `require("agentic").setup({
  provider = "acp-bridge",
  acp_providers = {
    ["acp-bridge"] = {
      name = "Claude Code (acp-bridge)",
      command = "COMMAND",
      args = {},
    },
  },
})`, ""},
	{"emacs", "Emacs, agent-shell", "your Emacs configuration", `(setq agent-shell-anthropic-claude-acp-command '("COMMAND"))`, ""},
	{"vscode", "VS Code, ACP Client", "settings.json", `"acp.agents": {
  "Claude Code (acp-bridge)": {
    "command": "COMMAND",
    "args": [],
    "env": {}
  }
}`, ""},
	{"acpx", "acpx", "the command line", `acpx --agent COMMAND 'your prompt'`, "A question ends the turn; the next prompt is the answer."},
}

// printEditor prints the settings of one editor.
func printEditor(s streams, name, command string, asJSON bool) error {
	var names []string
	for _, e := range editors {
		if e.name != name {
			names = append(names, e.name)
			continue
		}
		if asJSON {
			return printJSON(s, map[string]string{"editor": e.name, "title": e.title, "where": e.where, "settings": e.with(command), "note": e.note})
		}
		fmt.Fprintf(s.out, "%s: put this into %s\n\n%s\n", e.title, e.where, e.with(command))
		if e.note != "" {
			fmt.Fprintf(s.out, "\n%s\n", e.note)
		}
		return nil
	}
	return usagef("unknown editor %q: expected one of %s", name, strings.Join(names, ", "))
}
