// Package editors_test plays every editor that is known, its user, and faults of all kinds
// against an agent with the stand-in for Claude Code.
package editors_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/served"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	editors "github.com/acp-bridge/acp-bridge/internal/scripted"
)

// row is one client: what it says of itself, what it shows, what it sends. The
// rows are those of scripted.Editors; what they do was seen or read, see clients.go.
type row struct {
	name string
	info string // clientInfo.name; none is sent if it is empty
	caps string // clientCapabilities
	opts backend.Options
	// shows is what the user sees of a permission request.
	shows func(*acptest.Request) string
	// reads checks what the user reads elsewhere before a permission request.
	reads reply
	// replies is what it does with a question, dismisses how its user gets rid
	// of one. Without them no question may come as a request.
	replies, dismisses reply
	// forms are its replies to a form; without them none may come.
	forms, formDismissed reply
	// types is set if a parked question is dismissed by a word; otherwise by
	// session/cancel.
	types bool
	// sends is how the client sends what was typed, the newest last; nil is as text.
	sends func(typed []string) []object
	// rung is how a pick gets to the agent, words how typed text does.
	rung, words string
	// proxied puts the proxy between the client and the agent.
	proxied bool
}

var (
	guarded    = backend.Options{Guard: true}
	permission = backend.Options{First: adapter.Permission}
)

