package main

import (
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

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

const hubEnv, tokenEnv = "ACP_BRIDGE_HUB", "ACP_BRIDGE_HUB_TOKEN"

// serving is what an editor starts: acp-bridge without a command.
func serving() cli.Command {
	return cli.Command{
		Name: "serve", Args: "[-- CLAUDE-ARGUMENTS]",
		Summary: "speak ACP with an editor; the default without a command",
		About:   "Run Claude Code for an editor that speaks ACP on stdin and stdout, and ask its questions there (see acp-bridge help asking). Arguments after -- are Claude Code's.",
		Examples: []cli.Example{
			{Line: "acp-bridge", What: "what an editor starts"},
			{Line: "acp-bridge --ask message", What: "for an editor that does not show the options"},
			{Line: "acp-bridge --trace /tmp/trace -- --model opus", What: "record all messages in a file, and choose a model"},
		},
		Make: serveCommand,
	}
}

// exits is what exit codes say of a question.
const exits = "Exit code: 0 answered, 1 failed, 2 bad input, 3 cancelled, 4 pending."

// talking are the commands with which one asks or answers.
func talking() []cli.Command {
	return []cli.Command{{
		Name: "up", Summary: "answer Claude Code from your phone: hub, hooks and QR code",
		About:    "Start a hub in the background, have Claude Code in any terminal ask there, too, and show a QR code that adds a phone on this network. Run it again for another code. A hub that runs already is only opened to the network.",
		Examples: []cli.Example{{Line: "acp-bridge up"}, {Line: "acp-bridge down", What: "undo it"}},
		Make:     upCommand((*upState).up),
	}, {
		Name: "down", Beside: "up", Summary: "undo acp-bridge up",
		About:    "Undo what acp-bridge up has done, and nothing else. Questions, answers and devices are kept.",
		Examples: []cli.Example{{Line: "acp-bridge down"}},
		Make:     upCommand((*upState).down),
	}, {
		Name: "demo", Summary: "see it work: a scripted agent asks you questions",
		About: "A scripted agent asks three questions and tells you what it received, without an account or a network.",
		Examples: []cli.Example{
			{Line: "acp-bridge demo", What: "answer in the picker"},
			{Line: `acp-bridge demo --answers '["PostgreSQL",["Auth","Logs"],"order-processor"]'`, What: "without a terminal"},
			{Line: "acp-bridge demo --wire=full", What: "show the ACP messages; --wire alone shortens them"},
			{Line: "acp-bridge chat -- acp-bridge demo --stdio", What: "the same agent behind another client"},
		},
		Make: demoCommand,
	}, {
		Name: "chat", Args: "-- AGENT [ARGUMENTS]", Summary: "talk to any ACP agent in the terminal",
		About: "Start an agent that speaks ACP and talk to it; /help shows the keys. Lines piped into it are prompts, and with --answers - answers, too. " +
			"With -p, run one turn in a script: questions are answered by --answers, at a hub, or in a file (exit code 4), and the same command again goes on from there. " + exits,
		Examples: []cli.Example{
			{Line: "acp-bridge chat -- acp-bridge", What: "with Claude Code"},
			{Line: "acp-bridge chat --resume -- acp-bridge", What: "choose an earlier session and continue it"},
			{Line: "acp-bridge chat -- acp-bridge proxy -- gemini --acp", What: "with another agent"},
			{Line: "acp-bridge chat -p 'Set up a service' --headless -- acp-bridge", What: "in a script"},
			{Line: "acp-bridge chat -p '@notes.md Do what it says' --continue -- acp-bridge", What: "with the contents of a file"},
		},
		Make: chatCommand,
	}, {
		Name: "ask", Args: "[FILE]", Other: []string{"QUESTION OPTION…"}, Summary: "ask a question, or a call's questions, and print the result",
		About: "Ask a question with these options, or the questions of any agent's call, and print the result as the call's agent wants it. " +
			"Without a terminal they wait in a file (see acp-bridge questions), and the same command again prints the answer. " + exits,
		Examples: []cli.Example{
			{Line: "acp-bridge ask 'Deploy?' Yes No --print answer", What: "in a script"},
			{Line: "acp-bridge ask call.json"},
			{Line: `echo '{"question":"Go on?","options":["Yes","No"]}' | acp-bridge ask`},
			{Line: "acp-bridge ask --answers '[2]' call.json", What: "answered in advance, with the second option"},
		},
		Make: askCommand,
	}, {
		Name: "questions", Args: "[list]",
		Other:   []string{"show [FILE|ID]", "answer [FILE|ID]", "clear [FILE|ID]", "history", "forget --by NAME"},
		Summary: "list, show, answer or clear open questions",
		About:   "The open questions in this directory's .acp-bridge folder, or at a hub with --hub. The first answer stands and is used once.",
		Examples: []cli.Example{
			{Line: "acp-bridge questions"},
			{Line: "acp-bridge questions answer 8cbdqwer", What: "the first eight letters of an id are enough"},
			{Line: `acp-bridge questions answer --answers '{"Go on?":"Yes"}'`, What: "the open one with that text"},
			{Line: "acp-bridge questions clear --all"},
			{Line: "acp-bridge questions answer --hub http://127.0.0.1:7717", What: "one that is open at a hub"},
			{Line: "acp-bridge questions history --since 24h --text database", What: "what was settled there"},
		},
		Table: []cli.Example{
			{Line: "list", What: "all that are open"},
			{Line: "show", What: "one in full"},
			{Line: "answer", What: "answer one in the terminal, or with --answers"},
			{Line: "clear", What: "remove a file, or dismiss a question at a hub"},
			{Line: "history", What: "who answered what at this machine's hub, or that of --hub, and how long it took"},
			{Line: "forget", What: "remove one person's answers and name from the history"},
		},
		Words: questionsActions, Make: questionsCommand,
	}, {
		Name: "rpc", Beside: "mcp", Summary: "answer pi's and Opal's requests on stdin and stdout",
		About: "Read requests from stdin, one JSON object per line, ask them in the terminal, and write the responses to stdout. Without a terminal, each waits in a file (see acp-bridge questions). With --acp they are asked in the editor that started it. " +
			"The end of stdin withdraws what is open, unless --wait is given.",
		Examples: []cli.Example{{Line: "acp-bridge rpc", What: "started by the agent, in a terminal"}, {Line: "acp-bridge rpc --headless", What: "answered in files"}, {Line: "acp-bridge rpc --acp -- my-agent", What: "started by an editor, and asked there"}},
		Make:     rpcCommand,
	}, {
		Name: "proxy", Args: "-- AGENT [ARGUMENTS]", Summary: "run any ACP agent in an editor, questions included",
		About: "Stand between an editor and any ACP agent. Everything passes through unchanged except the agent's questions, which are asked as those of Claude Code are. " +
			"Agents that cannot ask get a tool for it. acp-bridge doctor --agents lists what is known about each.",
		Examples: []cli.Example{
			{Line: "acp-bridge proxy -- gemini --acp", What: "what the editor starts"},
			{Line: "acp-bridge doctor --editor zed --agent gemini", What: "the editor settings for it"},
		},
		Make: proxyCommand,
	}, {
		Name: "mcp", Together: "a question tool for MCP clients; answer pi and Opal", Summary: "a question tool for any MCP client, over stdio or HTTP",
		About: "An MCP server with one tool, ask_the_user, for agents that cannot ask. It asks through the client's own forms if there are any, otherwise " +
			"through files (see acp-bridge questions).",
		Examples: []cli.Example{
			{Line: "claude mcp add ask -- acp-bridge mcp", What: "for Claude Code itself"},
			{Line: "acp-bridge mcp --http 127.0.0.1:7333", What: "for several clients on this machine"},
		},
		Table: []cli.Example{
			{Line: `{"mcpServers": {"acp-bridge": {"command": "acp-bridge", "args": ["mcp"]}}}`, What: "for most clients"},
			{Line: `{"type": "http", "url": ADDRESS}`, What: "for those that only take HTTP, with the address that --http prints"},
			{Line: `[mcp_servers.acp-bridge], command = "acp-bridge", args = ["mcp"]`, What: "for Codex"},
		},
		Make: mcpCommand,
	}, {
		Name: "hub", Args: "[FLAGS]", Summary: "start acp-bridge-hub: answer from a browser or a phone",
		About: "Start acp-bridge-hub, a program of its own, with the same flags (see acp-bridge-hub --help). " +
			"Every command with --hub asks its questions there as well, and the first answer counts. Nothing waits for the hub, except with --ask hub, which asks only there.",
		Examples: []cli.Example{{Line: "acp-bridge hub"}, {Line: "acp-bridge demo --hub http://127.0.0.1:7717", What: "something to answer"}},
		Make:     hubCommand,
	}, {
		Name: "hook", Args: "install [AGENT]", Other: []string{"remove [AGENT]"}, Summary: "answer any terminal agent from the hub",
		About: "Have an agent in any of your terminals ask at a hub as well. remove undoes it; your own hooks are not touched. While the hub is down, it is as if there were no hook.",
		Table: inTerminals,
		Examples: []cli.Example{
			{Line: "acp-bridge hook install", What: "Claude Code, with the hub on this machine"},
			{Line: "acp-bridge hook install --hub https://hub.example --hub-token-file token", What: "with a hub elsewhere"},
			{Line: "acp-bridge hook install --settings", What: "in ~/.claude/settings.json instead of a plugin"},
			{Line: "acp-bridge hook install --print", What: "show what would be installed"},
			{Line: "acp-bridge hook install opencode"},
			{Line: "acp-bridge hook remove"},
		},
		Words: hookActions, Make: hookCommand,
	}, {
		Name: "watch", Beside: "hook", Args: "codex|opencode", Summary: "answer Codex or OpenCode 2 in any terminal from a hub as well",
		About: "Have Codex, or OpenCode from version 2 on, in any of your terminals ask at a hub as well, until Ctrl+C. Nothing is installed, and a hub on this machine does the same by itself.",
		Examples: []cli.Example{
			{Line: "acp-bridge watch codex", What: "with the hub on this machine"},
			{Line: "acp-bridge watch codex --hub https://hub.example --hub-token-file token", What: "with a hub elsewhere"},
		},
		Words: []string{"codex", "opencode"}, Make: watchCommand,
	}, {
		Name: "away", Together: "let terminals wait for the hub while you are out", Summary: "let terminals wait for the hub while you are out",
		About: "Tell a hub that nobody is at the terminal: Claude Code's sub-agents and MCP servers, what its auto mode blocks, Qwen Code, Copilot CLI and Gemini CLI then wait there until somebody answers. " +
			"Everything else can be answered in both places anyway.",
		Examples: []cli.Example{{Line: "acp-bridge away"}, {Line: "acp-bridge back"}},
		Make:     awayCommand(true),
	}, {
		Name: "back", Beside: "away", Summary: "you are at the terminal again",
		About:    "End acp-bridge away. What waits goes to its terminal at once; what auto mode blocked stays blocked.",
		Examples: []cli.Example{{Line: "acp-bridge back"}},
		Make:     awayCommand(false),
	}}
}
