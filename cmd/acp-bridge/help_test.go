package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

func TestHelp(t *testing.T) { clitest.Check(t, program()) }

// Topics fit 80 columns but for a table, name only commands and flags that there are, and all texts are used.
func TestTopics(t *testing.T) {
	require.Len(t, acptest.Must(topicFiles.ReadDir("topics")), len(topics()))
	flags := regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
	called := regexp.MustCompile(`acp-bridge ([a-z][a-z-]*) `)
	for _, topic := range topics() {
		clitest.Fits(t, topic.Text)
		if topic.Name == "claude" {
			continue // made of a comment: it names other programs, too
		}
		for _, m := range flags.FindAllStringSubmatch(topic.Text, -1) {
			require.True(t, isFlag(m[1]), "%s: --%s", topic.Name, m[1])
		}
		for _, m := range called.FindAllStringSubmatch(topic.Text, -1) {
			_, ok := program().Find(m[1])
			require.True(t, ok || m[1] == "help", "%s: acp-bridge %s", topic.Name, m[1])
		}
	}
}

// isFlag reports whether some command has a flag of this name.
func isFlag(name string) bool {
	p := program()
	return slices.ContainsFunc(p.All(), func(c cli.Command) bool { return p.FlagsOf(c).Lookup(name) != nil })
}

// Whatever acp-bridge reads from the environment is in the table of variables.
func TestEnvironmentIsTold(t *testing.T) {
	t.Parallel()
	known := map[string]bool{
		// The system's own, which say where things are.
		"HOME": true, "USERPROFILE": true, "USERNAME": true, "PATH": true, "PATHEXT": true, "TMPDIR": true, "LOCALAPPDATA": true,
		// Claude Code's, passed on to it.
		"CLAUDE_CODE_TMPDIR": true, "ANTHROPIC_BASE_URL": true,
	}
	for _, v := range variables {
		known[v.Line] = true
	}
	getters := map[string]bool{"Getenv": true, "LookupEnv": true, "getenv": true, "FromEnv": true}
	for _, root := range []string{".", "../internal", "../../adapter", "../../convert", "../../display", "../../internal"} {
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
		got := cli.DidYouMean(word, program().Names())
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		require.Equal(t, want, got, word)
	}
}

func TestBashCompletion(t *testing.T) {
	p := program()
	require.Equal(t, []string{"down", "demo", "doctor"}, clitest.Bash(t, p, "d"))
	require.Equal(t, []string{"doctor"}, clitest.Bash(t, p, "help", "doc"))
	require.Equal(t, []string{"trouble"}, clitest.Bash(t, p, "help", "tr"))
	require.Empty(t, clitest.Bash(t, p, "tr"))
	require.Equal(t, []string{"--editor"}, clitest.Bash(t, p, "doctor", "--e"))
	require.Equal(t, []string{"zed"}, clitest.Bash(t, p, "doctor", "--editor", "z"))
	require.Equal(t, []string{"message"}, clitest.Bash(t, p, "--ask", "m"))
	require.Equal(t, []string{"--session", "call.json"}, append(clitest.Bash(t, p, "ask", "--se"), clitest.Bash(t, p, "ask", "c")...))
	require.Equal(t, []string{"show"}, clitest.Bash(t, p, "questions", "s"))
	require.Equal(t, []string{"call.json"}, clitest.Bash(t, p, "ask", "--answers-file", ""))
	require.Empty(t, clitest.Bash(t, p, "chat", "--", ""))
	require.Equal(t, []string{"-p"}, clitest.Bash(t, p, "chat", "-p"))
}

// /questions shows what waits in the directory of the chat, and removes it.
func TestChatQuestions(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	in := `{"name":"ask_user","input":{"questions":[{"question":"Which database?","options":["PostgreSQL","SQLite"]}]}}`
	var out, errOut strings.Builder
	require.Equal(t, exitPending, run(context.Background(), []string{"ask", "--headless"}, strings.NewReader(in), &out, &errOut))
	questions := chatQuestions(".").Run
	require.Contains(t, questions(""), "1. Which database?\n   1. PostgreSQL\n   2. SQLite\n   Answer: none yet")
	require.Equal(t, questions("show"), questions(""))
	require.Contains(t, questions("answer"), "in another terminal")
	require.Contains(t, questions("drop"), `unknown action "drop"`)
	require.Contains(t, questions("clear 123456"), "123456")
	require.Contains(t, questions(""), "Which database?", "a wrong name removes nothing")
	require.Contains(t, questions("clear"), "Removed: ")
	require.Contains(t, questions(""), "No open questions.")
}

// Whoever reads what waits is told who asks, where, and whether anybody waits for it.
func TestWhoAsksAtAHub(t *testing.T) {
	q := hubQuestion{&hublink.AtHub{Waiting: hublink.Waiting{Agent: "Codex", Cwd: "/p", Branch: "main", Machine: "box", Asked: time.Now()}}}
	require.Regexp(t, `^Codex in /p \(main\) on box, .*, the agent waits$`, q.from())
	q.State.Gone = true
	require.Regexp(t, `, the agent is gone, but may come back$`, q.from())
	require.Regexp(t, `^an agent in an unknown folder, `, hubQuestion{&hublink.AtHub{Waiting: hublink.Waiting{Asked: time.Now()}}}.from())
}
