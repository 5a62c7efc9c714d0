package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// running is a session whose commands write to files that the test makes.
type running struct {
	*editor
	cli     *ct.CLI
	session string
	tasks   string // folder
}

// withTasks starts a stand-in and opens a session for a client that has terminals or
// none.
func withTasks(t *testing.T, terminals bool, script ct.Script) *running {
	t.Helper()
	tmp := t.TempDir()
	cli := ct.New(t, script)
	e := serve(t, backend.Options{Claude: cli.Path, Env: append(os.Environ(), "CLAUDE_CODE_TMPDIR="+tmp), TrustEditor: true})
	e.Initialize(fmt.Sprintf(`{"_meta":{"terminal_output":%t}}`, terminals))
	r := &running{editor: e, cli: cli, session: e.Open(t.TempDir())}
	r.writesIn(tmp)
	return r
}

// writesIn makes the folder of the session's tasks.
func (r *running) writesIn(tmp string) {
	r.tasks = filepath.Join(tmp, "claude-"+strconv.Itoa(os.Getuid()), "-some-folder", r.session, "tasks")
	require.NoError(r.T, os.MkdirAll(r.tasks, 0o700))
}

// writes appends to the output of a task.
func (r *running) writes(task, text string) {
	r.T.Helper()
	f := acptest.Must(os.OpenFile(filepath.Join(r.tasks, task+".output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
	acptest.Must(f.WriteString(text))
	require.NoError(r.T, f.Close())
}

// shows waits until a tool call's content, or what its terminal got, holds text.
func (r *running) shows(id, text string) {
	r.T.Helper()
	r.Await(r.session, text, func(u gjson.Result) bool {
		return u.Get("toolCallId").Str == id && (strings.Contains(u.Get("content.0.content.text").Str, text) || strings.Contains(r.printed(id), text))
	})
}

// of returns the updates of a tool call.
func (r *running) of(id string) []gjson.Result {
	var list []gjson.Result
	for _, u := range r.Updates(r.session) {
		if u.Get("toolCallId").Str == id {
			list = append(list, u)
		}
	}
	return list
}

// printed is all that the terminal of a tool call got.
func (r *running) printed(id string) string {
	var b strings.Builder
	for _, u := range r.of(id) {
		out := u.Get("_meta.terminal_output")
		if out.Exists() && out.Get("terminal_id").Str == id {
			b.WriteString(out.Get("data").Str)
		}
	}
	return b.String()
}

// exits are the ends of a tool call's terminal.
func (r *running) exits(id string) []string {
	var list []string
	for _, u := range r.of(id) {
		if exit := u.Get("_meta.terminal_exit"); exit.Exists() && exit.Get("terminal_id").Str == id {
			list = append(list, exit.Get("exit_code").Raw)
		}
	}
	return list
}

// inBackground is a command whose call ends before it does.
func inBackground() ct.Block {
	b := command("toolu_1", "b1", "Command running in background")
	b.Detail = []byte(`{"stdout":"","stderr":"","interrupted":false,"backgroundTaskId":"b1"}`)
	return b
}

// follows makes the folder that the session's commands write to.
func (p *player) follows(tmp string) {
	p.live = &running{editor: p.e, cli: p.cli, session: p.vars["s"]}
	p.live.writesIn(tmp)
}

// liveCommands are those of scripts whose commands write to files.
var liveCommands = map[string]func(p *player, a []string){
	"tasks": func(p *player, a []string) { // for a client that has terminals, or not
		tmp := p.TempDir()
		p.opts.TrustEditor, p.opts.Env = true, append(os.Environ(), "CLAUDE_CODE_TMPDIR="+tmp)
		p.initialize("", `{"_meta":{"terminal_output":`+a[0]+`}}`)
		p.open()
		p.follows(tmp)
	},
	"tasks-in": func(p *player, a []string) { p.follows(a[0]) },
	"writes":   func(p *player, a []string) { p.live.writes(a[0], a[1]) },
	"shows":    func(p *player, a []string) { p.live.shows(a[0], a[1]) },
	"printed":  func(p *player, a []string) { require.Equal(p, a[1], p.live.printed(a[0]), p.line) },
	"exits": func(p *player, a []string) {
		require.Equal(p, a[1:], append([]string{}, p.live.exits(a[0])...), p.line)
	},
	"update": func(p *player, a []string) { // ID N PATH OP V
		all := p.live.of(a[0])
		n, err := strconv.Atoi(a[1])
		if err != nil {
			n = len(all) - 1
		}
		p.check(all[n].Get(a[2]), a[3:])
	},
	"states-of": func(p *player, a []string) { // ID STATE...: status and content, but of the call itself
		var shown []string
		for _, u := range p.live.of(a[0]) {
			if status := u.Get("status").Str; status != "" && status != "pending" {
				require.Equal(p, "Bash", u.Get("_meta.claudeCode.toolName").Str)
				require.False(p, u.Get("title").Exists())
				shown = append(shown, status+" "+u.Get("content.0.content.text").Str)
			}
		}
		require.Equal(p, a[1:], shown)
	},
	"shown-with-output": func(p *player, a []string) { // ID TITLE
		all := p.live.of(a[0])
		first := slices.IndexFunc(all, func(u gjson.Result) bool { return strings.Contains(u.Get("content").Raw, `"terminal"`) })
		require.True(p, all[first].Get("_meta.terminal_output").Exists())
		require.Equal(p, a[1], all[first+1].Get("title").Str)
	},
}

// meanwhileCommands are of sessions of which a question was answered while they were closed.
var meanwhileCommands = map[string]func(p *player, a []string){
	"taken": func(p *player, a []string) { // ok, error or nothing: what came of the answer
		switch a[0] {
		case "nothing":
			require.Empty(p, p.taken)
		case "ok":
			require.NoError(p, acptest.Next(p, p.taken))
		default:
			require.Error(p, acptest.Next(p, p.taken))
		}
	},
	"let-go": func(p *player, _ []string) { close(p.hold) },
	"noted": func(p *player, a []string) {
		d := acptest.Must(time.ParseDuration(a[0]))
		p.store.noted(time.Now().Add(d))
	},
	// "aside NAME" keeps an editor, for "back NAME"; the next command is of another one.
	"aside": func(p *player, a []string) { p.editors[a[0]], p.e = p.e, nil },
	"back":  func(p *player, a []string) { p.e = p.editors[a[0]] },
	"both-receipts": func(p *player, a []string) {
		require.ElementsMatch(p, a, []string{acptest.Next(p, p.receipts), acptest.Next(p, p.receipts)})
	},
	"aside-session": func(p *player, _ []string) { p.sessions = append(p.sessions, p.vars["s"]) },
	"close-all": func(p *player, _ []string) {
		for _, p.vars["s"] = range p.sessions {
			commands["close"](p, nil)
		}
	},
	"no-reply-goes-on": func(p *player, _ []string) {
		for _, line := range p.cli.Lines() {
			if reply := gjson.GetBytes(line.Raw, "response.response"); reply.Get("behavior").Exists() {
				require.True(p, reply.Get("interrupt").Bool(), reply.Raw)
			}
		}
	},
	"got-blocks": func(p *player, a []string) { // of the last prompt: their type, text and data
		var got []string
		for _, l := range p.cli.Lines() {
			if gjson.GetBytes(l.Raw, "type").Str != "user" {
				continue
			}
			got = nil
			for _, b := range gjson.GetBytes(l.Raw, "message.content").Array() {
				got = append(got, b.Get("type").Str+": "+b.Get("text").Str+b.Get("source.data").Str)
			}
		}
		require.Equal(p, a, got)
	},
	"asks-for": func(p *player, a []string) { // a report of AIR's kind, whatever comes of the prompt
		_, _ = p.e.Try("session/prompt", `{"sessionId":"`+p.open()+`","prompt":[{"type":"text","text":"go"}],"_meta":{"jetbrains":{"air":{"version":1,"agentFileChangeReportRequest":`+a[0]+`}}}}`)
	},
}