var rows = []row{
	{name: "Zed", info: "zed", caps: `{"elicitation":{"form":{},"url":{}},"_meta":{"terminal_output":true,"terminal-auth":true}}`, forms: form, formDismissed: formCancelled, rung: "form"},
	{name: "Zed, form left open", info: "zed", caps: `{"elicitation":{"form":{}}}`, forms: form, formDismissed: stopped, rung: "form"},
	{name: "Zed without forms", info: "zed", replies: buttons(inOurs), dismisses: stoppedThenDismissed, rung: "permission", words: "message"},
	{name: "agent-shell", info: "agent-shell", replies: buttons(inOurs), dismisses: dismissedThenStopped, rung: "permission", words: "message"},
	{name: "agent-shell with forms", info: "agent-shell", caps: `{"elicitation":{"form":{}}}`, forms: shellForm, formDismissed: shellStopped, rung: "form"},
	{name: "agent-shell, automatic", info: "agent-shell", replies: always(0, 5*time.Millisecond), rung: "message"},
	{name: "agentic.nvim", info: "Agentic.nvim", shows: appended(), replies: buttons(reversed), dismisses: stoppedThenWithoutID, rung: "permission", words: "message"},
	{name: "agentic.nvim of old", info: "Agentic.nvim", shows: questionInTitle, replies: buttons(reversed), dismisses: stoppedThenWithoutID, rung: "permission", words: "message"},
	{name: "CodeCompanion.nvim", info: "CodeCompanion.nvim", rung: "message"},
	{name: "CodeCompanion.nvim, --ask permission", info: "CodeCompanion.nvim", opts: permission, replies: always(-1, byHand), types: true, rung: "message"},
	{name: "avante.nvim", types: true, sends: wrapping, rung: "message"},
	{name: "avante.nvim, inline, --ask permission", opts: permission, sends: wrapping, replies: withoutID, dismisses: stopped, rung: "message"},
	{name: "avante.nvim, popup, --ask permission", opts: permission, sends: wrapping, replies: always(-1, byHand), types: true, rung: "message"},
	{name: "goose", types: true, sends: withContext, rung: "message"},
	{name: "goose, --ask permission", opts: permission, sends: withContext, replies: always(-1, byHand), types: true, rung: "message"},
	{name: "acpx", info: "acpx", types: true, rung: "message"},
	{name: "acpx, --ask permission, no terminal", info: "acpx", opts: permission, replies: dismissesItself(20 * time.Millisecond), types: true, rung: "message"},
	{name: "acpx, --ask permission, approve-all", info: "acpx", opts: permission, replies: always(0, 24*time.Millisecond), types: true, rung: "message"},
	{name: "example client of the Go SDK", shows: titleOnly, replies: buttons(inOurs), dismisses: stopped, types: true, rung: "permission", words: "message"},
	{name: "acp-factory, acp-ai-provider", opts: guarded, replies: always(0, time.Millisecond), types: true, rung: "message"},
	{name: "toad", replies: buttons(inOurs), dismisses: stopped, rung: "permission", words: "message"},
	{name: "vscode-acp", info: "vscode-acp-client", shows: questionInTitle, replies: buttons(inOurs), dismisses: dismissed, types: true, rung: "permission", words: "message"},
	{name: "vscode-acp, allow all", info: "vscode-acp-client", replies: always(0, time.Millisecond), types: true, rung: "message"},
	{name: "acp-ui, Obsidian, marimo, AionUi", replies: buttons(inOurs), dismisses: dismissed, types: true, rung: "permission", words: "message"},
	{name: "Obsidian, automatic", opts: guarded, replies: always(0, 2*time.Millisecond), types: true, rung: "message"},
	{name: "DeepChat", info: "DeepChat", types: true, rung: "message"},
	{name: "kandev", info: "kandev-agentctl", types: true, rung: "message"},
	{name: "Paseo", replies: buttons(inOurs), dismisses: dismissed, types: true, rung: "permission", words: "message"},
	{name: "OpenHands", opts: guarded, replies: always(0, time.Millisecond), types: true, rung: "message"},
	{name: "JetBrains AIR", caps: `{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["sessionFailure","agentFileChangeReport","recommendedValue","planFile"]}}}}`, shows: questionInTitle, replies: buttons(inOurs), dismisses: stoppedThenDismissed, rung: "permission", words: "message"},
	{name: "JetBrains without AIR", shows: titleOnly, reads: itsCall, replies: buttons(inOurs), dismisses: stoppedThenDismissed, rung: "permission", words: "message"},
	{name: "a client that was taught", replies: taught, dismisses: dismissed, types: true, rung: "permission", words: "permission"},
	{name: "a client that declares it", caps: `{"_meta":{"askUserQuestion":true}}`, replies: taught, dismisses: dismissed, types: true, rung: "permission", words: "permission"},
	{name: "ids of its own", replies: ownIDs, dismisses: dismissed, rung: "message"},
	{name: "forms that fail", caps: `{"elicitation":{"form":{}}}`, forms: refuses, replies: buttons(inOurs), dismisses: dismissed, types: true, rung: "permission", words: "message"},
	{name: "forms that fail, options unseen", info: "DeepChat", caps: `{"elicitation":{"form":{}}}`, forms: refuses, types: true, rung: "message"},
	{name: "nothing works but words", caps: `{"elicitation":{"form":{}}}`, forms: refuses, replies: refuses, rung: "message"},
}

// questionInTitle is a client that shows the title alone and is known for it:
// the question must stand there.
func questionInTitle(r *acptest.Request) string {
	title := r.Get("toolCall.title").Str
	if !strings.HasSuffix(title, "?") {
		return "nothing but " + title
	}
	return title
}

// itsCall is of a client that shows the title of a permission request, and the rest
// at the tool call that it is about: the whole question must stand there already.
func itsCall(c *client, r *acptest.Request) {
	id, text := r.Get("toolCall.toolCallId").Str, r.Get("toolCall.rawInput.question").Str
	require.NotEmpty(c.t, text)
	shown := ""
	for _, u := range c.e.Updates(c.session) {
		if u.Get("toolCallId").Str == id && u.Get("content").Exists() {
			shown = u.Get("content").Raw
		}
	}
	require.Contains(c.t, shown, text)
	for _, o := range r.Get("options").Array() {
		require.NotEmpty(c.t, o.Get("name").Str)
	}
}

