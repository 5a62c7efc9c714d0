package main

import (
	"context"
	"slices"
)

// runner does what a command is for, with its arguments.
type runner func(ctx context.Context, args []string, s streams) error

// command is one command. It is the only source of what is said about it: help,
// the manual and completion are made of this and of its flags.
type command struct {
	// name and args are how it is called; other shows more ways to call it.
	name, args string
	other      []string
	// summary is its line in the general help; about is more of it.
	summary, about string
	examples       []example
	// env names the variables that it reads, see variables.
	env []string
	// words are what its first argument can be, for completion.
	words []string
	// make defines the flags and returns what runs with them. The error of that
	// is shown as one line; a [usageError] exits with 2, any other with 1.
	make func(*flagSet) runner
}

// example is a command line and what it is good for.
type example struct{ line, what string }

// variables are all that the environment can say.
var variables = []example{
	{"ACP_BRIDGE_CLAUDE", "the Claude Code executable; then CLAUDE_CODE_EXECUTABLE, then the PATH"},
	{"CLAUDE_CODE_EXECUTABLE", "the same, as other adapters call it"},
	{"CLAUDE_CONFIG_DIR", "where Claude Code keeps its sessions (default: ~/.claude)"},
	{"ANTHROPIC_API_KEY", "a key for Claude Code, instead of a login; so it is with all that Claude Code reads"},
	{"ACP_BRIDGE_ASK", "what --ask is by default"},
	{"ACP_BRIDGE_HUB", "what --hub is by default"},
	{"ACP_BRIDGE_HUB_TOKEN", "the token for that hub"},
	{"XDG_STATE_HOME", "the folder for what acp-bridge keeps (default: ~/.local/state)"},
	{"USER", "who has answered, for others who would"},
	{"TERM", "dumb: everything is asked in lines"},
	{"NO_COLOR", "no colours, if it is set"},
}

const claudeEnv, hubEnv, tokenEnv = "ACP_BRIDGE_CLAUDE", "ACP_BRIDGE_HUB", "ACP_BRIDGE_HUB_TOKEN"

