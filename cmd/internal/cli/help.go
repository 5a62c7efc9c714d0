package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Find finds a command by its name.
func (p *Program) Find(name string) (Command, bool) {
	for _, c := range p.All() {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// Names are those of the commands.
func (p *Program) Names() []string {
	return NamesOf(p.All(), func(c Command) string { return c.Name })
}

// FlagsOf are the flags of a command.
func (p *Program) FlagsOf(c Command) *Flags {
	fs := p.Flags(c.Name, io.Discard)
	c.Make(fs)
	return fs
}

// brief are the commands that share the last line of the general help.
var brief = []string{"completion", "man", "version"}

// printHelp prints the help of a command, a topic, or the general one.
func (p *Program) printHelp(out io.Writer, args []string) error {
	text := p.Help()
	if len(args) > 0 && !isHelp(args[0]) {
		var ok bool
		if text, ok = p.topic(args[0]); !ok {
			c, ok := p.Find(args[0])
			if !ok {
				return p.Unknown("command or topic", args[0], append(p.Names(), p.topicNames()...))
			}
			text = p.helpOf(c, p.FlagsOf(c))
		}
	}
	_, err := io.WriteString(out, text)
	return err
}

// Help is the general help. It fits a small terminal.
func (p *Program) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nCommands (%s help COMMAND shows the flags of one):\n", p.Lead, p.Name)
	for _, c := range p.All() {
		if c.Name != p.Default && c.Beside == "" && !slices.Contains(brief, c.Name) {
			fmt.Fprintf(&b, "  %-16s %s\n", p.called(c), cmp.Or(c.Together, c.Summary))
		}
	}
	fmt.Fprintf(&b, "  completion, man, version: for your shell, the manual, the version\n")
	fmt.Fprintf(&b, "Topics (help TOPIC): %s\n", strings.Join(p.topicNames(), ", "))
	c, _ := p.Find(p.Default)
	fmt.Fprintf(&b, "%s (%s help %s):\n%s", p.DefaultFlags, p.Name, p.Default, Indent(Wrap(strings.Join(p.FlagsOf(c).names(), ", "), Width-2), "  "))
	return b.String()
}

// called is how a command is called in the general help, with those on its line.
func (p *Program) called(c Command) string {
	names := []string{c.Name}
	for _, o := range p.All() {
		if o.Beside == c.Name {
			names = append(names, o.Name)
		}
	}
	if len(names) > 1 {
		return strings.Join(names, ", ")
	}
	args, _, _ := strings.Cut(c.Args, " [ARGUMENTS]")
	return strings.TrimSpace(c.Name + " " + args)
}

// helpOf is the help of one command.
func (p *Program) helpOf(c Command, fs *Flags) string {
	var b strings.Builder
	usage := func(lead, words string) { fmt.Fprintf(&b, "%s %s %s\n", lead, p.Name, strings.TrimSpace(words)) }
	usage("Usage:", p.synopsis(c, c.Args, fs))
	for _, args := range c.Other {
		usage("      ", p.synopsis(c, args, fs))
	}
	fmt.Fprintf(&b, "\n%s\nEXAMPLES\n", Wrap(c.About, Width))
	for _, e := range c.Examples {
		if e.What != "" {
			b.WriteString(Indent(Wrap("# "+e.What, Width-2), "  "))
		}
		fmt.Fprintf(&b, "  %s\n", e.Line)
	}
	if len(c.Table) > 0 {
		b.WriteString("\n" + table(c.Table))
	}
	if flags := fs.List(); len(flags) > 0 {
		b.WriteString("\nFLAGS\n" + table(flags))
	}
	return b.String()
}

// table has what each line is good for beside it, or below it if it is long.
func table(rows []Example) string {
	const column = 26
	var b strings.Builder
	for _, row := range rows {
		what := Indent(Wrap(row.What, Width-column), strings.Repeat(" ", column))
		if n := len([]rune(row.Line)) + 4; n <= column {
			fmt.Fprintf(&b, "  %s  %s", row.Line, what[n:])
		} else {
			fmt.Fprintf(&b, "  %s\n%s", row.Line, what)
		}
	}
	return b.String()
}

// synopsis is how a command is called, without the program's name.
func (p *Program) synopsis(c Command, args string, fs *Flags) string {
	name, flags := c.Name, ""
	if name == p.Default {
		name = ""
	}
	if len(fs.names()) > 0 {
		flags = "[FLAGS]"
	}
	words := []string{name, flags, args}
	if len(c.Words) > 0 && len(c.Other) > 0 { // the action comes before its flags
		words = []string{name, args, flags}
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