// scenario is a call of the agent and what the user wants to say to it.
type scenario struct {
	name      string
	questions []map[string]any
	wishes    map[string]wish
	// want are the answers at the agent; empty if the call is dismissed.
	want string
	// words is set if it needs typed text.
	words bool
}

var scenarios = []scenario{
	{name: "single", questions: qs(which), wishes: map[string]wish{"Database": {picks: []string{"SQLite"}}},
		want: `{"Which database?":"SQLite"}`},
	{name: "multi", questions: qs(many), wishes: map[string]wish{"Features": {picks: []string{"Logs", "Auth"}}},
		want: `{"Which features?":"Auth, Logs"}`},
	{name: "other", questions: qs(which), wishes: map[string]wish{"Database": {text: "Redis, if 2 nodes do"}},
		want: `{"Which database?":"Redis, if 2 nodes do"}`, words: true},
	{name: "four", questions: qs(which, many, licence, port), wishes: map[string]wish{
		"Database": {picks: []string{"PostgreSQL"}}, "Features": {picks: []string{"Cache"}},
		"Licence": {text: "BSD, please"}, "Port": {picks: []string{"8080"}}},
		want: `{"Which database?":"PostgreSQL","Which features?":"Cache","Which licence?":"BSD, please","Which port?":"8080"}`},
	{name: "cancel", questions: qs(which)},
	{name: "cancel at the second", questions: qs(which, port, licence), wishes: map[string]wish{"Database": {picks: []string{"SQLite"}}, "Licence": {picks: []string{"MIT"}}}},
}

type (
	steps  = []ct.Step
	object = map[string]any
)

func TestMain(m *testing.M) { served.Main(m, 12) }

func qs(list ...map[string]any) []map[string]any { return list }

// Every client gets every kind of answer to the agent, and none that its user
// did not give.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, sc := range scenarios {
				t.Run(sc.name, func(t *testing.T) { r.run(t, sc) })
			}
		})
	}
}

// Every client of TestClients, with the proxy between it and the agent. Without
// ACP_BRIDGE_FLEET each goes through half of the scenarios, its neighbour through the
// others.
func TestClientsProxied(t *testing.T) {
	t.Parallel()
	for i, r := range rows {
		r.proxied = true
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for j, sc := range scenarios {
				if (i+j)%2 == 0 || leaktest.All() {
					t.Run(sc.name, func(t *testing.T) { r.run(t, sc) })
				}
			}
		})
	}
}

// What a sub-agent asks in words is asked in the conversation that the user can type in,
// also where the proxy asks.
func TestWordsOfASubAgentProxied(t *testing.T) {
	t.Parallel()
	cli := ct.New(t, ct.Script{Turns: []ct.Turn{{Steps: steps{ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.Question("toolu_q", which)))), ct.Text("done")}}}})
	e := served.By(served.Proxied).To(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
	e.Initialize(`{"subagents":{}}`)
	session := e.Open(t.TempDir())
	turn := e.Prompt(session, "go")
	turn.Ends(acp.StopReasonEndTurn)
	require.True(t, turn.Resp.Get("_meta.acp-bridge.waitingFor").Exists())
	require.Contains(t, e.Said(session), "Which database?")
	e.Prompt(session, "2").Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, gjson.GetBytes(cli.AwaitReply("toolu_q"), "updatedInput.answers").Raw)
}

// In agent-shell's form, options and words of one's own are one text: it reaches the model
// as it is, as own words.
func TestPicksAndWordsInOneText(t *testing.T) {
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == "agent-shell with forms" })
	rows[i].run(t, scenario{questions: qs(many), wishes: map[string]wish{"Features": {picks: []string{"Logs", "Auth"}, text: "Tracing"}},
		want: `{"Which features?":"\"Auth, Logs, Tracing\""}`, words: true})
}

