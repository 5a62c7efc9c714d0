package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Flags are those of a command. Help goes to the program's output; errors are
// reported once, by the program.
type Flags struct {
	*flag.FlagSet
	program *Program
	out     io.Writer
	choices map[string][]string
	env     map[string]string // by flag: the variable that can stand in for it
}

// Flags are an empty set for a command; its help goes to out.
func (p *Program) Flags(name string, out io.Writer) *Flags {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return &Flags{fs, p, out, map[string][]string{}, map[string]string{}}
}

// Values says what a flag can be. One of text is nothing else: see [Flags.ParseWords].
func (f *Flags) Values(name string, values ...string) { f.choices[name] = values }

// Given reports whether a flag stands on the command line.
func (f *Flags) Given(name string) (given bool) {
	f.Visit(func(fl *flag.Flag) { given = given || fl.Name == name })
	return given
}

// FromEnv is a flag that a variable can stand in for.
func (f *Flags) FromEnv(p *string, name, variable, usage string) {
	f.StringVar(p, name, os.Getenv(variable), usage)
	f.Lookup(name).DefValue = "" // what is set here is nobody else's business
	f.env[name] = variable
}

// ParseWords reads flags and words, in any order.
func (f *Flags) ParseWords(args []string) (words []string, err error) {
	for {
		switch err := f.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			c, _ := f.program.Find(f.Name())
			fmt.Fprint(f.out, f.program.helpOf(c, f))
			return nil, err
		case err != nil:
			return nil, Misused("%s", f.say(err))
		case f.NArg() == 0:
			return words, f.chosen()
		}
		words, args = append(words, f.Arg(0)), f.Args()[1:]
	}
}

// chosen checks that flags of text are one of their values, or as they are without being given.
func (f *Flags) chosen() (err error) {
	f.VisitAll(func(fl *flag.Flag) {
		values := f.choices[fl.Name]
		g, ok := fl.Value.(flag.Getter)
		if err != nil || len(values) == 0 || !ok {
			return
		}
		text, ok := g.Get().(string) // others have a parser of their own
		if !ok || text == fl.DefValue || slices.Contains(values, text) {
			return
		}
		name := Dashed(fl.Name)
		if variable := f.env[fl.Name]; variable != "" {
			name += " (or " + variable + ")"
		}
		err = Misused("%s: expected %s, got %q%s", name, f.expected(fl.Name), text, DidYouMean(text, values))
	})
	return err
}

// ParseFile reads flags and at most one file name, in any order.
func (f *Flags) ParseFile(args []string) (file string, err error) {
	words, err := f.ParseWords(args)
	switch {
	case err != nil || len(words) == 0:
		return "", err
	case len(words) > 1:
		return "", Misused("unexpected argument %q: one file is read", words[1])
	}
	return words[0], nil
}

// ParseFlags reads flags and nothing else. why says what an argument is not.
func (f *Flags) ParseFlags(args []string, why string) error {
	file, err := f.ParseFile(args)
	if err == nil && file != "" {
		err = Misused("unexpected argument %q%s", file, why)
	}
	return err
}

// Alone runs a command that takes flags and nothing else.
func (f *Flags) Alone(run func(context.Context, Streams) error) Runner {
	return func(ctx context.Context, args []string, s Streams) error {
		if err := f.ParseFlags(args, ""); err != nil {
			return err
		}
		return run(ctx, s)
	}
}

// ParseAgent reads flags, and an agent with its arguments behind a double dash.
func (f *Flags) ParseAgent(args []string, example string) (agent []string, err error) {
	dashes := slices.Contains(args, "--")
	args, agent = CutArgs(args)
	file, err := f.ParseFile(args)
	switch {
	case err != nil:
		return nil, err
	case file != "" && !dashes:
		return nil, Misused("the agent comes after a double dash: %s %s -- %s", f.program.Name, f.Name(), file)
	case file != "":
		return nil, Misused("unexpected argument %q before the double dash", file)
	case len(agent) == 0:
		return nil, Misused("no agent given; usage: %[1]s [FLAGS] -- AGENT [ARGUMENTS], as in %[1]s -- %[2]s", f.program.Name+" "+f.Name(), example)
	}
	return agent, nil
}

// CutArgs takes what follows a double dash off the arguments.
func CutArgs(args []string) (own, rest []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// say is an error of package flag with two dashes, as people write them.
func (f *Flags) say(err error) string {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return fmt.Sprintf("unknown flag %s%s", Dashed(name), DidYouMean(name, append(f.names(), "--help")))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return Dashed(name) + " needs a value"
	}
	for _, what := range []string{"for flag -", "for -"} { // invalid value "x" for flag -name: why
		if before, after, ok := strings.Cut(text, what); ok {
			text = before + "for --" + after
			name, _, _ := strings.Cut(after, ":")
			if expected := f.expected(name); expected != "" { // the reason is one of the code
				text = before + "for --" + name + ": expected " + expected
			}
			break
		}
	}
	return text
}

// expected says what a flag takes, where the error of package flag does not.
func (f *Flags) expected(name string) string {
	if len(f.choices[name]) > 0 {
		return "one of " + strings.Join(f.choices[name], ", ")
	}
	fl := f.Lookup(name)
	if fl == nil {
		return ""
	}
	g, ok := fl.Value.(flag.Getter)
	if !ok {
		return ""
	}
	switch g.Get().(type) {
	case time.Duration:
		return "a time with its unit, such as 90s, 15m or 720h (30 days)"
	case int, int64, uint, uint64:
		return "a number"
	}
	return ""
}

func (f *Flags) names() (names []string) {
	f.VisitAll(func(fl *flag.Flag) { names = append(names, Dashed(fl.Name)) })
	return names
}

// DidYouMean names the candidate that is nearest to a word, if one is near.
func DidYouMean(word string, candidates []string) string {
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
