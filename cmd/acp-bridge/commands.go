package main

import (
	"context"
	"slices"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

// runner does what a command is for, with its arguments.
type runner func(ctx context.Context, args []string, s streams) error

// does makes a command of what runs it with our streams.
func does(define func(*flagSet) runner) func(*cli.Flags) cli.Runner {
	return func(fs *cli.Flags) cli.Runner {
		run := define(fs)
		return func(ctx context.Context, args []string, s cli.Streams) error {
			return run(ctx, args, streams{s.In, s.Out, s.Err})
		}
	}
}

// variables are all that the environment can say.
var variables = []cli.Example{
	{Line: "ACP_BRIDGE_CLAUDE", What: "the Claude Code executable; then CLAUDE_CODE_EXECUTABLE, then the PATH"},
	{Line: "CLAUDE_CODE_EXECUTABLE", What: "the same, as other adapters call it"},
	{Line: "CLAUDE_CONFIG_DIR", What: "where Claude Code keeps its sessions (default: ~/.claude)"},
	{Line: "ANTHROPIC_API_KEY", What: "a key for Claude Code, instead of a login; so it is with all that Claude Code reads"},
	{Line: "ACP_BRIDGE_ASK", What: "what --ask is by default"},
	{Line: "ACP_BRIDGE_HUB", What: "what --hub is by default"},
	{Line: "ACP_BRIDGE_HUB_TOKEN", What: "the token for that hub"},
	{Line: "ACP_BRIDGE_ASKS", What: "set for an agent that acp-bridge runs: acp-bridge hook leaves it alone"},
	{Line: "CLAUDE_PID", What: "set by Claude Code for its hooks: its process"},
	{Line: "CODEX_HOME", What: "where Codex has its control socket (default: ~/.codex)"},
	{Line: "XDG_STATE_HOME", What: "the folder for what acp-bridge keeps (default: ~/.local/state)"},
	{Line: "XDG_CONFIG_HOME", What: "the folder with the settings of OpenCode and Kilo (default: ~/.config)"},
	{Line: "USER", What: "who has answered, for others who would"},
	{Line: "TERM", What: "dumb: everything is asked in lines"},
	{Line: "NO_COLOR", What: "no colours, if it is set"},
}

const claudeEnv, hubEnv, tokenEnv = "ACP_BRIDGE_CLAUDE", "ACP_BRIDGE_HUB", "ACP_BRIDGE_HUB_TOKEN"

// serving is what an editor starts: acp-bridge without a command.
func serving() cli.Command {
	return cli.Command{
		Name: "serve", Args: "[-- CLAUDE-ARGUMENTS]",
		Summary: "speak ACP with an editor; the same without a command",
		About: "Run Claude Code for an editor that speaks ACP on stdin and stdout, and ask its questions there: " +
			"as a form, as a permission request, or in the conversation, by what the editor can show (acp-bridge help asking). Arguments after -- go to Claude Code, and so does the editor's environment: " +
			"ANTHROPIC_MODEL and the like work as they do in a terminal.",
		Examples: []cli.Example{
			{Line: "acp-bridge", What: "what an editor starts"},
			{Line: "acp-bridge --ask message", What: "an editor that does not show the options"},
			{Line: "acp-bridge --trace /tmp/trace -- --model opus", What: "with all lines in a file, and an argument for Claude Code"},
		},
		Env:  []string{claudeEnv, "CLAUDE_CODE_EXECUTABLE", "CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "ACP_BRIDGE_ASK", hubEnv, tokenEnv},
		Make: does(serveCommand),
	}
}

// commands are all of them, in the order of the help.
func commands() []cli.Command {
	return slices.Concat(talking(), checking(), []cli.Command{serving()})
}

// talking are the commands with which one asks or answers.
func talking() []cli.Command {
	answers := `'["PostgreSQL",["Auth","Logs"],"order-processor"]'`
	terminal := []string{"TERM", "NO_COLOR"}
	state := append([]string{"XDG_STATE_HOME", "USER"}, terminal...)
	return []cli.Command{{
		Name: "demo", Summary: "see it work: a scripted agent asks you questions",
		About: "A scripted agent asks three questions over a real ACP connection and says what it received. It needs no account and no network. " +
			"With --stdio it is the agent alone, for an editor.",
		Examples: []cli.Example{
			{Line: "acp-bridge demo", What: "answer in the picker"},
			{Line: "acp-bridge demo --answers " + answers, What: "without a terminal"},
			{Line: "acp-bridge demo --wire=full", What: "with the messages of ACP; --wire alone shortens them"},
			{Line: "acp-bridge chat -- acp-bridge demo --stdio", What: "as the agent of another client"},
		},
		Env: append([]string{hubEnv, tokenEnv}, terminal...), Make: does(demoCommand),
	}, {
		Name: "chat", Args: "-- AGENT [ARGUMENTS]", Summary: "talk to any ACP agent in the terminal",
		About: "Start an agent that speaks ACP and talk to it: its questions, forms and permission requests come in the picker. " +
			"Ctrl+C cancels a turn, twice leaves; /help shows the keys. " +
			"With -p run one turn without a terminal: questions are answered by --answers, at a hub, or in a file (exit code 4), and the same command again goes on. " +
			"Exit code: 0 done, 1 failed, 2 bad input, 3 cancelled, 4 pending.",
		Examples: []cli.Example{
			{Line: "acp-bridge chat -- acp-bridge", What: "with Claude Code"},
			{Line: "acp-bridge chat --resume -- acp-bridge", What: "choose a session to go on with"},
			{Line: "acp-bridge chat -- acp-bridge proxy -- gemini --acp", What: "with another agent"},
			{Line: "acp-bridge chat -p 'Set up a service' --headless -- acp-bridge", What: "in a script"},
			{Line: "acp-bridge chat -p '@notes.md Do what it says' --continue -- acp-bridge", What: "with a file's words"},
		},
		Env: append([]string{hubEnv, tokenEnv}, state...), Make: does(chatCommand),
	}, {
		Name: "ask", Args: "[FILE]", Summary: "ask a call's questions in the terminal, print its result",
		About: "Ask the questions of a call, of any agent, and print the call's result. Without a terminal they wait in a file: see acp-bridge questions. " +
			"Exit code: 0 answered, 1 failed, 2 bad input, 3 cancelled, 4 pending.",
		Examples: []cli.Example{
			{Line: "acp-bridge ask call.json"},
			{Line: `echo '{"question":"Go on?","options":["Yes","No"]}' | acp-bridge ask`},
			{Line: "acp-bridge ask --answers '[2]' call.json", What: "answered beforehand: the second option"},
		},
		Env: append([]string{hubEnv, tokenEnv}, state...), Make: does(askCommand),
	}, {
		Name: "questions", Args: "[list]",
		Other:   []string{"show [FILE|ID]", "answer [FILE|ID]", "clear [FILE|ID]", "history", "forget --by NAME"},
		Summary: "list, show, answer or clear questions that wait",
		About: "List the questions that wait in .acp-bridge of this directory, show one of them in full, answer it in the terminal, or remove it " +
			"(all with --all). The first answer stands, and is used once. Only files that your own acp-bridge wrote count. With --hub the same for what waits at a hub; clear dismisses there; " +
			"without one, and with several waiting, choose in the terminal. history shows what was settled at a hub (by default that of ACP_BRIDGE_HUB, " +
			"or of this machine): who answered what, and how long it took. forget removes there what one person said, and the name; that the questions were " +
			"settled stays, and so do answers that their agent does not have yet.",
		Examples: []cli.Example{
			{Line: "acp-bridge questions"},
			{Line: "acp-bridge questions answer 8cbd", What: "the first letters of an id will do"},
			{Line: "acp-bridge questions answer --answers '[\"Yes\"]'", What: "the only one there is"},
			{Line: "acp-bridge questions clear --all"},
			{Line: "acp-bridge questions answer --hub http://127.0.0.1:7717", What: "what waits at a hub"},
			{Line: "acp-bridge questions history --since 24h --text database", What: "what was settled there"},
		},
		Env: append([]string{hubEnv, tokenEnv}, state...), Words: questionsActions, Make: does(questionsCommand),
	}, {
		Name: "rpc", Summary: "answer pi's and Opal's requests on stdin and stdout",
		About: "Read requests from stdin, one JSON object a line: pi's ask_user_request and Opal's client/ask_user. Ask them in the terminal, one at a time, " +
			"and write the responses to stdout. Without a terminal each waits in a file until that is answered: see acp-bridge questions. " +
			"With --answers nobody is asked: each question takes the next entry, or that of its text, and a request for which there is none fails. " +
			"With --acp the questions are asked in the editor that started it. " +
			"The end of stdin withdraws what is open, see --wait; what is open when the program is ended stays in its file.",
		Examples: []cli.Example{{Line: "acp-bridge rpc", What: "started by the agent, with a terminal beside it"}, {Line: "acp-bridge rpc --headless", What: "answered in files"}, {Line: "acp-bridge rpc --acp -- my-agent", What: "started by an editor: asked there"}},
		Env:      append([]string{hubEnv, tokenEnv}, state...), Make: does(rpcCommand),
	}, {
		Name: "proxy", Args: "-- AGENT [ARGUMENTS]", Summary: "run any ACP agent in an editor, its questions included",
		About: "Stand between an editor and any ACP agent. All passes as it is, but for the agent's questions, which are asked as acp-bridge asks those of Claude Code. " +
			"Agents that cannot ask get a tool for it. acp-bridge doctor --agents says what is known of each; one that is not listed gets forms, and vendors' questions by their shape; " +
			"--tool gives any agent our tool. With --chain, and with an agent that somebody else starts, there is no HTTP API: OpenCode and Kilo cannot be answered there.",
		Examples: []cli.Example{
			{Line: "acp-bridge proxy -- gemini --acp", What: "what the editor starts"},
			{Line: "acp-bridge doctor --editor zed --agent gemini", What: "the settings for that"},
		},
		Env: []string{"ACP_BRIDGE_ASK", hubEnv, tokenEnv}, Make: does(proxyCommand),
	}, {
		Name: "mcp", Summary: "a question tool for any MCP client, on stdio or HTTP",
		About: "An MCP server with one tool, ask_the_user, for agents that cannot ask. It asks with the client's own forms if it has them, and otherwise " +
			"through files: see acp-bridge questions. A call that waits longer than --limit ends with a ticket, and the question stays open. " +
			`Settings of most clients: {"mcpServers": {"acp-bridge": {"command": "acp-bridge", "args": ["mcp"]}}}. ` +
			`Codex: [mcp_servers.acp-bridge], command = "acp-bridge", args = ["mcp"]. Clients that take HTTP alone: {"type": "http", "url": ADDRESS}, which --http prints.`,
		Examples: []cli.Example{
			{Line: "claude mcp add ask -- acp-bridge mcp", What: "for Claude Code itself"},
			{Line: "acp-bridge mcp --http 127.0.0.1:7333", What: "for several clients of this machine"},
		},
		Env: []string{"XDG_STATE_HOME", hubEnv, tokenEnv}, Make: does(mcpCommand),
	}, {
		Name: "hub", Args: "[FLAGS]", Summary: "start acp-bridge-hub: answer from a browser or a phone",
		About: "Start acp-bridge-hub, a program of its own, with the same flags. acp-bridge-hub --help lists them. " +
			"It says on stderr where it listens (this machine alone, unless told otherwise), and prints a link that logs a browser in. " +
			"Whatever has --hub puts its questions there as well: whoever answers first has answered. Nothing ever waits for the hub, but with --ask hub, which asks there alone. " +
			"A question that is open when its session ends is asked again when the session is loaded or resumed; " +
			"an answer that the hub got meanwhile is taken without asking, and goes to Claude Code as the next prompt.",
		Examples: []cli.Example{{Line: "acp-bridge hub"}, {Line: "acp-bridge demo --hub http://127.0.0.1:7717", What: "and something to answer"}},
		Env:      []string{"XDG_STATE_HOME"}, Make: does(hubCommand),
	}, {
		Name: "hook", Args: "install [AGENT]", Other: []string{"remove [AGENT]"}, Summary: "answer an agent in a plain terminal at a hub, too",
		About: "Have Claude Code's hooks put what a claude in any terminal asks, its questions, plans, permissions and forms, to a hub as well: the dialog in the terminal stays, " +
			"and whoever answers first has answered. install makes a device at the hub that may do this alone, and a plugin of Claude Code (claude plugin list shows it); nothing is merged into your own hooks. " +
			"remove takes both away. A hub that is down is as if there were no hook. Without an argument it is what Claude Code starts for each event. " +
			"AGENT is claude, or opencode or kilo, which get a plugin of one file: questions and permissions of theirs, those of sub-agents included. The plugin starts acp-bridge hook AGENT.",
		Examples: []cli.Example{
			{Line: "acp-bridge hook install", What: "with the hub of this machine"},
			{Line: "acp-bridge hook install --hub https://hub.example --hub-token-file token", What: "with one elsewhere"},
			{Line: "acp-bridge hook install --settings", What: "in ~/.claude/settings.json"},
			{Line: "acp-bridge hook install --print", What: "to see it"},
			{Line: "acp-bridge hook install opencode", What: "for OpenCode"},
			{Line: "acp-bridge hook remove"},
		},
		Env: []string{claudeEnv, "CLAUDE_CODE_EXECUTABLE", "CLAUDE_CONFIG_DIR", hubEnv, tokenEnv, "XDG_STATE_HOME", "XDG_CONFIG_HOME", "ACP_BRIDGE_ASKS", "CLAUDE_PID"}, Words: hookActions, Make: does(hookCommand),
	}, {
		Name: "watch", Beside: "hook", Args: "codex", Summary: "answer every codex in a plain terminal at a hub, too",
		About: "Put what Codex asks in any terminal of yours, approvals and questions, to a hub as well, until Ctrl+C. The dialog in the terminal stays, and whoever answers first has answered. " +
			"Nothing is installed: a codex opens a control socket for all its sessions, and this is a second client of it. A hub on this machine does the same by itself. " +
			"The socket is experimental: with a version of Codex that is not known here it says so, in a line, and leaves it alone.",
		Examples: []cli.Example{
			{Line: "acp-bridge watch codex", What: "with the hub of this machine"},
			{Line: "acp-bridge watch codex --hub https://hub.example --hub-token-file token", What: "with one elsewhere"},
		},
		Env: []string{"CODEX_HOME", hubEnv, tokenEnv, "XDG_STATE_HOME"}, Words: watched, Make: does(watchCommand),
	}, {
		Name: "away", Beside: "hook", Summary: "nobody is at the terminal: hooks wait at the hub",
		About: "Say at a hub that nobody sits at the terminal. Claude Code shows nothing there while a hook waits for what a sub-agent in the background or an MCP server asks, and so hooks wait for seconds only; " +
			"while you are away they wait until somebody answers at the hub. Everything else is at both places anyhow.",
		Examples: []cli.Example{{Line: "acp-bridge away"}, {Line: "acp-bridge back"}},
		Env:      []string{hubEnv, tokenEnv, "XDG_STATE_HOME"}, Make: does(awayCommand(true)),
	}, {
		Name: "back", Beside: "hook", Summary: "somebody is at the terminal again",
		About:    "Say at a hub that somebody sits at the terminal again, see acp-bridge away. What waits goes to the terminal at once.",
		Examples: []cli.Example{{Line: "acp-bridge back"}},
		Env:      []string{hubEnv, tokenEnv, "XDG_STATE_HOME"}, Make: does(awayCommand(false)),
	}}
}
