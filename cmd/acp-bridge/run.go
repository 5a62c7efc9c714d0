package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Exit codes, the same for every subcommand.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitCancelled = 3 // the user did not want to answer
	exitPending   = 4 // the questions wait in a file
)

// streams are what a subcommand reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is bad input or bad usage: nothing was done.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef is an error in what was given to a command.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// misuse is a command line that cannot be: help helps.
type misuse struct{ usageError }

func (e misuse) Unwrap() error { return e.usageError }

func misused(format string, args ...any) error {
	return misuse{usageError{fmt.Errorf(format, args...)}}
}

// exitError ends the program with a code of its own. What there was to say has
// been said.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// run is the whole program: it never exits the process itself.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	s := streams{in, out, errOut}
	if len(args) > 0 && args[0] == "--version" {
		args = []string{"version"}
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !isHelp(args[0]) {
		if own, flags, ok := cutLogin(args); ok {
			return finish("login", loginAsServed(ctx, own, flags, s), errOut)
		}
		return finish("", start(ctx, serving(), args, s), errOut)
	}
	if isHelp(args[0]) {
		return finish("", printHelp(out, args[1:]), errOut)
	}
	c, ok := find(args[0])
	if !ok {
		return finish("", unknown("command", args[0], append(commandNames(), "help")), errOut)
	}
	return finish(c.name, start(ctx, c, args[1:], s), errOut)
}

func start(ctx context.Context, c command, args []string, s streams) error {
	fs := newFlags(c.name, s)
	return c.make(fs)(ctx, args, s)
}

// unknown is a word that is none of those that are known.
func unknown(kind, word string, known []string) error {
	return usagef("unknown %s %q%s; acp-bridge help lists them", kind, word, didYouMean(word, known))
}

func finish(name string, err error, errOut io.Writer) int {
	var exit exitError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	}
	more := ""
	if errors.As(err, new(misuse)) {
		more = " (see acp-bridge help " + firstOf(name, serving().name) + ")"
	}
	fmt.Fprintf(errOut, "%s: %s%s\n", strings.TrimSpace("acp-bridge "+name), oneLine(err), more)
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// oneLine is an error as it may go to a terminal: it can hold names and texts of
// others.
func oneLine(err error) string {
	return clean.Line(strings.ReplaceAll(err.Error(), "\n", " "))
}

func isHelp(arg string) bool {
	return arg == "help" || arg == "-h" || arg == "-help" || arg == "--help"
}
