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
	{Line: "CLAUDE_CODE_EXECUTABLE", What: "the same, under the name that other adapters use"},
	{Line: "CLAUDE_CONFIG_DIR", What: "where Claude Code keeps its sessions (default: ~/.claude)"},
	{Line: "ANTHROPIC_API_KEY", What: "an API key for Claude Code, instead of a login; its other variables work, too"},
	{Line: "ACP_BRIDGE_ASK", What: "default for --ask"},
	{Line: "ACP_BRIDGE_HUB", What: "default for --hub"},
	{Line: "ACP_BRIDGE_HUB_TOKEN", What: "the token for that hub"},
	{Line: "ACP_BRIDGE_ASKS", What: "set for an agent that acp-bridge runs, so that acp-bridge hook ignores it"},
	{Line: "CLAUDE_PID", What: "set by Claude Code for its hooks: its process id"},
	{Line: "CODEX_HOME", What: "where Codex has its control socket (default: ~/.codex)"},
	{Line: "XDG_STATE_HOME", What: "where acp-bridge keeps its state (default: ~/.local/state)"},
	{Line: "XDG_CONFIG_HOME", What: "where OpenCode and Kilo keep their settings (default: ~/.config)"},
	{Line: "QWEN_HOME", What: "where Qwen Code keeps its settings (default: ~/.qwen)"},
	{Line: "COPILOT_HOME", What: "where Copilot CLI keeps its settings (default: ~/.copilot)"},
	{Line: "KIMI_CODE_HOME", What: "where Kimi Code keeps its settings (default: ~/.kimi-code)"},
	{Line: "GROK_HOME", What: "where Grok Build keeps its settings (default: ~/.grok)"},
	{Line: "USER", What: "your name, shown to others as the one who answered"},
	{Line: "TERM", What: "if it is dumb, questions are asked line by line"},
	{Line: "NO_COLOR", What: "turns colours off if set"},
}

const claudeEnv, hubEnv, tokenEnv = "ACP_BRIDGE_CLAUDE", "ACP_BRIDGE_HUB", "ACP_BRIDGE_HUB_TOKEN"

