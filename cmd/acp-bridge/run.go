package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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

// command is one subcommand. Its run returns nil, or an error that is shown as
// one line; a [usageError] exits with 2, any other with 1.
type command struct {
	name, args, summary string
	run                 func(ctx context.Context, args []string, s streams) error
}

func commands() []command {
	return []command{
		{"demo", "", "see it work: a scripted agent asks you questions", runDemo},
		{"chat", "-- AGENT", "talk to any ACP agent in the terminal", runChat},
		{"ask", "[FILE]", "ask a call's questions in the terminal, print its result", runAsk},
		{"questions", "", "list, show, answer or clear questions that wait in files", runQuestions},
		{"rpc", "", "answer pi's and Opal's requests on stdin and stdout", runRPC},
		{"proxy", "-- AGENT", "run any ACP agent in an editor, its questions included", runProxy},
		{"mcp", "", "a question tool for any MCP client, on stdio or HTTP", runMCP},
		{"hub", "[FLAGS]", "start acp-bridge-hub: answer from a browser or a phone", runHub},
		{"convert", "[FILE]", "turn a call into ACP requests, or replies into its result", runConvert},
		{"schema", "[DIALECT]", "print an agent's question tool: name, description, schema", runSchema},
		{"render", "[FILE]", "show how a tool call is drawn in an editor", runRender},
		{"login", "", "log in to Claude Code; editors run it in a terminal of theirs", runLogin},
		{"doctor", "", "check the set-up; print an editor's settings (--editor zed)", runDoctor},
		{"version", "", "print the version", runVersion},
	}
}

// usageError is bad input or bad usage: nothing was done.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
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
		return finish("", runServe(ctx, args, s), errOut)
	}
	if isHelp(args[0]) {
		if len(args) == 1 {
			fmt.Fprint(out, help())
			return exitOK
		}
		args = []string{args[1], "--help"}
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return finish(c.name, c.run(ctx, args[1:], s), errOut)
		}
	}
	return finish("", usagef("unknown command %q; acp-bridge help lists them", args[0]), errOut)
}

func finish(name string, err error, errOut io.Writer) int {
	var exit exitError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	default:
		prefix := strings.TrimSpace("acp-bridge " + name)
		fmt.Fprintf(errOut, "%s: %s\n", prefix, oneLine(err))
	}
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

func help() string {
	var b strings.Builder
	b.WriteString(`acp-bridge runs Claude Code in ACP editors, its questions included.
Usage: acp-bridge [FLAGS] [-- CLAUDE-ARGUMENTS]    speak ACP with an editor
       acp-bridge COMMAND [FLAGS]

Commands (acp-bridge help COMMAND shows the flags of one):
`)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-16s %s\n", strings.TrimSpace(c.name+" "+c.args), c.summary)
	}
	b.WriteString(`Flags with an editor:
  --claude PATH         the executable; --sub-agents refuse: they ask nothing
  --ask RUNG, --hub URL ask first by form, permission or message; also at a hub
  --guard-auto-answers  distrust answers that come faster than a person can read
  --log-level LEVEL     debug to error; --log-file FILE; --trace FILE: all lines
`)
	return b.String()
}

// flagSet is the flags of a subcommand. Help goes to its output; errors are
// reported once, by finish.
type flagSet struct {
	*flag.FlagSet
	usage string
	out   io.Writer
}

func newFlags(name, usage string, s streams) *flagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return &flagSet{fs, usage, s.out}
}

// parse reads flags and at most one file name, in any order.
func (f *flagSet) parse(args []string) (file string, err error) {
	for {
		switch err := f.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprintf(f.out, "Usage: acp-bridge %s %s\n\nFlags:\n", f.Name(), f.usage)
			f.SetOutput(f.out)
			f.PrintDefaults()
			return "", err
		case err != nil:
			return "", usageError{err}
		case f.NArg() == 0:
			return file, nil
		case file != "":
			return "", usagef("unexpected argument %q: one file is read", f.Arg(0))
		}
		file, args = f.Arg(0), f.Args()[1:]
	}
}

// maxInput bounds what is read of a file: a call is kilobytes.
const maxInput = 64 << 20

// readInput reads a file, or stdin when the name is empty or "-".
func readInput(name string, s streams) ([]byte, error) {
	r := s.in
	if name != "" && name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usageError{err}
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, usageError{err}
	}
	if len(data) > maxInput {
		return nil, usagef("input is larger than %d MiB", maxInput>>20)
	}
	return data, nil
}
