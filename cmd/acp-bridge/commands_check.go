package main

import "github.com/acp-bridge/acp-bridge/convert/dialect"

// checking are the commands that show, check and set up.
func checking() []command {
	claude := []string{claudeEnv, "CLAUDE_CODE_EXECUTABLE"}
	return []command{{
		name: "convert", args: "[FILE]", summary: "turn a call into ACP requests, or replies into its result",
		about: "Turn a question call into what an ACP client gets, or into the call of another agent (--to claude); what that has no place for is said on stderr. " +
			"With --reply turn what comes back from there into the result for the agent that asked.",
		examples: []example{
			{"acp-bridge convert call.json", "the permission requests"},
			{"acp-bridge convert --to form call.json", "the form"},
			{"acp-bridge convert --reply replies.json call.json", "the result"},
			{"acp-bridge convert --from pi --to claude call.json", "one agent's call as another's"},
		},
		make: convertCommand,
	}, {
		name: "schema", args: "[DIALECT]", summary: "print an agent's question tool: name, description, schema",
		about: "Print what an agent registers its question tool with: name, label, description and JSON schema. " +
			"Without a dialect print all of them, one JSON object a line.",
		examples: []example{{"acp-bridge schema claude", ""}},
		words:    dialect.IDs(), make: schemaCommand,
	}, {
		name: "render", args: "[FILE]", summary: "show how a tool call is drawn in an editor",
		about: "Read a tool use {\"name\",\"input\"} and print its title, kind, content and locations as an editor gets them.",
		examples: []example{
			{"acp-bridge render --cwd /src/app tool.json", ""},
			{"acp-bridge render --result out.txt tool.json", "and how its result is drawn"},
		},
		make: renderCommand,
	}, {
		name: "login", summary: "log in to Claude Code; editors run it in a terminal of theirs",
		about:    "Hand the terminal over to the login of Claude Code.",
		examples: []example{{"acp-bridge login", "with a Claude plan"}, {"acp-bridge login --console", "with an account that is billed for use"}},
		env:      claude, make: loginCommand,
	}, {
		name: "doctor", summary: "check the set-up; print an editor's settings (--editor zed)",
		about: "Check that everything is there, and say what to do about what is not. Or print the settings for an editor, with the flags that were checked. " +
			"Exit code: 0 all is well, 1 something is wrong.",
		examples: []example{
			{"acp-bridge doctor", ""},
			{"acp-bridge doctor --editor zed", ""},
			{"acp-bridge doctor --clients", "what is known of editors"},
			{"acp-bridge doctor --agents", "and of agents"},
		},
		env: append(claude, "CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY"), make: doctorCommand,
	}, {
		name: "check-client", summary: "for authors of editors: check how yours asks",
		about: "An agent that your editor starts. It asks every kind of question in turn, says in the conversation what to do, looks at what comes back on the wire, " +
			"and ends with a table: what the client can do, what it got wrong, and how its users will be asked. Any prompt begins.",
		examples: []example{
			{`acp-bridge check-client`, "what the editor starts, in the place of acp-bridge"},
			{"acp-bridge chat -- acp-bridge check-client", "check the client in the terminal"},
		},
		make: checkClientCommand,
	}, {
		name: "completion", args: "bash|zsh|fish", summary: "print the completion for a shell",
		about: "Print a script with which a shell completes commands, flags and their values.",
		examples: []example{
			{"source <(acp-bridge completion bash)", "in ~/.bashrc"},
			{"acp-bridge completion zsh >~/.zfunc/_acp-bridge", "a folder of $fpath"},
			{"acp-bridge completion fish >~/.config/fish/completions/acp-bridge.fish", ""},
		},
		words: shells, make: completionCommand,
	}, {
		name: "man", summary: "print the manual",
		about:    "Print the manual page, as man reads it.",
		examples: []example{{"acp-bridge man | man -l -", "read it"}, {"acp-bridge man >~/.local/share/man/man1/acp-bridge.1", "keep it"}},
		make:     manCommand,
	}, {
		name: "version", summary: "print the version",
		about:    "Print the version. --version does the same.",
		examples: []example{{"acp-bridge version", ""}}, make: versionCommand,
	}}
}
