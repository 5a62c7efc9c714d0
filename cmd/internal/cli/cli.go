// Package cli is what our commands have in common: one table of a program's
// commands and flags, of which help, completion, the manual, did-you-mean and the
// parser are made.
//
//	p := &cli.Program{Name: "acp-bridge", Default: "serve", Commands: commands}
//	os.Exit(p.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Runner does what a command is for, with its arguments.
type Runner func(ctx context.Context, args []string, s Streams) error

// Command is one command. It is the only source of what is said about it.
type Command struct {
	// Name and Args are how it is called; Other shows more ways to call it.
	Name, Args string
	Other      []string
	// Beside is the command on whose line of the general help this one stands, and
	// Together what that line says.
	Beside, Together string
	// Summary is its line in the general help; About is more of it, and Table what depends
	// on the first argument.
	Summary, About string
	Table          []Example
	Examples       []Example
	// Words are what its first argument can be, for completion.
	Words []string
	// Make defines the flags and returns what runs with them. The error of that
	// is shown as one line, see [Program.Run].
	Make func(*Flags) Runner
}

// Example is a line and what it is good for.
type Example struct{ Line, What string }

// Topic is a text of the help that is about more than one command. Its first line
// says what it is about.
type Topic struct{ Name, Text string }

func (t Topic) title() string {
	title, _, _ := strings.Cut(t.Text, "\n")
	return title
}

// Program is a program with commands.
type Program struct {
	Name string
	// Title and Description are of the manual, Lead begins the general help: what
	// the program is, and how it is called.
	Title, Description, Lead string
	// Default is the command that runs when none is named; DefaultFlags is what
	// its flags are called in the general help.
	Default, DefaultFlags string
	// Commands are all but completion, man and version, in the order of the help.
	Commands []Command
	// Topics are read when somebody asks for one.
	Topics func() []Topic
	// Variables are all that the environment can say, Exits what exit codes mean.
	Variables []Example
	Exits     string
	Version   func() string
	// Data is the folder for what is kept.
	Data func() (string, error)
}

// All are the commands, with those that every program has. The one that needs no
// name is the last.
func (p *Program) All() []Command {
	var named, unnamed []Command
	for _, c := range p.Commands {
		if c.Name == p.Default {
			unnamed = append(unnamed, c)
		} else {
			named = append(named, c)
		}
	}
	return slices.Concat(named, []Command{p.completionCommand(), p.manCommand(), p.versionCommand()}, unnamed)
}

func (p *Program) versionCommand() Command {
	return Command{
		Name: "version", Summary: "print the version", About: "Print the version, the commit it was built from, and the folder for what is kept. --version does the same.",
		Examples: []Example{{p.Name + " version", ""}},
		Make: func(fs *Flags) Runner {
			return fs.Alone(func(_ context.Context, s Streams) error {
				said := p.Name + " " + p.Version() + "\ncommit: " + Commit() + "\n"
				if dir, err := p.Data(); err == nil {
					said += "data:   " + clean.Line(dir) + "\n"
				}
				_, err := io.WriteString(s.Out, said)
				return err
			})
		},
	}
}

// topics are those of the program, and one that every program has.
func (p *Program) topics() []Topic {
	return append(p.Topics(), Topic{"environment", "What is read from the environment\n\n" + table(p.Variables)})
}

func (p *Program) topic(name string) (text string, ok bool) {
	for _, t := range p.topics() {
		if t.Name == name {
			return t.Text, true
		}
	}
	return "", false
}

func (p *Program) topicNames() []string {
	return NamesOf(p.topics(), func(t Topic) string { return t.Name })
}

// NamesOf are the names of some things, in their order.
func NamesOf[T any](list []T, name func(T) string) (names []string) {
	for _, one := range list {
		names = append(names, name(one))
	}
	return names
}
