package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func testProgram(ran *[]string) *Program {
	make := func(fs *Flags) Runner {
		name := fs.String("name", "", "a `name`")
		fs.Values("name", "one", "two")
		return func(_ context.Context, args []string, s Streams) error {
			words, err := fs.ParseWords(args)
			*ran = append([]string{fs.Name(), *name}, words...)
			return err
		}
	}
	example := []Example{{Line: "prog", What: "x"}}
	return &Program{
		Name: "prog", Default: "start", Version: func() string { return "v1" },
		Data:     func() (string, error) { return "/x\x1b[2J", nil },
		Commands: []Command{{Name: "start", Make: make, Examples: example}, {Name: "stop", Make: make, Examples: example}},
		Topics:   func() []Topic { return []Topic{{Name: "more", Text: "More of it\n\ntext\n"}} },
	}
}

// Which command runs, with what, and what is said about what cannot be.
func TestRun(t *testing.T) {
	for line, want := range map[string]string{
		"":                    "start ",
		"--name one":          "start one",
		"stop a --name two b": "stop two a b",
		"stop --nmae x":       "2: prog stop: unknown flag --nmae; did you mean --name? (see prog help stop)",
		"stop --name twoo":    `2: prog stop: --name: expected one of one, two, got "twoo"; did you mean two? (see prog help stop)`,
		"stop --name":         "2: prog stop: --name needs a value (see prog help stop)",
		"--nmae x":            "2: prog: unknown flag --nmae; did you mean --name? (see prog help start)",
		"sotp":                `2: prog: unknown command "sotp"; did you mean stop? (prog help lists them)`,
		"help sotp":           `2: prog: unknown command or topic "sotp"; did you mean stop? (prog help lists them)`,
		"help mroe":           `2: prog: unknown command or topic "mroe"; did you mean more? (prog help lists them)`,
		"completion bsh":      `2: prog completion: unknown shell "bsh": expected bash, zsh or fish; did you mean bash? (see prog help completion)`,
		"version now":         `2: prog version: unexpected argument "now" (see prog help version)`,
	} {
		var ran []string
		var errOut bytes.Buffer
		code := testProgram(&ran).Run(t.Context(), strings.Fields(line), Streams{Out: &bytes.Buffer{}, Err: &errOut})
		if wrong, ok := strings.CutPrefix(want, "2: "); ok {
			require.Equal(t, ExitUsage, code, line)
			require.Equal(t, wrong+"\n", errOut.String())
			continue
		}
		require.Equal(t, ExitOK, code, errOut.String())
		require.Equal(t, want, strings.Join(ran, " "))
	}
	for line, want := range map[string]string{"--version": "prog v1\ncommit: " + Commit() + "\ndata:   /x\n", "version": "prog v1\ncommit: " + Commit() + "\ndata:   /x\n", "help more": "More of it\n\ntext\n"} {
		var out bytes.Buffer
		require.Equal(t, ExitOK, testProgram(new([]string)).Run(t.Context(), strings.Fields(line), Streams{Out: &out, Err: &out}))
		require.Equal(t, want, out.String())
	}
}

// How a command's error ends the program.
func TestFinish(t *testing.T) {
	p := testProgram(new([]string))
	for _, c := range []struct {
		err  error
		code int
		said string
	}{
		{nil, 0, ""}, {Exit{Code: 4}, 4, ""}, {context.Canceled, 1, "prog stop: context canceled\n"},
		{Usagef("a\nb\x1b[2Jc"), 2, "prog stop: a bc\n"}, {Usage(context.Canceled), 2, "prog stop: context canceled\n"}, {Misused("no"), 2, "prog stop: no (see prog help stop)\n"},
	} {
		var errOut bytes.Buffer
		require.Equal(t, c.code, p.Finish("stop", c.err, &errOut))
		require.Equal(t, c.said, errOut.String())
	}
}

// The manual has every topic under its title, and a shell completes no files for a flag
// that takes a word.
func TestManualAndCompletion(t *testing.T) {
	p := testProgram(new([]string))
	make := p.Commands[1].Make
	p.Commands[1].Make = func(fs *Flags) Runner {
		fs.String("word", "", "a `word`")
		return make(fs)
	}
	require.Contains(t, p.Manual(), ".SH MORE OF IT\n.nf\ntext\n.fi\n")
	for words, want := range map[string]string{
		"stop --name": "words: one two", "stop --word": "words:", "stop x": "words: --name --word --help", "stop -- x": "default:",
		"help": "words: stop completion man version start more environment", "": "words: stop completion man version start help --name --help",
	} {
		kind, list := p.complete(strings.Fields(words))
		said := kind + ":"
		for _, e := range list {
			said += " " + e.Line
		}
		require.Equal(t, want, said, words)
	}
}

func TestStamped(t *testing.T) {
	defer func(r, c string) { release, commit = r, c }(release, commit)
	release, commit = "v1.2.3", "0123456789ABCDEF0123456789abcdef01234567"
	require.Equal(t, "v1.2.3", Version())
	require.Equal(t, "0123456789ab", Commit())
	require.Equal(t, "unknown", short("", true))
	require.Equal(t, "abc with changes", short("abc", true))
}