// The table of editors that doctor --clients prints names every run, and none
// that is not there.
func TestTableNamesTheRuns(t *testing.T) {
	var named, have []string
	for _, e := range editors.Editors() {
		require.NotEmpty(t, e.Runs, e.Editor)
		named = append(named, e.Runs...)
	}
	for _, r := range rows {
		have = append(have, r.name)
	}
	require.ElementsMatch(t, have, named)
}

// client plays a row in one session.
type client struct {
	t       *testing.T
	row     row
	e       *acptest.Editor
	session string
	user    *user
	past    atomic.Int64 // of the bridge's time: how long the client took for its replies
	// dismisses is set if the user dismisses a question of the call.
	dismisses bool
	read      int      // how much of the conversation the user has read
	typed     []string // what was typed before, where that comes along
	last      string   // what was typed last
}

func (r row) run(t *testing.T, sc scenario) {
	cli := ct.New(t, ct.Script{Turns: []ct.Turn{
		{Match: "begin", Steps: steps{ct.Message(ct.TextBlock("Let me ask."), ct.Question("toolu_1", sc.questions...)), ct.Text("Noted.")}},
		{Match: "more", Steps: steps{ct.Text("Next.")}},
	}})
	c := r.connect(t, cli, sc)
	stop := c.converse(c.types("begin"))
	c.e.Prompt(c.session, "more").Ends(acp.StopReasonEndTurn)
	require.True(t, strings.HasSuffix(c.e.Said(c.session), "Next."))
	require.Empty(t, c.e.Requests, "nothing more is asked")
	if sc.want == "" {
		c.refused(cli, stop)
	} else {
		require.Equal(t, acp.StopReasonEndTurn, stop)
		require.JSONEq(t, sc.want, gjson.GetBytes(cli.AwaitReply("toolu_1"), "updatedInput.answers").Raw)
		require.Contains(t, c.e.Said(c.session), "Noted.")
		tool := c.e.Tool(c.session, "toolu_1")
		require.Equal(t, "completed", tool["status"])
		require.Equal(t, "x", tool["drawn"])
		rung := r.rung
		if sc.words && r.words != "" {
			rung = r.words
		}
		if r.proxied { // the agent says form, of its own
			require.Contains(t, tool["rungs"], rung)
		} else {
			require.Equal(t, rung, tool["rung"])
		}
	}
}

// refused checks a call that the user dismissed.
func (c *client) refused(cli *ct.CLI, stop acp.StopReason) {
	c.t.Helper()
	if stop != "" { // else no prompt ran any more
		// A word is no cancel of the editor's. Behind the proxy the agent has one where it
		// was asked by a request.
		want := []acp.StopReason{acp.StopReasonCancelled}
		if c.last == "cancel" {
			want = []acp.StopReason{acp.StopReasonEndTurn}
		}
		if c.row.proxied {
			want = append(want, acp.StopReasonCancelled, acp.StopReasonEndTurn)
		}
		require.Contains(c.t, want, stop)
	}
	got := cli.AwaitReply("toolu_1")
	require.JSONEq(c.t, `{"behavior":"deny","message":"User cancelled the question","interrupt":true}`, string(got))
	failed := 0
	for _, id := range []string{"toolu_1", "toolu_1:2", "toolu_1:3"} {
		switch c.e.Tool(c.session, id)["status"] {
		case "failed":
			failed++
		case "pending":
			require.Fail(c.t, "still pending", id)
		}
	}
	if c.row.proxied { // behind the proxy the call is one tool call, and the question another
		require.Positive(c.t, failed)
	} else {
		require.Equal(c.t, 1, failed)
	}
	require.NotContains(c.t, c.e.Said(c.session), "Noted.")
}

