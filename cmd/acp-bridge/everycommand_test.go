package main

import (
	"bytes"
	"context"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// shownCommands are the command lines that people are shown: the examples and the texts of
// the help, also of the hub's, and what stands in the README and in SECURITY.md.
func shownCommands(t *testing.T) (lines []string) {
	lines = clitest.Commands(program(), append(clitest.Texts(program()), document(t, "cmd/acp-bridge-hub/operate.txt"),
		document(t, "cmd/acp-bridge-hub/api/api.txt"))...)
	require.GreaterOrEqual(t, len(lines), 10)
	for _, c := range program().All() {
		for _, e := range c.Examples {
			lines = append(lines, e.Line)
		}
	}
	for _, name := range []string{"README.md", "SECURITY.md"} {
		text := document(t, name)
		for _, m := range regexp.MustCompile("`((?:acp-bridge|go) [^`]*)`").FindAllStringSubmatch(text, -1) {
			lines = append(lines, m[1])
		}
		for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(m[1]) {
				line, _, _ = strings.Cut(line, "  #")
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// elsewhere are those that another test runs, which it names: they build, or last.
var elsewhere = map[string]string{
	"go run ./cmd/acp-bridge demo":                             "cmd/acp-bridge TestDemoByKeys",
	"go run ./cmd/acp-bridge-hub":                              "cmd/acp-bridge-hub TestNoLink",
	"go run ./cmd/acp-bridge demo --hub http://127.0.0.1:7717": "cmd/acp-bridge TestEveryCommandRuns", // as acp-bridge demo --hub
	"go install ./cmd/acp-bridge ./cmd/acp-bridge-hub":         "cmd/tools/release TestInstallsFromAClone",
	"go -C cmd/tools run ./release":                            "cmd/tools/release TestNewest",
	"go -C cmd/tools run ./release --version v0.1.0":           "cmd/tools/release TestInstalls",
	"go test ./...":               "cmd/acp-bridge TestEveryCommandRuns",
	"go doc ./adapter":            "cmd/acp-bridge TestReadme",
	"go doc ./cmd/acp-bridge":     "cmd/acp-bridge TestReadme",
	"acp-bridge up":               "cmd/acp-bridge TestScripts",
	"acp-bridge down":             "cmd/acp-bridge TestScripts",
	"acp-bridge watch codex":      "cmd/tools/real/codex TestRealCodex",
	"acp-bridge watch opencode":   "cmd/tools/real/opencode TestRealService",
	"go doc ./internal/hub":       "cmd/acp-bridge TestReadme",
	"go doc ./adapter/editor":     "cmd/acp-bridge TestReadme",
	"go -C cmd/tools doc ./bench": "cmd/acp-bridge TestReadme",
	"acp-bridge watch codex --hub https://hub.example --hub-token-file token": "cmd/tools/real/codex TestRealCodex",
}

// ends are those that do not end well without Claude Code, a terminal, or somebody
// who answers: their exit code, and what they say.
var ends = map[string]struct {
	code int
	says string
}{
	"acp-bridge ask call.json":                                             {exitPending, "Which?"},
	"acp-bridge ask 'Deploy?' Yes No --print answer":                       {exitPending, "Deploy?"},
	`echo '{"question":"Go on?","options":["Yes","No"]}' | acp-bridge ask`: {exitPending, "Go on?"},

	"acp-bridge render": {exitUsage, "it ends too early"}, // reads a call
	"acp-bridge demo":   {exitUsage, "there is no terminal to ask on"},
	"acp-bridge demo --hub http://127.0.0.1:7717": {exitUsage, "there is no terminal to ask on"},
	"acp-bridge demo --wire=full":                 {exitUsage, "there is no terminal to ask on"},

	"acp-bridge chat -- acp-bridge":                                           {exitFailed, "no model here"},
	"acp-bridge chat -p 'Set up a service' --headless -- acp-bridge":          {exitFailed, "no model here"},
	"acp-bridge chat --resume -- acp-bridge":                                  {exitFailed, "no session"},
	"acp-bridge chat -p '@notes.md Do what it says' --continue -- acp-bridge": {exitFailed, "no session"},
	"acp-bridge doctor":          {exitFailed, "something is wrong"},
	"acp-bridge login":           {exitFailed, "no model here"},
	"acp-bridge login --console": {exitFailed, "no model here"},

	"acp-bridge questions answer 8cbdqwer":                     {exitUsage, "no open question"},
	`acp-bridge questions answer --answers '{"Go on?":"Yes"}'`: {exitUsage, "no open questions"},
	"acp-bridge questions answer --hub http://127.0.0.1:7717":  {exitUsage, "no open questions"},

	"acp-bridge hook install --hub https://hub.example --hub-token-file token": {exitFailed, "hub.example"},
	"acp-bridge hook remove": {exitUsage, "not installed"},
	"claude":                 {exitFailed, "no model here"},

	// Stopped when it listens.
	"acp-bridge mcp --http 127.0.0.1:7333": {-1, "listening on "},
}

// Every command line that people are shown does what it says, typed into a shell as
// it is. There is a hub, an agent called gemini, and a Claude Code without a model.
func TestEveryCommandRuns(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no bash")
	}
	home, address := commandHome(t)
	var all sync.WaitGroup
	free := make(chan struct{}, 4)
	for _, line := range shownCommands(t) {
		if _, ok := elsewhere[line]; ok {
			continue
		}
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			want := ends[line]
			code, said := typed(t, home, address, line)
			if code != want.code || !strings.Contains(said, want.says) {
				t.Errorf("%s\nexit code %d, expected %d with %q. A line that cannot end well here belongs into ends, one that another test runs into elsewhere.\n%s", line, code, want.code, want.says, said)
			}
		})
	}
	all.Wait()
	there := map[string]bool{}
	sources(t, func(path string, file *ast.File) {
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				there[dir+" "+f.Name.Name] = true
			}
		}
	})
	for line, test := range elsewhere {
		require.True(t, there[test], "%s: there is no test %s", line, test)
		for _, m := range regexp.MustCompile(`^acp-bridge .*?--([a-z-]+)|--([a-z-]+)`).FindAllStringSubmatch(line, -1) {
			require.True(t, isFlag(m[1]+m[2]) || !strings.HasPrefix(line, "acp-bridge "), line)
		}
	}
}

