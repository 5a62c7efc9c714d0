package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/helptext"
)

// flagSet is the flags of a command. Help goes to its output; errors are reported
// once, by finish.
type flagSet struct {
	*flag.FlagSet
	out     io.Writer
	choices map[string][]string
}

func newFlags(name string, s streams) *flagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return &flagSet{fs, s.out, map[string][]string{}}
}

// values says what a flag can be, for completion.
func (f *flagSet) values(name string, values ...string) { f.choices[name] = values }

// given reports whether a flag stands on the command line.
func (f *flagSet) given(name string) (given bool) {
	f.Visit(func(fl *flag.Flag) { given = given || fl.Name == name })
	return given
}

// fromEnv is a flag that a variable can stand in for.
func (f *flagSet) fromEnv(p *string, name, variable, usage string) {
	f.StringVar(p, name, os.Getenv(variable), usage)
	f.Lookup(name).DefValue = "" // what is set here is nobody else's business
}

// parse reads flags and at most one file name, in any order.
func (f *flagSet) parse(args []string) (file string, err error) {
	for {
		switch err := f.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			c, _ := find(f.Name())
			fmt.Fprint(f.out, c.help(f))
			return "", err
		case err != nil:
			return "", misused("%s", f.say(err))
		case f.NArg() == 0:
			return file, nil
		case file != "":
			return "", misused("unexpected argument %q: one file is read", f.Arg(0))
		}
		file, args = f.Arg(0), f.Args()[1:]
	}
}

// parseFlags reads flags and nothing else. why says what an argument is not.
func (f *flagSet) parseFlags(args []string, why string) error {
	file, err := f.parse(args)
	if err == nil && file != "" {
		err = misused("unexpected argument %q%s", file, why)
	}
	return err
}

// parseAgent reads flags, and an agent with its arguments behind a double dash.
func (f *flagSet) parseAgent(args []string, example string) (agent []string, err error) {
	dashes := slices.Contains(args, "--")
	args, agent = cutArgs(args)
	file, err := f.parse(args)
	switch {
	case err != nil:
		return nil, err
	case file != "" && !dashes:
		return nil, misused("the agent comes after a double dash: acp-bridge %s -- %s", f.Name(), file)
	case file != "":
		return nil, misused("unexpected argument %q before the double dash", file)
	case len(agent) == 0:
		return nil, misused("no agent given; usage: acp-bridge %s [FLAGS] -- AGENT [ARGUMENTS], as in acp-bridge %s -- %s", f.Name(), f.Name(), example)
	}
	return agent, nil
}

// cutArgs takes what follows a double dash off the arguments.
func cutArgs(args []string) (own, rest []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// say is an error of package flag with two dashes, as people write them.
func (f *flagSet) say(err error) string {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return fmt.Sprintf("unknown flag %s%s", helptext.Dashed(name), didYouMean(name, f.names()))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return helptext.Dashed(name) + " needs a value"
	}
	for _, what := range []string{"for flag -", "for -"} { // invalid value "x" for flag -name: why
		if before, after, ok := strings.Cut(text, what); ok {
			text = before + "for --" + after
			if name, _, _ := strings.Cut(after, ":"); len(f.choices[name]) > 0 { // the reason is one of the code
				text = before + "for --" + name + ": expected one of " + strings.Join(f.choices[name], ", ")
			}
			break
		}
	}
	return text
}

func (f *flagSet) names() (names []string) {
	f.VisitAll(func(fl *flag.Flag) { names = append(names, helptext.Dashed(fl.Name)) })
	return names
}

// didYouMean names the candidate that is nearest to a word, if one is near.
func didYouMean(word string, candidates []string) string {
	best, found := 3, ""
	for _, c := range candidates {
		bare := strings.TrimLeft(c, "-")
		d := distance(strings.TrimLeft(word, "-"), bare)
		if d < best && d < (len(bare)+1)/2 || found == "" && len(word) > 2 && strings.HasPrefix(bare, word) {
			best, found = min(best, d), c
		}
	}
	if found == "" {
		return ""
	}
	return "; did you mean " + found + "?"
}

// distance counts the letters to add, drop, change or swap on the way from a to b.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
