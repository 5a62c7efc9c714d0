package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/helptext"
)

const (
	helpWidth = helptext.Width
	helpName  = 16 // of the column with names of commands
)

// find finds a command by its name.
func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// brief are the commands that share the last line of the general help.
var brief = []string{"completion", "man", "version", "serve"}

// printHelp prints the help of a command, a topic, or the general one.
func printHelp(out io.Writer, args []string) error {
	text := help()
	if len(args) > 0 && !isHelp(args[0]) {
		var ok bool
		if text, ok = topic(args[0]); !ok {
			c, ok := find(args[0])
			if !ok {
				return unknown("command or topic", args[0], append(commandNames(), topicNames...))
			}
			fs := newFlags(c.name, streams{})
			c.make(fs)
			text = c.help(fs)
		}
	}
	_, err := io.WriteString(out, text)
	return err
}

// help is the general help. It fits a small terminal.
func help() string {
	var b strings.Builder
	b.WriteString(`acp-bridge runs Claude Code in ACP editors, its questions included.
Usage: acp-bridge [FLAGS] [-- CLAUDE-ARGUMENTS]    speak ACP with an editor
       acp-bridge COMMAND [FLAGS]

Commands (acp-bridge help COMMAND shows the flags of one):
`)
	for _, c := range commands() {
		if !slices.Contains(brief, c.name) {
			args, _, _ := strings.Cut(c.args, " [ARGUMENTS]")
			fmt.Fprintf(&b, "  %-*s %s\n", helpName, strings.TrimSpace(c.name+" "+args), c.summary)
		}
	}
	fmt.Fprintf(&b, "  completion, man, version: for your shell, the manual, the version\n")
	fmt.Fprintf(&b, "More (acp-bridge help TOPIC): %s\n", strings.Join(topicNames, ", "))
	fs := newFlags(serving().name, streams{})
	serving().make(fs)
	fmt.Fprintf(&b, "Flags with an editor (acp-bridge help serve):\n%s", helptext.Indent(helptext.Wrap(strings.Join(fs.names(), ", "), helpWidth-2), "  "))
	return b.String()
}

// help is the help of one command.
func (c command) help(fs *flagSet) string {
	var b strings.Builder
	usage := func(lead, words string) { fmt.Fprintf(&b, "%s acp-bridge %s\n", lead, strings.TrimSpace(words)) }
	usage("Usage:", c.synopsis(c.args, fs))
	for _, args := range c.other {
		usage("      ", c.synopsis(args, fs))
	}
	fmt.Fprintf(&b, "\n%s", helptext.Wrap(c.about, helpWidth))
	if flags := listFlags(fs); len(flags) > 0 {
		b.WriteString("\nFLAGS\n")
		for _, f := range flags {
			fmt.Fprintf(&b, "  %s\n%s", f.line, helptext.Indent(helptext.Wrap(f.what, helpWidth-6), "      "))
		}
	}
	b.WriteString("\nEXAMPLES\n")
	for _, e := range c.examples {
		if e.what != "" {
			b.WriteString(helptext.Indent(helptext.Wrap("# "+e.what, helpWidth-2), "  "))
		}
		fmt.Fprintf(&b, "  %s\n", e.line)
	}
	b.WriteString("\nENVIRONMENT\n")
	for _, v := range c.variables() {
		fmt.Fprintf(&b, "  %s\n%s", v.line, helptext.Indent(helptext.Wrap(v.what, helpWidth-6), "      "))
	}
	if len(c.env) == 0 {
		b.WriteString("  Nothing is read from it.\n")
	}
	return b.String()
}

// synopsis is how a command is called, without the program's name.
func (c command) synopsis(args string, fs *flagSet) string {
	name, flags := c.name, ""
	if name == serving().name {
		name = ""
	}
	if len(fs.names()) > 0 {
		flags = "[FLAGS]"
	}
	words := []string{name, flags, args}
	if len(c.words) > 0 && len(c.other) > 0 { // the action comes before its flags
		words = []string{name, args, flags}
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// variables are what the environment can say to the command.
func (c command) variables() (list []example) {
	for _, v := range variables {
		if slices.Contains(c.env, v.line) {
			list = append(list, v)
		}
	}
	return list
}

// listFlags are the flags with their values, and what they do.
func listFlags(fs *flagSet) (list []example) {
	for _, f := range helptext.Flags(fs.FlagSet) {
		list = append(list, example{f.Line, f.What})
	}
	return list
}