// typed runs a line in a folder of its own. One that would go on for ever is stopped
// when it has said what it has to.
func typed(t *testing.T, home, address, line string) (code int, said string) {
	dir, err := os.MkdirTemp(home, "dir")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(filepath.Join(home, "files")))
	}
	if err != nil {
		return -2, err.Error()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, rest := &untilSaid{stop: cancel}, patience // for what it has said and nobody has read yet
	if want := ends[line]; want.code < 0 {
		out.text, rest = want.says, time.Second
	}
	line = strings.NewReplacer("http://127.0.0.1:7717", address, "127.0.0.1:7333", "127.0.0.1:0", "/tmp/trace", dir+"/trace", "AGENT", "gemini", "--hub URL", "--hub "+address).Replace(line)
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, out, out, rest
	cmd.Env = []string{"PATH=" + filepath.Join(home, "bin") + ":/usr/bin:/bin", "HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "TERM=dumb",
		tokenEnv + "=" + scriptToken, "GORACE=atexit_sleep_ms=0"}
	if regexp.MustCompile(`questions history|bridge (away|back|hook)`).MatchString(line) { // they go to the hub of this machine
		cmd.Env = append(cmd.Env, hubEnv+"="+address)
	}
	if err := cmd.Run(); cmd.ProcessState == nil {
		return -2, err.Error()
	}
	return cmd.ProcessState.ExitCode(), out.all.String()
}

// untilSaid keeps what a program says, and stops it after a text.
type untilSaid struct {
	all  bytes.Buffer
	text string
	stop func()
}

func (u *untilSaid) Write(data []byte) (int, error) {
	n, err := u.all.Write(data)
	if u.text != "" && strings.Contains(u.all.String(), u.text) {
		u.stop()
	}
	return n, err
}

// commandHome makes what the examples take for granted: programs, files, a hub.
func commandHome(t *testing.T) (home, address string) {
	home = t.TempDir()
	put := func(name, text string) {
		name = filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o755))
	}
	bridge := "#!/bin/sh\n" + asBridge + "=1 exec '" + self(t) + "' "
	put("bin/acp-bridge", bridge+"\"$@\"\n")
	put("bin/acp-bridge-hub", "#!/bin/sh\necho the hub\n")
	put("bin/gemini", bridge+"demo --stdio\n")
	put("bin/my-agent", "#!/bin/sh\nexit 0\n")
	put("bin/claude", "#!/bin/sh\ncase \"$1\" in mcp|plugin) exit 0;; esac\necho no model here >&2; exit 1\n")
	put("bin/man", "#!/bin/sh\ncat >/dev/null\n")
	put("files/call.json", `{"id":"t","name":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}}`)
	put("files/replies.json", `[{"outcome":{"outcome":"selected","optionId":"A"}}]`)
	put("files/tool.json", `{"id":"t","name":"Bash","input":{"command":"ls"}}`)
	put("files/out.txt", "a\n")
	put("files/notes.md", "note\n")
	put("files/token", scriptToken+"\n")
	for _, dir := range []string{".zfunc", ".config/fish/completions", ".local/share/man/man1"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, "files", dir), 0o755))
	}
	h := acptest.Must(openHub(t.TempDir(), scriptToken))
	t.Cleanup(h.close)
	return home, strings.Replace(h.url, "127.0.0.1", "localhost", 1)
}