// serving is what an editor starts: acp-bridge without a command.
func serving() command {
	return command{
		name: "serve", args: "[-- CLAUDE-ARGUMENTS]",
		summary: "speak ACP with an editor; the same without a command",
		about: "Run Claude Code for an editor that speaks ACP on stdin and stdout, and ask its questions there: " +
			"as a form, as a permission request, or in the conversation, by what the editor can show (acp-bridge help asking). Arguments after -- go to Claude Code, and so does the editor's environment: " +
			"ANTHROPIC_MODEL and the like work as they do in a terminal.",
		examples: []example{
			{"acp-bridge", "what an editor starts"},
			{"acp-bridge --ask message", "an editor that does not show the options"},
			{"acp-bridge --trace /tmp/trace -- --model opus", "with all lines in a file, and an argument for Claude Code"},
		},
		env:  []string{claudeEnv, "CLAUDE_CODE_EXECUTABLE", "CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "ACP_BRIDGE_ASK", hubEnv, tokenEnv},
		make: serveCommand,
	}
}

// commands are all of them, in the order of the help.
func commands() []command {
	return slices.Concat(talking(), checking(), []command{serving()})
}

// talking are the commands with which one asks or answers.
func talking() []command {
	answers := `'["PostgreSQL",["Auth","Logs"],"order-processor"]'`
	terminal := []string{"TERM", "NO_COLOR"}
	state := append([]string{"XDG_STATE_HOME", "USER"}, terminal...)
	return []command{{
		name: "demo", summary: "see it work: a scripted agent asks you questions",
		about: "A scripted agent asks three questions over a real ACP connection and says what it received. It needs no account and no network. " +
			"With --stdio it is the agent alone, for an editor.",
		examples: []example{
			{"acp-bridge demo", "answer in the picker"},
			{"acp-bridge demo --answers " + answers, "without a terminal"},
			{"acp-bridge demo --wire=full", "with the messages of ACP; --wire alone shortens them"},
			{"acp-bridge chat -- acp-bridge demo --stdio", "as the agent of another client"},
		},
		env: append([]string{hubEnv, tokenEnv}, terminal...), make: demoCommand,
	}, {
		name: "chat", args: "-- AGENT [ARGUMENTS]", summary: "talk to any ACP agent in the terminal",
		about: "Start an agent that speaks ACP and talk to it: its questions, forms and permission requests come in the picker. " +
			"Ctrl+C cancels a turn, twice leaves; /help shows the keys. " +
			"With -p run one turn without a terminal: questions are answered by --answers, at a hub, or in a file (exit code 4), and the same command again goes on. " +
			"Exit code: 0 done, 1 failed, 2 bad input, 3 cancelled, 4 pending.",
		examples: []example{
			{"acp-bridge chat -- acp-bridge", "with Claude Code"},
			{"acp-bridge chat --resume -- acp-bridge", "choose a session to go on with"},
			{"acp-bridge chat -- acp-bridge proxy -- gemini --acp", "with another agent"},
			{"acp-bridge chat -p 'Set up a service' --headless -- acp-bridge", "in a script"},
			{"acp-bridge chat -p '@notes.md Do what it says' --continue -- acp-bridge", "with a file's words"},
		},
		env: append([]string{hubEnv, tokenEnv}, state...), make: chatCommand,
	}, {
		name: "ask", args: "[FILE]", summary: "ask a call's questions in the terminal, print its result",
		about: "Ask the questions of a call, of any agent, and print the call's result. Without a terminal they wait in a file: see acp-bridge questions. " +
			"Exit code: 0 answered, 1 failed, 2 bad input, 3 cancelled, 4 pending.",
		examples: []example{
			{"acp-bridge ask call.json", ""},
			{`echo '{"question":"Go on?","options":["Yes","No"]}' | acp-bridge ask`, ""},
			{"acp-bridge ask --answers '[2]' call.json", "answered beforehand: the second option"},
		},
		env: append([]string{hubEnv, tokenEnv}, state...), make: askCommand,
	}, {
		name: "questions", args: "[list]",
		other:   []string{"show [FILE|ID]", "answer [FILE|ID]", "clear [FILE|ID]", "history", "forget --by NAME"},
		summary: "list, show, answer or clear questions that wait",
		about: "List the questions that wait in .acp-bridge of this directory, show one of them in full, answer it in the terminal, or remove it " +
			"(all with --all). The first answer stands, and is used once. Only files that your own acp-bridge wrote count. With --hub the same for what waits at a hub, where an id is given whole; " +
			"without one, and with several waiting, choose in the terminal. history shows what was settled at a hub (by default that of ACP_BRIDGE_HUB, " +
			"or of this machine): who answered what, and how long it took. forget removes there what one person said, and the name; that the questions were " +
			"settled stays, and so do answers that their agent does not have yet.",
		examples: []example{
			{"acp-bridge questions", ""},
			{"acp-bridge questions answer 8cbd", "the first letters of an id will do"},
			{"acp-bridge questions answer --answers '[\"Yes\"]'", "the only one there is"},
			{"acp-bridge questions clear --all", ""},
			{"acp-bridge questions answer --hub http://127.0.0.1:7717", "what waits at a hub"},
			{"acp-bridge questions history --since 24h --text database", "what was settled there"},
		},
		env: append([]string{hubEnv, tokenEnv}, state...), words: questionsActions, make: questionsCommand,
	}, {
		name: "rpc", summary: "answer pi's and Opal's requests on stdin and stdout",
		about: "Read requests from stdin, one JSON object a line: pi's ask_user_request and Opal's client/ask_user. Ask them in the terminal, one at a time, " +
			"and write the responses to stdout. Without a terminal each waits in a file until that is answered: see acp-bridge questions. " +
			"With --answers nobody is asked: each question takes the next entry, or that of its text, and a request for which there is none fails. " +
			"With --acp the questions are asked in the editor that started it. " +
			"The end of stdin withdraws what is open, see --wait; what is open when the program is ended stays in its file.",
		examples: []example{{"acp-bridge rpc", "started by the agent, with a terminal beside it"}, {"acp-bridge rpc --headless", "answered in files"}, {"acp-bridge rpc --acp -- my-agent", "started by an editor: asked there"}},
		env:      append([]string{hubEnv, tokenEnv}, state...), make: rpcCommand,
	}, {
		name: "proxy", args: "-- AGENT [ARGUMENTS]", summary: "run any ACP agent in an editor, its questions included",
		about: "Stand between an editor and any ACP agent. All passes as it is, but for the agent's questions, which are asked as acp-bridge asks those of Claude Code. " +
			"Agents that cannot ask get a tool for it. acp-bridge doctor --agents says what is known of each; one that is not listed gets forms, and vendors' questions by their shape; " +
			"--tool gives any agent our tool. With --chain, and with an agent that somebody else starts, there is no HTTP API: OpenCode and Kilo cannot be answered there.",
		examples: []example{
			{"acp-bridge proxy -- gemini --acp", "what the editor starts"},
			{"acp-bridge doctor --editor zed --agent gemini", "the settings for that"},
		},
		env: []string{"ACP_BRIDGE_ASK", hubEnv, tokenEnv}, make: proxyCommand,
	}, {
		name: "mcp", summary: "a question tool for any MCP client, on stdio or HTTP",
		about: "An MCP server with one tool, ask_the_user, for agents that cannot ask. It asks with the client's own forms if it has them, and otherwise " +
			"through files: see acp-bridge questions. A call that waits longer than --limit ends with a ticket, and the question stays open. " +
			`Settings of most clients: {"mcpServers": {"acp-bridge": {"command": "acp-bridge", "args": ["mcp"]}}}. ` +
			`Codex: [mcp_servers.acp-bridge], command = "acp-bridge", args = ["mcp"]. Clients that take HTTP alone: {"type": "http", "url": ADDRESS}, which --http prints.`,
		examples: []example{
			{"claude mcp add ask -- acp-bridge mcp", "for Claude Code itself"},
			{"acp-bridge mcp --http 127.0.0.1:7333", "for several clients of this machine"},
		},
		env: []string{"XDG_STATE_HOME", hubEnv, tokenEnv}, make: mcpCommand,
	}, {
		name: "hub", args: "[FLAGS]", summary: "start acp-bridge-hub: answer from a browser or a phone",
		about: "Start acp-bridge-hub, a program of its own, with the same flags. acp-bridge-hub --help lists them. " +
			"It says on stderr where it listens (this machine alone, unless told otherwise), and prints a link that logs a browser in. " +
			"Whatever has --hub puts its questions there as well: whoever answers first has answered. Nothing ever waits for the hub, but with --ask hub, which asks there alone. " +
			"A question that is open when its session ends is asked again when the session is loaded or resumed; " +
			"an answer that the hub got meanwhile is taken without asking, and goes to Claude Code as the next prompt.",
		examples: []example{{"acp-bridge hub", ""}, {"acp-bridge demo --hub http://127.0.0.1:7717", "and something to answer"}},
		env:      []string{"XDG_STATE_HOME"}, make: hubCommand,
	}}
}