// serving is what an editor starts: acp-bridge without a command.
func serving() cli.Command {
	return cli.Command{
		Name: "serve", Args: "[-- CLAUDE-ARGUMENTS]",
		Summary: "speak ACP with an editor; the default without a command",
		About: "Run Claude Code for an editor that speaks ACP on stdin and stdout, and ask its questions there: " +
			"as a form, as a permission request or in the conversation, depending on what the editor can show (acp-bridge help asking). Arguments after -- and the editor's environment are passed on to Claude Code, so " +
			"ANTHROPIC_MODEL and the like work as they do in a terminal.",
		Examples: []cli.Example{
			{Line: "acp-bridge", What: "what an editor starts"},
			{Line: "acp-bridge --ask message", What: "for an editor that does not show the options"},
			{Line: "acp-bridge --trace /tmp/trace -- --model opus", What: "record all messages in a file, and pass an argument to Claude Code"},
		},
		Env:  []string{claudeEnv, "CLAUDE_CODE_EXECUTABLE", "CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "ACP_BRIDGE_ASK", hubEnv, tokenEnv},
		Make: does(serveCommand),
	}
}

// commands are all of them, in the order of the help.
func commands() []cli.Command {
	return slices.Concat(talking(), checking(), []cli.Command{serving()})
}

// exits is what exit codes say of a question.
const exits = "Exit code: 0 answered, 1 failed, 2 bad input, 3 cancelled, 4 pending."

// talking are the commands with which one asks or answers.
func talking() []cli.Command {
	answers := `'["PostgreSQL",["Auth","Logs"],"order-processor"]'`
	terminal := []string{"TERM", "NO_COLOR"}
	state := append([]string{"XDG_STATE_HOME", "USER"}, terminal...)
	return []cli.Command{{
		Name: "up", Summary: "answer Claude Code from your phone: hub, hooks and QR code",
		About: "Start a hub in the background, for this machine and the phones on its network, let Claude Code in any terminal ask there, too, and show a QR code that adds a phone. " +
			"A hub that runs is only opened to the network, and hooks of another hub stay. Run it again for another code.",
		Examples: []cli.Example{{Line: "acp-bridge up"}, {Line: "acp-bridge down", What: "undo it"}},
		Env:      []string{claudeEnv, "CLAUDE_CODE_EXECUTABLE", "CLAUDE_CONFIG_DIR", "XDG_STATE_HOME"}, Make: does(upCommand),
	}, {
		Name: "down", Beside: "up", Summary: "undo acp-bridge up",
		About:    "Stop the hub that acp-bridge up has started, or close to the network the one that it has opened, and remove the hooks that it has installed. What was there before stays, and so do questions, answers and devices.",
		Examples: []cli.Example{{Line: "acp-bridge down"}},
		Env:      []string{claudeEnv, "CLAUDE_CODE_EXECUTABLE", "CLAUDE_CONFIG_DIR", "XDG_STATE_HOME"}, Make: does(downCommand),
	}, {
		Name: "demo", Summary: "see it work: a scripted agent asks you questions",
		About: "A scripted agent asks three questions over a real ACP connection and tells you what it received, without an account or a network. With --stdio it is the agent alone, for an editor to start.",
		Examples: []cli.Example{
			{Line: "acp-bridge demo", What: "answer in the picker"},
			{Line: "acp-bridge demo --answers " + answers, What: "without a terminal"},
			{Line: "acp-bridge demo --wire=full", What: "show the ACP messages; --wire alone shortens them"},
			{Line: "acp-bridge chat -- acp-bridge demo --stdio", What: "the same agent behind another client"},
		},
		Env: append([]string{hubEnv, tokenEnv}, terminal...), Make: does(demoCommand),
	}, {
		Name: "chat", Args: "-- AGENT [ARGUMENTS]", Summary: "talk to any ACP agent in the terminal",
		About: "Start an agent that speaks ACP and talk to it. Its questions, forms and permission requests appear in the picker. " +
			"Ctrl+C cancels a turn, pressing it twice quits; /help shows the keys. Lines piped into it are prompts, and with --answers - answers, too. " +
			"With -p, run one turn without a terminal: questions are answered by --answers, at a hub, or in a file (exit code 4), and the same command again goes on from there. " + exits,
		Examples: []cli.Example{
			{Line: "acp-bridge chat -- acp-bridge", What: "with Claude Code"},
			{Line: "acp-bridge chat --resume -- acp-bridge", What: "choose an earlier session and continue it"},
			{Line: "acp-bridge chat -- acp-bridge proxy -- gemini --acp", What: "with another agent"},
			{Line: "acp-bridge chat -p 'Set up a service' --headless -- acp-bridge", What: "in a script"},
			{Line: "acp-bridge chat -p '@notes.md Do what it says' --continue -- acp-bridge", What: "with the contents of a file"},
		},
		Env: append([]string{hubEnv, tokenEnv}, state...), Make: does(chatCommand),
	}, {
		Name: "ask", Args: "[FILE]", Other: []string{"QUESTION OPTION…"}, Summary: "ask a question, or a call's questions, and print the result",
		About: "Ask a question with these options, or the questions of any agent's call, and print the result: as the call's agent wants it, or with --print answer the answer alone. " +
			"Without a terminal they wait in a file: see acp-bridge questions. " + exits,
		Examples: []cli.Example{
			{Line: "acp-bridge ask 'Deploy?' Yes No --print answer", What: "in a script"},
			{Line: "acp-bridge ask call.json"},
			{Line: `echo '{"question":"Go on?","options":["Yes","No"]}' | acp-bridge ask`},
			{Line: "acp-bridge ask --answers '[2]' call.json", What: "answered in advance, with the second option"},
		},
		Env: append([]string{hubEnv, tokenEnv}, state...), Make: does(askCommand),
	}, {
		Name: "questions", Args: "[list]",
		Other:   []string{"show [FILE|ID]", "answer [FILE|ID]", "clear [FILE|ID]", "history", "forget --by NAME"},
		Summary: "list, show, answer or clear open questions",
		About: "List the open questions in this directory's .acp-bridge folder, show one in full, answer it in the terminal, or remove it. " +
			"The first answer stands and is used once. Only files that your own acp-bridge wrote count. With --hub, do so with the open questions at a hub, where clear dismisses them. " +
			"history shows what was settled at a hub (that of ACP_BRIDGE_HUB, or this machine's): who answered what, and how long it took. " +
			"forget removes one person's answers and name from it, but not that the questions were settled, nor answers that have not reached their agent yet.",
		Examples: []cli.Example{
			{Line: "acp-bridge questions"},
			{Line: "acp-bridge questions answer 8cbdqwer", What: "the first eight letters of an id are enough"},
			{Line: `acp-bridge questions answer --answers '{"Go on?":"Yes"}'`, What: "the open one with that text"},
			{Line: "acp-bridge questions clear --all"},
			{Line: "acp-bridge questions answer --hub http://127.0.0.1:7717", What: "one that is open at a hub"},
			{Line: "acp-bridge questions history --since 24h --text database", What: "what was settled there"},
		},
		Env: append([]string{hubEnv, tokenEnv}, state...), Words: questionsActions, Make: does(questionsCommand),
	}, {
		Name: "rpc", Beside: "mcp", Summary: "answer pi's and Opal's requests on stdin and stdout",
		About: "Read requests from stdin, one JSON object per line (pi's ask_user_request and Opal's client/ask_user), ask them in the terminal, one at a time, " +
			"and write the responses to stdout. Without a terminal, each waits in a file: see acp-bridge questions. With --acp they are asked in the editor that started it. " +
			"With --answers nobody is asked: each question takes the next entry, or the one under its text, and a request without an entry fails. " +
			"Ctrl+C at a question fails that request; pressed again it ends the program. The end of stdin withdraws open questions (see --wait); a program that is killed leaves them in their files.",
		Examples: []cli.Example{{Line: "acp-bridge rpc", What: "started by the agent, in a terminal"}, {Line: "acp-bridge rpc --headless", What: "answered in files"}, {Line: "acp-bridge rpc --acp -- my-agent", What: "started by an editor, and asked there"}},
		Env:      append([]string{hubEnv, tokenEnv}, state...), Make: does(rpcCommand),
	}, {
		Name: "proxy", Args: "-- AGENT [ARGUMENTS]", Summary: "run any ACP agent in an editor, questions included",
		About: "Stand between an editor and any ACP agent. Everything passes through unchanged except the agent's questions, which are asked the way acp-bridge asks those of Claude Code. " +
			"Agents that cannot ask get a tool for it, and --tool gives it to any. acp-bridge doctor --agents lists what is known about each agent; of others, questions are recognised by their shape. " +
			"OpenCode and Kilo are answered through their HTTP API, which is out of reach with --chain or when something else starts the agent. OpenCode 2 has none: its permissions work, and its questions where it asks with forms.",
		Examples: []cli.Example{
			{Line: "acp-bridge proxy -- gemini --acp", What: "what the editor starts"},
			{Line: "acp-bridge doctor --editor zed --agent gemini", What: "the editor settings for it"},
		},
		Env: []string{"ACP_BRIDGE_ASK", hubEnv, tokenEnv}, Make: does(proxyCommand),
	}, {
		Name: "mcp", Together: "a question tool for MCP clients; answer pi and Opal", Summary: "a question tool for any MCP client, over stdio or HTTP",
		About: "An MCP server with one tool, ask_the_user, for agents that cannot ask. It asks through the client's own forms if there are any, otherwise " +
			"through files: see acp-bridge questions. A call that waits longer than --limit returns a ticket, and the question stays open. " +
			`Settings of most clients: {"mcpServers": {"acp-bridge": {"command": "acp-bridge", "args": ["mcp"]}}}. ` +
			`Codex: [mcp_servers.acp-bridge], command = "acp-bridge", args = ["mcp"]. Clients that only take HTTP: {"type": "http", "url": ADDRESS}, with the address that --http prints.`,
		Examples: []cli.Example{
			{Line: "claude mcp add ask -- acp-bridge mcp", What: "for Claude Code itself"},
			{Line: "acp-bridge mcp --http 127.0.0.1:7333", What: "for several clients on this machine"},
		},
		Env: []string{"XDG_STATE_HOME", hubEnv, tokenEnv}, Make: does(mcpCommand),
	}, {
		Name: "hub", Args: "[FLAGS]", Summary: "start acp-bridge-hub: answer from a browser or a phone",
		About: "Start acp-bridge-hub, a program of its own, with the same flags: see acp-bridge-hub --help. It prints a link that logs a browser in. " +
			"Every command with --hub asks its questions there as well, and the first answer counts. Nothing waits for the hub, except with --ask hub, which asks only there. " +
			"A question that is open when its session ends is asked again when the session is loaded or resumed. " +
			"If it was answered at the hub in the meantime, the answer goes to Claude Code as the next prompt.",
		Examples: []cli.Example{{Line: "acp-bridge hub"}, {Line: "acp-bridge demo --hub http://127.0.0.1:7717", What: "something to answer"}},
		Env:      []string{"XDG_STATE_HOME"}, Make: does(hubCommand),
	}, {
		Name: "hook", Args: "install [AGENT]", Other: []string{"remove [AGENT]"}, Summary: "answer any terminal agent from the hub",
		About: "Send what an agent in any of your terminals asks to a hub as well. install creates a device at the hub that can do nothing else, and installs what AGENT needs; " +
			"your own hooks are not touched. remove takes both away. While the hub is down, the agent behaves as if there were no hook. Without an argument it is what Claude Code runs for each event.",
		Table: inTerminals,
		Examples: []cli.Example{
			{Line: "acp-bridge hook install", What: "with the hub on this machine"},
			{Line: "acp-bridge hook install --hub https://hub.example --hub-token-file token", What: "with a hub elsewhere"},
			{Line: "acp-bridge hook install --settings", What: "in ~/.claude/settings.json instead of a plugin"},
			{Line: "acp-bridge hook install --print", What: "show what would be installed"},
			{Line: "acp-bridge hook install opencode", What: "for OpenCode"},
			{Line: "acp-bridge hook install qwen", What: "for Qwen Code, while you are away"},
			{Line: "acp-bridge hook remove"},
		},
		Env: []string{claudeEnv, "CLAUDE_CODE_EXECUTABLE", "CLAUDE_CONFIG_DIR", hubEnv, tokenEnv, "XDG_STATE_HOME", "XDG_CONFIG_HOME", "QWEN_HOME", "COPILOT_HOME", "KIMI_CODE_HOME", "GROK_HOME", "ACP_BRIDGE_ASKS", "CLAUDE_PID"}, Words: hookActions, Make: does(hookCommand),
	}, {
		Name: "watch", Beside: "hook", Args: "codex", Summary: "answer Codex in any terminal from a hub as well",
		About: "Send what Codex asks in any of your terminals, approvals and questions, to a hub as well, until Ctrl+C. The dialog in the terminal stays, and the first answer counts. " +
			"Nothing is installed, and a hub on this machine does the same by itself. The control socket of Codex is experimental: a version that is not known here is reported and left alone.",
		Examples: []cli.Example{
			{Line: "acp-bridge watch codex", What: "with the hub on this machine"},
			{Line: "acp-bridge watch codex --hub https://hub.example --hub-token-file token", What: "with a hub elsewhere"},
		},
		Env: []string{"CODEX_HOME", hubEnv, tokenEnv, "XDG_STATE_HOME"}, Words: watched, Make: does(watchCommand),
	}, {
		Name: "away", Together: "let terminals wait for the hub while you are out", Summary: "let terminals wait for the hub while you are out",
		About: "Tell a hub that nobody is at the terminal. What Claude Code's sub-agents and MCP servers ask then waits at the hub until somebody answers, and not only a few seconds: the terminal shows nothing meanwhile. " +
			"Qwen Code, Copilot CLI and Gemini CLI ask at the hub only while you are away. Everything else can be answered in both places anyway.",
		Examples: []cli.Example{{Line: "acp-bridge away"}, {Line: "acp-bridge back"}},
		Env:      []string{hubEnv, tokenEnv, "XDG_STATE_HOME"}, Make: does(awayCommand(true)),
	}, {
		Name: "back", Beside: "away", Summary: "you are at the terminal again",
		About:    "Tell a hub that somebody is at the terminal again (see acp-bridge away). Hooks that are waiting hand over to the terminal at once.",
		Examples: []cli.Example{{Line: "acp-bridge back"}},
		Env:      []string{hubEnv, tokenEnv, "XDG_STATE_HOME"}, Make: does(awayCommand(false)),
	}}
}
