package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// editorSettings are how one editor is told to start acp-bridge.
type editorSettings struct {
	name, title string
	where       string // the file or place the settings go to
	settings    string // COMMAND stands for the path of acp-bridge
	note        string
}

// with is the settings for a path of acp-bridge and flags for it, which stand in
// quotes everywhere but in a shell.
func (e editorSettings) with(path string, flags ...string) string {
	if !strings.Contains(e.settings, `"COMMAND"`) {
		words := proc.ShellQuote(path)
		if len(flags) > 0 { // one argument that is a command line
			for _, f := range flags {
				words += " " + proc.ShellQuote(f)
			}
			words = proc.ShellQuote(words)
		}
		return strings.ReplaceAll(e.settings, "COMMAND", words)
	}
	quote := func(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }
	settings := e.settings
	if len(flags) > 0 {
		quoted := make([]string, len(flags))
		for i, f := range flags {
			quoted[i] = quote(f)
		}
		list := strings.Join(quoted, ", ")
		settings = strings.NewReplacer(
			`"args": []`, `"args": [`+list+`]`,
			`args = {}`, `args = { `+list+` }`,
			messageArgs, strings.TrimSuffix(messageArgs, " }")+`, `+list+` }`,
			`{ "COMMAND" }`, `{ "COMMAND", `+list+` }`,
			`("COMMAND")`, `("COMMAND" `+strings.Join(quoted, " ")+`)`,
		).Replace(settings)
	}
	return strings.ReplaceAll(settings, `"COMMAND"`, quote(path))
}

// claudeKeys is for users of agent-shell who have a key for Claude Code.
const claudeKeys = `If you use an API key instead of a login, keep agent-shell from removing it:
(setq agent-shell-anthropic-authentication
      (agent-shell-anthropic-make-authentication
       :api-key (lambda () (getenv "ANTHROPIC_API_KEY"))))`

// messageArgs are arguments that settings have of their own.
const messageArgs = `"--ask", "message" }`

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
          env = { CLAUDE_CODE_OAUTH_TOKEN = function() return vim.env.CLAUDE_CODE_OAUTH_TOKEN end },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "acp_bridge" } },
})`, "Questions appear as messages in the chat, because CodeCompanion does not show the options of a permission request."},
	{"avante", "Neovim, avante", "your Neovim configuration", `require("avante").setup({
  provider = "acp-bridge",
  acp_providers = {
    ["acp-bridge"] = {
      command = "COMMAND",
      args = { "--ask", "message" },
      env = vim.fn.environ(),
    },
  },
})`, "Questions appear as messages in the chat, because avante approves permission requests by itself, or sends no pick. It passes on only PATH and the environment given above."},
	{"agentic", "Neovim, agentic.nvim", "your Neovim configuration", `require("agentic").setup({
  provider = "acp-bridge",
  acp_providers = {
    ["acp-bridge"] = {
      name = "Claude Code (acp-bridge)",
      command = "COMMAND",
      args = {},
      env = vim.fn.environ(),
    },
  },
})`, "agentic.nvim passes on only PATH and the environment given above."},
	{"emacs", "Emacs, agent-shell", "your Emacs configuration", `(setq agent-shell-anthropic-claude-acp-command '("COMMAND"))`,
		claudeKeys},
	{"vscode", "VS Code, ACP Client", "settings.json", `"acp.agents": {
  "Claude Code (acp-bridge)": {
    "command": "COMMAND",
    "args": [],
    "env": {}
  }
}`, ""},
	{"acpx", "acpx", "the command line", `acpx --ttl 0 --agent COMMAND sessions new
acpx --ttl 0 --agent COMMAND 'your prompt'`, "A question ends the turn; the next prompt is the answer. To dismiss one, send prompt cancel; cancel alone is a command of acpx itself. Without --ttl 0, acpx ends the agent, and the question with it, after five minutes."},
}

// printEditor prints the settings of one editor, with flags for acp-bridge; an
// agent stands behind its proxy in the place of Claude Code.
func printEditor(s streams, name, agent, command string, flags []string, asJSON bool) error {
	e := editors[slices.Index(editorNames(), name)]
	if agent != "" {
		e, flags = e.behindProxy(findProfile(agent))
	}
	if asJSON {
		return printJSON(s, map[string]string{"editor": e.name, "title": e.title, "where": e.where, "settings": e.with(command, flags...), "note": e.note})
	}
	fmt.Fprintf(s.Out, "%s: put this into %s\n\n%s\n", e.title, e.where, e.with(command, flags...))
	if e.note != "" {
		fmt.Fprintf(s.Out, "\n%s\n", e.note)
	}
	return nil
}

func editorNames() []string {
	return cli.NamesOf(editors, func(e editorSettings) string { return e.name })
}
