package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	helpWidth = 80
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
	fmt.Fprintf(&b, "Flags with an editor (acp-bridge help serve):\n%s", indented(wrap(strings.Join(fs.names(), ", "), helpWidth-2), "  "))
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
	fmt.Fprintf(&b, "\n%s", wrap(c.about, helpWidth))
	if flags := listFlags(fs); len(flags) > 0 {
		b.WriteString("\nFLAGS\n")
		for _, f := range flags {
			fmt.Fprintf(&b, "  %s\n%s", f.line, indented(wrap(f.what, helpWidth-6), "      "))
		}
	}
	b.WriteString("\nEXAMPLES\n")
	for _, e := range c.examples {
		if e.what != "" {
			b.WriteString(indented(wrap("# "+e.what, helpWidth-2), "  "))
		}
		fmt.Fprintf(&b, "  %s\n", e.line)
	}
	b.WriteString("\nENVIRONMENT\n")
	for _, v := range c.variables() {
		fmt.Fprintf(&b, "  %s\n%s", v.line, indented(wrap(v.what, helpWidth-6), "      "))
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
	fs.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		line := dashed(f.Name)
		if value != "" {
			line += " " + strings.ToUpper(value)
		}
		if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(usage, "default") {
			usage += " (default: " + strings.ToLower(f.DefValue) + ")"
		}
		list = append(list, example{line, clean.Line(strings.ReplaceAll(usage, "\n", " "))})
	})
	return list
}

// wrap breaks a text at blanks, and ends it with a new line.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case column > 0 && column+1+n > width:
			b.WriteByte('\n')
			column = 0
		case column > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteByte('\n')
	return b.String()
}

// indented puts the lead in front of each line.
func indented(text, lead string) string {
	return lead + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+lead) + "\n"
}
