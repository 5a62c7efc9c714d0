package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The help of each command fits 80 columns, has examples that begin as they
// would be typed, says what the environment can do, and writes flags with two
// dashes.
func TestHelpOfEach(t *testing.T) {
	single := regexp.MustCompile(`(^|[ ("])-[a-z]{2,}`)
	for _, c := range commands() {
		fs := newFlags(c.name, streams{})
		c.make(fs)
		text := c.help(fs)
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, len([]rune(line)), helpWidth+1, "%s: %s", c.name, line)
		}
		require.NotRegexp(t, single, text, c.name)
		require.Contains(t, text, "\nEXAMPLES\n  ", c.name)
		require.Contains(t, text, "\nENVIRONMENT\n  ", c.name)
		require.NotEmpty(t, c.examples, c.name)
		require.Len(t, c.variables(), len(c.env), "%s: every variable is explained", c.name)
		for _, f := range listFlags(fs) {
			require.NotContains(t, f.line, "VALUE", "%s: what kind of value?", c.name)
		}
	}
}

// Every topic fits 80 columns, is named in the general help, and names only
// commands and flags that there are.
func TestTopics(t *testing.T) {
	files, err := topics.ReadDir("topics")
	require.NoError(t, err)
	require.Len(t, files, len(topicNames))
	flags := regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
	called := regexp.MustCompile(`acp-bridge ([a-z][a-z-]*) `)
	for _, name := range topicNames {
		code, text, _ := execute(t, nil, "help", name)
		require.Equal(t, exitOK, code, name)
		require.NotEmpty(t, topicTitle(name))
		require.Contains(t, help(), name)
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, len([]rune(line)), helpWidth+1, "%s: %s", name, line)
		}
		for _, m := range flags.FindAllStringSubmatch(text, -1) {
			require.True(t, isFlag(m[1]), "%s: --%s", name, m[1])
		}
		for _, m := range called.FindAllStringSubmatch(text, -1) {
			_, ok := find(m[1])
			require.True(t, ok || m[1] == "help", "%s: acp-bridge %s", name, m[1])
		}
		_, ok := find(name)
		require.False(t, ok, "%s is a command", name)
	}
}

// isFlag reports whether some command has a flag of this name.
func isFlag(name string) bool {
	for _, c := range completions() {
		for _, f := range c.flags {
			if f.name == name {
				return true
			}
		}
	}
	return false
}

// The examples are command lines that are understood: their flags exist.
func TestHelpExamples(t *testing.T) {
	flags := regexp.MustCompile(`--[a-z][a-z-]*`)
	for _, c := range commands() {
		for _, e := range c.examples {
			_, rest, ok := strings.Cut(e.line, "acp-bridge")
			require.True(t, ok, e.line)
			own, _, _ := strings.Cut(rest, " -- ")
			words := strings.Fields(own)
			used := serving()
			if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
				used, ok = find(strings.TrimSuffix(words[0], ")"))
				require.True(t, ok, e.line)
			}
			fs := newFlags(used.name, streams{})
			used.make(fs)
			for _, f := range flags.FindAllString(own, -1) {
				require.NotNil(t, fs.Lookup(strings.TrimPrefix(f, "--")), "%s in %s", f, e.line)
			}
		}
	}
}

// Whatever acp-bridge reads from the environment is in the table of variables.
func TestEnvironmentIsTold(t *testing.T) {
	known := map[string]bool{
		// The system's own, which say where things are.
		"HOME": true, "USERPROFILE": true, "USERNAME": true, "PATH": true, "PATHEXT": true, "TMPDIR": true, "LOCALAPPDATA": true,
		// Claude Code's, passed on to it.
		"CLAUDE_CODE_TMPDIR": true,
	}
	for _, v := range variables {
		known[v.line] = true
	}
	getters := map[string]bool{"Getenv": true, "LookupEnv": true, "getenv": true, "fromEnv": true}
	for _, root := range []string{".", "../../adapter", "../../convert", "../../display", "../../internal"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := ""
				switch f := call.Fun.(type) {
				case *ast.Ident:
					name = f.Name
				case *ast.SelectorExpr:
					name = f.Sel.Name
				}
				for _, arg := range call.Args {
					if lit, ok := arg.(*ast.BasicLit); ok && getters[name] && lit.Kind == token.STRING {
						v, _ := strconv.Unquote(lit.Value)
						if v == strings.ToUpper(v) && v != "" {
							require.True(t, known[v], "%s reads %s: tell it in variables", path, v)
						}
					}
				}
				return true
			})
			return nil
		}))
	}
}

