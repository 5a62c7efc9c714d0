package backend_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// TestScripts plays each script of testdata: an editor, its user and a scripted CLI. Of lines
// see [acptest.Script], of commands script_commands_test.go. Of the variables, s is the
// session, dir its directory, child the sub-agent that toolu_a begins.
//
//	turn ask toolu_1 which ; text Noted.   what the CLI does on its first prompt
//	prompt hi                              the user's prompt
//	asked 'Which database?'                a request of the agent comes
//	picks SQLite
//	ends end_turn
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, script := range acptest.Scripts(t, "testdata/*.txtar") {
		t.Run(script.Name, func(t *testing.T) {
			t.Parallel()
			vars := map[string]string{
				"child": child, "dir": t.TempDir(), "plainform": plainForm, "login": logIn, "endsturn": endsTurn, "id": reopened, "askboth": askBoth, "words": "echo" + strings.Repeat(" word", 60),
			}
			maps.Copy(vars, script.Vars)
			script.Vars = vars
			p := &player{T: t, rows: script, vars: vars, editors: map[string]*editor{}, turns: map[string]*acptest.Turn{}}
			script.Uses = func(name string) {
				if name == "s" {
					p.open()
				}
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Log("at:", p.line)
				}
			})
			p.play(script.Lines)
		})
	}
}

// player plays one script.
type player struct {
	*testing.T
	rows   *acptest.Script
	vars   map[string]string // of it
	ids    sync.Map          // of the agent, by names at the desk
	line   string
	script ct.Script
	first  ct.Script // what was kept of it
	opts   backend.Options
	saved  []string // lines of a transcript
	store  *saved
	cli    *ct.CLI
	e      *editor
	shaken bool // initialized
	log    acptest.Written
	turns  map[string]*acptest.Turn
	last   *acptest.Turn // the one that ended last
	r      *acptest.Request
	reply  gjson.Result

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

func (p *player) play(lines []string) {
	p.Helper()
	for i := 0; i < len(lines); i++ {
		p.line = lines[i]
		a := p.rows.Command(p.T, p.line)
		if a == nil {
			continue
		}
		switch a[0] {
		case "do":
			if a[1] != "" {
				p.play(strings.Split(a[1], " ;; "))
			}
			continue
		case "repeat": // up to "end"
			n := acptest.Must(strconv.Atoi(a[1]))
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
	p.e, p.shaken = serve(p.T, p.opts), false
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
		p.opts.CancelGrace = acptest.Must(time.ParseDuration(value))
	case "guard":
		p.opts.Guard = true
	case "trust":
		p.opts.TrustEditor = value != "no"
	case "refuse-sub-agents":
		p.opts.RefuseSubAgents = true
	case "claude":
		p.opts.Claude = value
	case "args":
		p.opts.Args = acptest.Words(p.T, value)
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

// check holds a value against what a script says of it.
func (p *player) check(got gjson.Result, a []string) {
	p.Helper()
	require.Empty(p, acptest.Check(p, p.line, got, a), p.line)
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

// write makes a file below the session's directory.
func (p *player) write(name, content string) {
	path := filepath.Join(p.vars["dir"], name)
	require.NoError(p, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p, os.WriteFile(path, []byte(content), 0o600))
}

// clock is the bridge's clock. It moves only when a script says how long a
// reply took.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
