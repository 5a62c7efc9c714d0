package main

import (
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// checking are the commands that show, check and set up.
func checking() []cli.Command {
	return []cli.Command{{
		Name: "convert", Args: "[FILE]", Summary: "turn a call into ACP requests, or replies into its result",
		About: "Turn a question call into what an ACP client gets, or into Claude Code's call (--to claude); anything that gets lost on the way is reported on stderr. " +
			"With --reply, turn what the client replied into the result for the agent that asked.",
		Examples: []cli.Example{
			{Line: "acp-bridge convert call.json", What: "the permission requests"},
			{Line: "acp-bridge convert --to form call.json", What: "the form"},
			{Line: "acp-bridge convert --reply replies.json call.json", What: "the result"},
			{Line: "acp-bridge convert --from pi --to claude call.json", What: "one agent's call as Claude Code's"},
		},
		Make: convertCommand,
	}, {
		Name: "schema", Args: "[DIALECT]", Together: "an agent's question tool; how a call is drawn in an editor", Summary: "print an agent's question tool: name, description, schema",
		About: "Print the question tool as an agent registers it: name, label, description and JSON schema. " +
			"Without a dialect, print all of them, one JSON object per line.",
		Examples: []cli.Example{{Line: "acp-bridge schema claude"}},
		Words:    dialect.IDs(), Make: schemaCommand,
	}, {
		Name: "render", Beside: "schema", Args: "[FILE]", Summary: "show how a tool call is drawn in an editor",
		About: "Read a tool use {\"name\",\"input\"} and print its title, kind, content and locations as an editor gets them.",
		Examples: []cli.Example{
			{Line: "acp-bridge render --cwd /src/app tool.json"},
			{Line: "acp-bridge render --result out.txt tool.json", What: "and how its result is drawn"},
		},
		Make: renderCommand,
	}, {
		Name: "login", Beside: "doctor", Summary: "log in to Claude Code; editors run it in their terminal",
		About:    "Hand the terminal over to Claude Code's own login.",
		Examples: []cli.Example{{Line: "acp-bridge login", What: "with a Claude plan"}, {Line: "acp-bridge login --console", What: "with an account billed by usage"}},
		Make:     loginCommand,
	}, {
		Name: "doctor", Together: "check the set-up, print an editor's settings; log in", Summary: "check the set-up; print an editor's settings (--editor zed)",
		About: "Check the whole set-up, including this machine's hub, or the one in ACP_BRIDGE_HUB, and say how to fix what is wrong. With --editor, print that editor's settings instead, with the flags given here. " +
			"Exit code: 0 if all is well, 1 if something is wrong.",
		Examples: []cli.Example{
			{Line: "acp-bridge doctor"},
			{Line: "acp-bridge doctor --editor zed"},
			{Line: "acp-bridge doctor --clients", What: "what is known about editors"},
			{Line: "acp-bridge doctor --agents", What: "and about agents"},
		},
		Make: doctorCommand,
	}, {
		Name: "check-client", Summary: "for authors of editors: check how yours asks",
		About: "An agent for your editor to start. It asks every kind of question in turn, says in the conversation what to do, checks what comes back on the wire, " +
			"and ends with a table: what the client can do, what it got wrong, and how its users will be asked. Any prompt starts it.",
		Examples: []cli.Example{
			{Line: `acp-bridge check-client`, What: "what the editor starts, in place of acp-bridge"},
			{Line: "acp-bridge chat -- acp-bridge check-client", What: "check the client in the terminal"},
		},
		Make: checkClientCommand,
	}}
}