func TestDidYouMean(t *testing.T) {
	for word, want := range map[string]string{
		"covnert": "convert", "dmeo": "demo", "quest": "questions", "doctr": "doctor", "Chat": "chat",
		"frobnicate": "", "x": "", "": "", "as": "ask",
	} {
		got := didYouMean(word, commandNames())
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		require.Equal(t, want, got, word)
	}
}

// bashCompletes is what bash makes of a line whose last word is not finished.
func bashCompletes(t *testing.T, words ...string) []string {
	script := bashCompletion() + `compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_acp_bridge
printf '%s\n' "${COMPREPLY[@]}"
`
	cmd := exec.Command("bash", append([]string{"--norc", "-c", script, "bash", "acp-bridge"}, words...)...)
	cmd.Dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "call.json"), nil, 0o600))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.Empty(t, stderr.String())
	return strings.Fields(string(out))
}

func TestBashCompletion(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not here")
	}
	require.Equal(t, []string{"demo", "doctor"}, bashCompletes(t, "d"))
	require.Equal(t, []string{"doctor"}, bashCompletes(t, "help", "doc"))
	require.Equal(t, []string{"trouble"}, bashCompletes(t, "help", "tr"))
	require.Empty(t, bashCompletes(t, "tr"))
	require.Equal(t, []string{"--editor"}, bashCompletes(t, "doctor", "--e"))
	require.Equal(t, []string{"zed"}, bashCompletes(t, "doctor", "--editor", "z"))
	require.Equal(t, []string{"message"}, bashCompletes(t, "--ask", "m"))
	require.Equal(t, []string{"--session", "call.json"}, append(bashCompletes(t, "ask", "--se"), bashCompletes(t, "ask", "c")...))
	require.Equal(t, []string{"show"}, bashCompletes(t, "questions", "s"))
	require.Equal(t, []string{"call.json"}, bashCompletes(t, "ask", "--answers-file", ""))
	require.Empty(t, bashCompletes(t, "chat", "--", ""))
	require.Equal(t, []string{"-p"}, bashCompletes(t, "chat", "-p"))
}

// The other shells take what is printed for them, where they are installed.
func TestCompletionParses(t *testing.T) {
	for shell, flags := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not here")
			}
			file := filepath.Join(t.TempDir(), "completion")
			code, text, stderr := execute(t, nil, "completion", shell)
			require.Equal(t, exitOK, code, stderr)
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			out, err := exec.Command(path, append(flags, file)...).CombinedOutput()
			require.NoError(t, err, string(out))
			for _, c := range completions() {
				require.Contains(t, text, c.name)
				for _, f := range c.flags {
					require.Contains(t, text, f.name, c.name)
				}
			}
		})
	}
}

// The manual holds every command, flag and variable.
func TestManual(t *testing.T) {
	code, text, _ := execute(t, nil, "man")
	require.Equal(t, exitOK, code)
	for _, c := range completions() {
		if c.name != serving().name {
			require.Contains(t, text, roff("acp-bridge "+c.name))
		}
		for _, f := range c.flags {
			require.Contains(t, text, roff("--"+f.name), c.name)
		}
	}
	for _, v := range variables {
		require.Contains(t, text, roff(v.line))
	}
	for _, name := range topicNames {
		require.Contains(t, text, strings.ToUpper(roff(topicTitle(name))))
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
