package backend_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// TestScripts plays each file of a testdata/*.txtar: an editor, its user and a scripted
// CLI. A line is a command, see script_commands_test.go; a line that begins with a # is a
// comment. 'x y' and "x\n" are one word. $name is a variable: s is the session, dir its
// directory, child the sub-agent that toolu_a begins.
//
//	turn ask toolu_1 which ; text Noted.   what the CLI does on its first prompt
//	prompt hi                              the user's prompt
//	asked 'Which database?'                a request of the agent comes
//	picks SQLite
//	ends end_turn
//
// A script is played once for each row of a table behind "each NAME...", whose rows begin
// with a tab and give those variables. "?name COMMAND" is for rows that have a value there
// which is neither empty nor no, "!name COMMAND" for the others; "do $name" is for a
// value that is commands, with " ;; " between them.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		require.NotEmpty(t, archive.Files, file)
		for _, script := range archive.Files {
			lines, rows := tables(t, string(script.Data))
			for _, row := range rows {
				name := strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + script.Name + row.name
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					p := &player{T: t, editors: map[string]*editor{}, serving: backend.Serve, turns: map[string]*acptest.Turn{}, vars: map[string]string{
						"child": child, "dir": t.TempDir(), "plainform": plainForm, "login": logIn, "endsturn": endsTurn, "id": reopened, "askboth": askBoth, "words": "echo" + strings.Repeat(" word", 60),
					}}
					maps.Copy(p.vars, row.vars)
					t.Cleanup(func() {
						if t.Failed() {
							t.Log("at:", p.line)
						}
					})
					p.play(lines)
				})
			}
		}
	}
}

// tableRow is a row of the tables of a script.
type tableRow struct {
	name string
	vars map[string]string
}

// tables takes the rows off a script: those of all its tables, each with each.
func tables(t *testing.T, script string) (lines []string, rows []tableRow) {
	rows = []tableRow{{}}
	var names []string
	var of, got []tableRow // what a table multiplies, and what comes of it
	for line := range strings.Lines(script) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, "each "):
			names, of, got = words(t, line)[1:], rows, nil
		case strings.HasPrefix(line, "\t"):
			values := words(t, line)
			require.Len(t, values, len(names), line)
			for _, r := range of {
				next := tableRow{r.name + "/" + values[0], maps.Clone(r.vars)}
				if next.vars == nil {
					next.vars = map[string]string{}
				}
				for i, v := range values {
					next.vars[names[i]] = v
				}
				got = append(got, next)
			}
			rows = got
		case line != "" && line[0] != '#':
			lines = append(lines, line)
		}
	}
	return lines, rows
}

var word = regexp.MustCompile(`'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\S+`)

// words cuts a line into words.
func words(t *testing.T, line string) (list []string) {
	for _, w := range word.FindAllString(line, -1) {
		switch w[0] {
		case '\'':
			require.True(t, len(w) > 1 && strings.HasSuffix(w, "'"), line)
			w = strings.ReplaceAll(w[1:len(w)-1], "''", "'")
		case '"':
			text, err := strconv.Unquote(w)
			require.NoError(t, err, line)
			w = text
		}
		list = append(list, w)
	}
	return list
}

// player plays one script.
type player struct {
	*testing.T
	vars    map[string]string
	ids     sync.Map // of the agent, by names at the desk
	line    string
	script  ct.Script
	first   ct.Script // what was kept of it
	opts    backend.Options
	saved   []string // lines of a transcript
	store   *saved
	cli     *ct.CLI
	e       *editor
	shaken  bool // initialized
	serving serving
	log     syncBuffer
	turns   map[string]*acptest.Turn
	last    *acptest.Turn // the one that ended last
	r       *acptest.Request
	reply   gjson.Result

	wire     wireLog
	clock    clock
	receipts chan string
	overs    chan desk.Turn
	over     desk.Turn
	known    bool // the stand-in has had the session
	live     *running
	editors  map[string]*editor // those that are put aside
	sessions []string
	taken    chan error
	hold     chan struct{}
}

var variable = regexp.MustCompile(`\$[a-z]+`)

func (p *player) play(lines []string) {
	p.Helper()
	for i := 0; i < len(lines); i++ {
		p.line = lines[i]
		a := words(p.T, p.line)
		if a = p.applies(a); a == nil {
			continue
		}
		for j := range a {
			a[j] = p.expand(a[j])
		}
		switch a[0] {
		case "do":
			if a[1] != "" {
				p.play(strings.Split(a[1], " ;; "))
			}
			continue
		case "repeat": // up to "end"
			n, err := strconv.Atoi(a[1])
			require.NoError(p, err)
			end := i + 1
			for lines[end] != "end" {
				end++
			}
			for range n {
				p.play(lines[i+1 : end])
			}
			i = end
			continue
		}
		command, ok := commands[a[0]]
		require.True(p, ok, "no such command: %s", p.line)
		command(p, a[1:])
	}
}

// applies takes the conditions off a command, which is none if one does not hold.
func (p *player) applies(a []string) []string {
	for ; len(a[0]) > 1 && (a[0][0] == '?' || a[0][0] == '!'); a = a[1:] {
		v, ok := p.vars[a[0][1:]]
		require.True(p, ok, p.line)
		if (v != "" && v != "no") != (a[0][0] == '?') {
			return nil
		}
	}
	return a
}

// expand puts variables in, and those that stand in them.
func (p *player) expand(word string) string {
	for range 3 {
		word = variable.ReplaceAllStringFunc(word, func(name string) string {
			if name == "$s" {
				p.open()
			}
			v, ok := p.vars[name[1:]]
			require.True(p, ok, "no %s: %s", name, p.line)
			return v
		})
	}
	return word
}

