package client

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// command is what can be typed behind a slash.
type command struct{ name, description string }

// own are the client's commands. They come before the agent's.
var own = []command{
	{"help", "keys and commands"},
	{"quit", "leave"},
}

// readCommands reads the commands that an agent announces.
func readCommands(update gjson.Result) (out []command) {
	for _, c := range update.Get("availableCommands").Array() {
		name := clean.Line(c.Get("name").Str)
		if name == "" || strings.ContainsAny(name, " /") {
			continue
		}
		out = append(out, command{name, clean.Line(c.Get("description").Str)})
	}
	return out
}

// known are the commands of the options and of the agent.
func (o *Options) known(agents []command) (out []command) {
	for _, c := range o.Commands {
		out = append(out, command{c.Name, c.Description})
	}
	return append(out, agents...)
}

// run runs a command of the options. It reports false if there is none of that
// name.
func (o *Options) run(words string) (shown string, ok bool) {
	name, args, _ := strings.Cut(words, " ")
	for _, c := range o.Commands {
		if name == "/"+c.Name {
			return clean.Block(strings.TrimRight(c.Run(strings.TrimSpace(args)), "\n")), true
		}
	}
	return "", false
}

// matching are the commands that begin with what is typed: a slash and letters,
// nothing behind them.
func matching(typed string, agents []command) (out []command) {
	word, ok := strings.CutPrefix(typed, "/")
	if !ok || strings.ContainsAny(word, " \n") {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range slices.Concat(own, agents) {
		if strings.HasPrefix(c.name, word) && !seen[c.name] {
			seen[c.name] = true
			out = append(out, c)
		}
	}
	return out
}

// complete is what Tab makes of what is typed: as much as all matches share,
// and a space behind the only one.
func complete(typed string, agents []command) string {
	list := matching(typed, agents)
	if len(list) == 0 {
		return typed
	}
	shared := list[0].name
	for _, c := range list[1:] {
		for !strings.HasPrefix(c.name, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	if len(list) == 1 {
		shared += " "
	}
	return "/" + shared
}

// commandRows is how many commands are shown at a time.
const commandRows = 6

// commandLines draw the commands that begin with what is typed.
func (w *window) commandLines() (lines []string) {
	list := matching(w.prompt.field.String(), w.o.known(w.commands))
	for i, c := range list {
		if i == commandRows && len(list) > commandRows+1 {
			lines = append(lines, w.screen.faint(w.screen.cut("  … "+lineask.Counted(len(list)-i, "more: type on", "more: type on"))))
			break
		}
		lines = append(lines, w.screen.faint(w.screen.cut("  "+cells.Pad("/"+c.name, 20)+" "+c.description)))
	}
	return lines
}

// helpText says what can be typed and pressed.
func helpText(agents []command) string {
	list := slices.Concat(agents, own)
	width := 10
	for _, c := range list {
		width = max(width, min(cells.Width("/"+c.name), 22))
	}
	var lines []string
	for _, c := range list {
		lines = append(lines, strings.TrimRight(cells.Pad("/"+c.name, width)+"  "+c.description, " "))
	}
	return strings.Join(append(lines,
		"",
		"Enter       send                     Ctrl+C      cancel the turn, twice: quit",
		"Ctrl+J      a new line               Ctrl+D      quit, if nothing is typed",
		"↑ ↓         earlier prompts          Ctrl+O      full output of tools",
		"Tab         complete a command       Ctrl+Z      suspend",
		"A prompt sent while the agent works reaches it at once.",
	), "\n")
}