func (r row) connect(t *testing.T, cli *ct.CLI, sc scenario) *client {
	c := &client{t: t, row: r, user: &user{t, sc.wishes}, dismisses: sc.want == ""}
	if c.row.shows == nil {
		c.row.shows = titleAndContent
	}
	r.opts.Claude, r.opts.Now = cli.Path, func() time.Time { return time.Unix(0, c.past.Load()) }
	by := served.By(backend.Serve)
	if r.proxied {
		by = served.Proxied
	}
	c.e = by.To(t, r.opts)
	c.e.Watch = newZed(t, r.info == "Agentic.nvim")
	params := object{"protocolVersion": 1, "clientCapabilities": gjson.Parse(`{}`).Value()}
	if r.caps != "" {
		params["clientCapabilities"] = gjson.Parse(r.caps).Value()
	}
	if r.info != "" {
		params["clientInfo"] = object{"name": r.info, "version": "1"}
	}
	c.e.Call(acp.AgentMethodInitialize, string(jsonOf(t, params)))
	c.session = c.e.Open(t.TempDir())
	return c
}

// converse plays the user until the agent's turn is over. It returns how the
// last prompt ended, or nothing if it was over when no prompt ran.
func (c *client) converse(running *acptest.Turn) acp.StopReason {
	c.t.Helper()
	for {
		select {
		case r := <-c.e.Requests:
			c.answer(r)
		case <-running.Done:
			require.NoError(c.t, running.Err)
			if !running.Resp.Get("_meta.acp-bridge.waitingFor").Exists() {
				return acp.StopReason(running.Resp.Get("stopReason").Str)
			}
			require.Equal(c.t, "end_turn", running.Resp.Get("stopReason").Str)
			shown := c.e.Said(c.session)[c.read:]
			c.read += len(shown)
			if c.user.wants(shown).dismiss() && !c.row.types {
				c.e.Cancel(c.session)
				return ""
			}
			running = c.types(c.user.writes(shown))
		case <-time.After(acptest.Patience):
			require.Fail(c.t, "nothing happens")
		}
	}
}

// types sends what the user typed as the client does.
func (c *client) types(text string) *acptest.Turn {
	c.last = text
	if c.row.sends == nil {
		return c.e.Prompt(c.session, text)
	}
	c.typed = append(c.typed, text)
	return c.e.PromptBlocks(c.session, string(jsonOf(c.t, c.row.sends(c.typed))))
}

func textBlock(tag, text string) object {
	return object{"type": "text", "text": "<" + tag + ">" + text + "</" + tag + ">"}
}

// wrapping is how avante sends what was typed: with what was typed before, and the
// open file.
func wrapping(typed []string) []object {
	blocks := []object{{"type": "resource_link", "name": "file.txt", "uri": "file:///src/file.txt"}}
	for _, text := range slices.Backward(typed) {
		blocks = append(blocks, textBlock("previous_user_message", text))
	}
	return append(blocks, textBlock("system_context", "Continuing from previous session"))
}

// withContext is how goose does.
func withContext(typed []string) []object {
	return []object{
		{"type": "text", "text": typed[len(typed)-1]},
		textBlock("turn-context", "\n<current-time>2026-11-16 15:27:00 +00:00</current-time>\n<working-directory>/src</working-directory>\n"),
	}
}

// answer does what the client does with a request.
func (c *client) answer(r *acptest.Request) {
	c.t.Helper()
	switch r.Method {
	case acp.ClientMethodElicitationCreate:
		require.NotNil(c.t, c.row.forms, "a form that was not advertised")
		if c.row.formDismissed != nil && c.dismisses {
			c.row.formDismissed(c, r)
			return
		}
		c.row.forms(c, r)
	case acp.ClientMethodSessionRequestPermission:
		require.NotNil(c.t, c.row.replies, "a permission request for a client that cannot show it")
		if c.row.reads != nil {
			c.row.reads(c, r)
		}
		if c.row.dismisses != nil && c.user.wants(c.row.shows(r)).dismiss() {
			c.row.dismisses(c, r)
			return
		}
		c.row.replies(c, r)
	default:
		require.Fail(c.t, "a method that no client knows", r.Method)
	}
}
