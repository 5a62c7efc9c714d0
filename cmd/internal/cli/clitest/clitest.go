// Package clitest checks what a program says about itself.
package clitest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

// Check checks the help, the manual and the completion of a program.
func Check(t *testing.T, p *cli.Program) {
	t.Run("help", func(t *testing.T) { checkHelp(t, p) })
	t.Run("topics", func(t *testing.T) { checkTopics(t, p) })
	t.Run("manual", func(t *testing.T) { checkManual(t, p) })
	for shell, flags := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		t.Run(shell, func(t *testing.T) { checkCompletion(t, p, shell, flags) })
	}
}

// Run is what a program prints, which must end well.
func Run(t *testing.T, p *cli.Program, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	require.Equal(t, cli.ExitOK, p.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errOut}), "%v: %s", args, errOut.String())
	return out.String()
}

// Fits requires that a text fits 80 columns.
func Fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len([]rune(line)), cli.Width+1, line)
	}
}

// The help of each command fits 80 columns, has examples that begin as they
// would be typed, and writes flags with two dashes. The general help fits a terminal of 24 lines.
func checkHelp(t *testing.T, p *cli.Program) {
	Fits(t, p.Help())
	require.LessOrEqual(t, strings.Count(p.Help(), "\n"), 24)
	environment := Run(t, p, "help", "environment")
	Fits(t, environment)
	for _, v := range p.Variables {
		require.Contains(t, environment, "\n  "+v.Line+" ")
	}
	single := regexp.MustCompile(`(?m)(^|[ ("])-[a-z]{2,}`)
	for _, c := range p.All() {
		text := Run(t, p, "help", c.Name)
		if flags := p.FlagsOf(c).List(); len(flags) > 0 { // others may be another program's
			require.Equal(t, text, Run(t, p, c.Name, "--help"))
		}
		Fits(t, text)
		require.NotRegexp(t, single, text, c.Name)
		require.Contains(t, text, "\nEXAMPLES\n  ", c.Name)
		require.NotEmpty(t, c.Examples, c.Name)
		for _, f := range p.FlagsOf(c).List() {
			require.NotContains(t, f.Line, "VALUE", "%s: what kind of value?", c.Name)
		}
	}
}

// A topic is no command, and is named in the general help.
func checkTopics(t *testing.T, p *cli.Program) {
	for _, topic := range p.Topics() {
		require.Equal(t, topic.Text, Run(t, p, "help", topic.Name))
		require.Contains(t, p.Help(), topic.Name)
		_, ok := p.Find(topic.Name)
		require.False(t, ok, "%s is a command", topic.Name)
	}
}

// each calls f with every command and its flags.
func each(p *cli.Program, f func(c cli.Command, flags []string)) {
	for _, c := range p.All() {
		var names []string
		p.FlagsOf(c).VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		f(c, names)
	}
}

// The manual holds every command, flag, variable and topic.
func checkManual(t *testing.T, p *cli.Program) {
	text := Run(t, p, "man")
	plain := strings.NewReplacer(`\-`, "-", `\(aq`, "'").Replace(text)
	each(p, func(c cli.Command, flags []string) {
		if c.Name != p.Default {
			require.Contains(t, plain, p.Name+" "+c.Name)
		}
		for _, f := range flags {
			require.Contains(t, plain, "-"+f, c.Name)
		}
	})
	for _, v := range p.Variables {
		require.Contains(t, plain, v.Line)
	}
	for _, topic := range p.Topics() {
		title, _, _ := strings.Cut(topic.Text, "\n")
		require.Contains(t, plain, ".SH "+strings.ToUpper(title))
	}
	path, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	cmd := exec.Command(path, "-man", "-Tutf8", "-ww", "-z")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(out), "warnings of groff")
}

// The shells take what is printed for them, where they are installed.
func checkCompletion(t *testing.T, p *cli.Program, shell string, flags []string) {
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skip(shell + " is not here")
	}
	text := Run(t, p, "completion", shell)
	file := filepath.Join(t.TempDir(), "completion")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.Command(path, append(flags, file)...).CombinedOutput()
	require.NoError(t, err, string(out))
	each(p, func(c cli.Command, flags []string) {
		require.Contains(t, Run(t, p, "completion", "--", ""), "\n"+c.Name+"\t"+c.Summary+"\n")
		for _, f := range flags {
			require.Contains(t, Run(t, p, "completion", "--", c.Name, ""), "\n"+cli.Dashed(f)+"\t", c.Name)
		}
	})
}

// Bash is what bash makes of a line whose last word is not finished, in a folder
// with a file call.json.
func Bash(t *testing.T, p *cli.Program, words ...string) []string {
	t.Helper()
	said := Run(t, p, append([]string{"completion", "--"}, words...)...)
	script := Run(t, p, "completion", "bash") + `compopt() { :; }
` + p.Name + `() { [ "$*" = 'completion -- ` + strings.Join(words, " ") + `' ] && cat <<'END'
` + said + `END
}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_` + strings.ReplaceAll(p.Name, "-", "_") + `
printf '%s\n' "${COMPREPLY[@]}"
`
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here")
	}
	cmd := exec.Command(path, append([]string{"--norc", "-c", script, "bash", p.Name}, words...)...)
	cmd.Dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "call.json"), nil, 0o600))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.Empty(t, stderr.String())
	return strings.Fields(string(out))
}