// start starts the agent, if it has not been.
func (p *player) start() {
	if p.e != nil {
		return
	}
	if p.cli == nil {
		if p.saved != nil {
			p.store = save(p.T, p.script, p.saved...)
			p.cli, p.vars["dir"] = p.store.cli, p.store.dir
			p.opts.Env = p.store.options().Env
			if p.known {
				require.NoError(p, os.WriteFile(filepath.Join(filepath.Dir(p.cli.Path), "session-"+reopened), []byte("0"), 0o600))
			}
		} else {
			p.cli = ct.New(p.T, p.script)
		}
		if p.opts.Claude == "" {
			p.opts.Claude = p.cli.Path
		}
	}
	p.e, p.shaken = serveWith(p.T, p.opts, p.serving), false
}

// open opens a session, if there is none.
func (p *player) open() string {
	if p.vars["s"] == "" {
		if p.start(); !p.shaken {
			p.initialize("", `{}`)
		}
		p.new(`{}`)
	}
	return p.vars["s"]
}

func (p *player) initialize(name, caps string) {
	p.start()
	p.shaken = true
	p.reply = p.e.Call("initialize", fmt.Sprintf(`{"protocolVersion":1,"clientInfo":{"name":%q,"version":"1"},"clientCapabilities":%s}`, name, caps))
}

func (p *player) new(meta string) {
	if p.start(); !p.shaken {
		p.initialize("", `{}`)
	}
	p.reply = p.e.Call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, p.vars["dir"], meta))
	p.vars["s"] = p.reply.Get("sessionId").Str
}

// options of the agent, as name=value.
func (p *player) option(name, value string) {
	switch name {
	case "first":
		p.opts.First = map[string]adapter.Rung{"form": adapter.Form, "permission": adapter.Permission, "message": adapter.Conversation}[value]
		require.NotZero(p, p.opts.First)
	case "grace":
		d, err := time.ParseDuration(value)
		require.NoError(p, err)
		p.opts.CancelGrace = d
	case "guard":
		p.opts.Guard = true
	case "trust":
		p.opts.TrustEditor = value != "no"
	case "refuse-sub-agents":
		p.opts.RefuseSubAgents = true
	case "proxied":
		p.serving = proxied
	case "claude":
		p.opts.Claude = value
	case "args":
		p.opts.Args = words(p.T, value)
	case "env":
		p.opts.Env = append(p.opts.Env, value)
	case "desk":
		p.opts.Desk = new(desk.Desk)
		p.receipts, p.overs = make(chan string, 10), make(chan desk.Turn, 10)
		p.Cleanup(p.opts.Desk.Watch(func(e desk.Entry) { p.ids.Store(e.Name, e.Call.ID) }))
		p.Cleanup(p.opts.Desk.WatchReceipts(func(name string, err error) {
			id, _ := p.ids.Load(name)
			text := fmt.Sprint(id)
			if err != nil {
				text += ": " + err.Error()
			}
			p.receipts <- text
		}))
		p.Cleanup(p.opts.Desk.WatchTurns(func(turn desk.Turn) { p.overs <- turn }))
	case "meanwhile": // toolu_1 was answered by phone
		by := byPhone{there: value == "there"}
		if p.taken == nil {
			p.taken, p.hold = make(chan error, 2), make(chan struct{})
		}
		if by.taken = p.taken; value == "hold" {
			by.hold = p.hold
		}
		if p.opts.Meanwhile = by.meanwhile; value == "no" {
			p.opts.Meanwhile = nil
		}
	case "clock":
		p.opts.Now = p.clock.Now
	case "trace":
		p.opts.Trace = p.wire.trace
	case "log":
		p.opts.Logger = slog.New(slog.NewTextHandler(&p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	default:
		require.Fail(p, "no such option", name)
	}
}

// check holds a value against what a script says of it: = V, != V, ~ V (holds it), !~ V, ^ V, $ V
// (begins, ends with it), json V, exists, absent.
func (p *player) check(got gjson.Result, a []string) {
	p.Helper()
	text := got.String()
	want := ""
	if a[0] == "exists" || a[0] == "absent" {
		require.Len(p, a, 1, p.line)
	} else {
		require.Len(p, a, 2, p.line)
		want = a[1]
	}
	switch a[0] {
	case "exists", "absent":
		require.Equal(p, a[0] == "exists", got.Exists(), "%s: %s", p.line, got.Raw)
	case "=":
		require.Equal(p, want, text, p.line)
	case "!=":
		require.NotEqual(p, want, text, p.line)
	case "~":
		require.Contains(p, text, want, p.line)
	case "!~":
		require.NotContains(p, text, want, p.line)
	case "^":
		require.True(p, strings.HasPrefix(text, want), "%s: %s", p.line, text)
	case "$":
		require.True(p, strings.HasSuffix(text, want), "%s: %s", p.line, text)
	case "json":
		require.JSONEq(p, want, got.Raw, p.line)
	default:
		require.Fail(p, "no such check", p.line)
	}
}

// is reports whether an update is as a script says: PATH = V, PATH != V, PATH ~ V or PATH exists.
func is(u gjson.Result, a []string) bool {
	v := u.Get(a[0])
	switch a[1] {
	case "=":
		return v.String() == a[2]
	case "!=":
		return v.String() != a[2]
	case "~":
		return strings.Contains(v.String(), a[2])
	}
	return v.Exists()
}

func text(s string) gjson.Result { return gjson.Result{Type: gjson.String, Str: s, Raw: s} }

// write makes a file below the session's directory.
func (p *player) write(name, content string) {
	path := filepath.Join(p.vars["dir"], name)
	require.NoError(p, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p, os.WriteFile(path, []byte(content), 0o600))
}
