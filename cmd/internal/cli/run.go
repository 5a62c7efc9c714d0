package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Exit codes of all programs.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// UsageError is bad input or bad usage: nothing was done. It exits with 2.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Usage is err as a [UsageError].
func Usage(err error) error { return UsageError{err} }

// Usagef is an error in what was given to a command.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// misuse is a command line that cannot be: help helps.
type misuse struct{ UsageError }

func (e misuse) Unwrap() error { return e.UsageError }

// Misused is an error in a command line. It names the help of the command.
func Misused(format string, args ...any) error {
	return misuse{UsageError{fmt.Errorf(format, args...)}}
}

// Exit ends the program with a code of its own. What there was to say has been
// said.
type Exit struct{ Code int }

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// Run runs the command that the arguments name, and returns the exit code. It
// never exits the process itself.
func (p *Program) Run(ctx context.Context, args []string, s Streams) int {
	if len(args) > 0 && args[0] == "--version" {
		args = []string{"version"}
	}
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0], "-") && !isHelp(args[0]):
		c, _ := p.Find(p.Default)
		return p.Finish("", p.start(ctx, c, args, s), s.Err)
	case isHelp(args[0]):
		return p.Finish("", p.printHelp(s.Out, args[1:]), s.Err)
	}
	c, ok := p.Find(args[0])
	if !ok {
		return p.Finish("", p.Unknown("command", args[0], append(p.Names(), "help")), s.Err)
	}
	return p.Finish(c.Name, p.start(ctx, c, args[1:], s), s.Err)
}

func (p *Program) start(ctx context.Context, c Command, args []string, s Streams) error {
	return c.Make(p.Flags(c.Name, s.Out))(ctx, args, s)
}

// Unknown is a word that is none of those that are known.
func (p *Program) Unknown(kind, word string, known []string) error {
	return Usagef("unknown %s %q%s (%s help lists them)", kind, word, DidYouMean(word, known), p.Name)
}

// Finish says what went wrong in a command, and returns the exit code.
func (p *Program) Finish(name string, err error, errOut io.Writer) int {
	var exit Exit
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return ExitOK
	case errors.As(err, &exit):
		return exit.Code
	}
	more := ""
	if errors.As(err, new(misuse)) {
		more = " (see " + p.Name + " help " + cmp.Or(name, p.Default) + ")"
	}
	fmt.Fprintf(errOut, "%s: %s%s\n", strings.TrimSpace(p.Name+" "+name), inLines(err), more)
	if errors.As(err, new(UsageError)) {
		return ExitUsage
	}
	return ExitFailed
}

// OneLine is an error as it may go to a terminal: it can hold names and texts of
// others.
func OneLine(err error) string {
	return clean.Line(strings.ReplaceAll(err.Error(), "\n", " "))
}

// inLines is an error in the lines in which it was written, if it says that it has some.
func inLines(err error) string {
	var lined interface{ InLines() }
	if !errors.As(err, &lined) {
		return OneLine(err)
	}
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		text := strings.TrimLeft(l, " ")
		lines[i] = l[:len(l)-len(text)] + clean.Line(text)
	}
	return strings.Join(lines, "\n")
}

func isHelp(arg string) bool {
	return arg == "help" || arg == "-h" || arg == "-help" || arg == "--help"
}
