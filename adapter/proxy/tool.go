package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// tools are the question tools of the sessions of an agent that has none of its
// own: MCP servers on loopback, each behind a name that nobody can guess.
type tools struct {
	p        *proxy
	listener net.Listener
	server   *http.Server
	byToken  map[string]*tool
	made     int
	closed   bool
	plugin   *tool // of an agent's plugin, for all its sessions; nil if it has none
}

// tool is that of one session.
type tool struct {
	p       *proxy
	number  int    // 1 is that of the first session
	token   string // the name that nobody can guess
	name    string // of the server, for the agent
	server  *mcp.Server
	handler http.Handler
	session string
	calls   int
	asking  int             // calls that have no result
	used    bool            // the agent has come to it
	bound   bool            // the agent has opened the session
	shown   map[string]bool // by the agent's id, while they are open: a call over MCP is known to be it
}

// opens takes a request that opens a session, and adds the tool to it.
func (p *proxy) opens(line []byte, m *message, method string) act {
	r := p.awaited[idKey(m.id)]
	r.opened = make(chan struct{})
	if goesOn(method) {
		p.opensAnew(r.session, r.opened)
	}
	profile := p.profile
	if p.opts.Tool != ToolAlways && (p.opts.Tool != ToolWhereNeeded || !profile.Tool) {
		return nil
	}
	one, err := p.tools.add(m.params, profile)
	if err != nil {
		p.log.Warn("the agent gets no question tool", "err", err)
		return nil
	}
	r.tool = one.token
	entry := p.toolEntry(one, profile)
	params := edit(m.params, func(list []byte) []byte { return appended(list, entry) }, "mcpServers")
	return rewritten(line, "params", params)
}

// goesOn reports whether a request opens the session that it names.
func goesOn(method string) bool {
	return method == acp.AgentMethodSessionLoad || method == acp.AgentMethodSessionResume
}

// toolEntry is the tool among the MCP servers of a session. Agents that are known
// to need it take HTTP, whether they say so or not; any agent takes stdio.
func (p *proxy) toolEntry(one *tool, profile Profile) []byte {
	if relay := p.opts.Relay; len(relay) > 0 && !p.overHTTP && !profile.Tool {
		return clean.JSON(map[string]any{
			"name": one.name, "command": relay[0], "args": append([]string{}, relay[1:]...),
			"env": []any{map[string]string{"name": ToolAddress, "value": one.url()}}, // not for all to see, as arguments are
		})
	}
	return clean.JSON(map[string]any{"type": "http", "name": one.name, "url": one.url(), "headers": []any{}})
}

// appended is a JSON array with one more element.
func appended(list, element []byte) []byte {
	if old := gjson.ParseBytes(list); !old.IsArray() || len(old.Array()) == 0 {
		return []byte("[" + string(element) + "]")
	}
	end := strings.LastIndexByte(string(list), ']')
	return []byte(string(list[:end]) + "," + string(element) + "]")
}

// opened takes the agent's answer to such a request. What was asked in the session
// before is shown again behind it.
func (p *proxy) opened(line []byte, r *request, m *message) act {
	p.begins(r, m)
	return func(pass func([]byte) error) error {
		defer close(r.opened)
		return pass(line)
	}
}

// begins takes note of the session that is opened. An agent may give a new one the
// name of one that is there.
func (p *proxy) begins(r *request, m *message) {
	if m.result == nil {
		p.tools.remove(r.tool)
		return
	}
	id := cmp.Or(gjson.GetBytes(m.result, "sessionId").String(), r.session) // session/load names it in the request alone
	if id != r.session || !goesOn(r.method) {
		p.opensAnew(id, r.opened)
	}
	s := p.session(id)
	s.dir, s.closed = r.dir, false
	p.about.opened(id, r.dir)
	p.tools.bind(r.tool, id)
}

// add makes a tool for a request that opens a session. The session is that of the
// request, if it names one.
func (t *tools) add(params []byte, profile Profile) (*tool, error) {
	if t.closed {
		return nil, net.ErrClosed
	}
	if t.listener == nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		t.listener, t.byToken = listener, map[string]*tool{}
		t.server = &http.Server{Handler: t, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = t.server.Serve(listener) }()
	}
	t.made++
	one := &tool{p: t.p, session: gjson.GetBytes(params, "sessionId").String(), number: t.made, shown: map[string]bool{}}
	one.name = serverName(params, one.number, profile)
	one.server = mcp.New(mcp.Options{Resolver: one, Limit: profile.ToolLimit, Logger: t.p.log, Version: t.p.opts.Version})
	one.handler = one.server.Handler()
	one.token = rand.Text()
	t.byToken[one.token] = one
	return one, nil
}

// url is where the agent finds it.
func (t *tool) url() string { return fmt.Sprintf("http://%s/%s", t.p.tools.listener.Addr(), t.token) }

// plugged makes the tool of the plugin in this folder, and writes its address there.
func (p *proxy) plugged(dir string) {
	one, err := p.tools.add(nil, Profile{ToolLimit: -1})
	if p.tools.plugin = one; err == nil {
		err = os.WriteFile(filepath.Join(dir, "address"), []byte(one.url()), 0o600)
	}
	if err != nil {
		p.log.Warn("the agent gets no question tool", "err", err)
	}
}

// serverName is how the agent knows the server: by a name that none of the
// editor's servers has.
func serverName(params []byte, number int, profile Profile) string {
	taken := map[string]bool{}
	for _, s := range gjson.GetBytes(params, "mcpServers.#.name").Array() {
		taken[s.Str] = true
	}
	name := mcp.ServerName
	if profile.ServerNames && number > 1 {
		name += "-" + strconv.Itoa(number)
	}
	for n := number + 1; taken[name]; n++ {
		name = mcp.ServerName + "-" + strconv.Itoa(n)
	}
	return name
}

// ServeHTTP finds the session's server.
func (t *tools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var one *tool
	t.p.Step(func() {
		if one = t.byToken[strings.Trim(r.URL.Path, "/")]; one != nil {
			one.used = true
		}
	})
	switch {
	case one == nil:
		http.NotFound(w, r)
	case r.Header.Get("Upgrade") == relayProtocol:
		one.relayed(w)
	default:
		one.handler.ServeHTTP(w, r)
	}
}

// bind says to which session a tool belongs.
func (t *tools) bind(token, session string) {
	if one := t.byToken[token]; one != nil {
		one.session, one.bound = session, true
		if !t.p.session(session).runs() {
			t.prune(session)
		}
	}
}

func (t *tools) remove(token string) {
	if one := t.byToken[token]; one != nil {
		delete(t.byToken, token)
		go one.server.Close() // which waits for steps
	}
}

// prune ends the tools of a session that has been opened anew, while no turn runs:
// those that the agent has never come to, and if it has come to a newer one, those in
// which nothing is asked. An agent may stay with the tool that it has.
func (t *tools) prune(session string) {
	bound, used := 0, 0 // the newest
	for _, one := range t.of(session) {
		if one.bound {
			bound = max(bound, one.number)
		}
		if one.bound && one.used {
			used = max(used, one.number)
		}
	}
	for _, one := range t.of(session) {
		if one.number < used && one.asking == 0 || one.number < bound && !one.used {
			t.remove(one.token)
		}
	}
}

// close ends all tools, when end is called, which is no part of a step.
func (t *tools) close() (end func()) {
	all, server := t.byToken, t.server
	t.closed, t.byToken = true, nil
	return func() {
		for _, one := range all {
			one.server.Close()
		}
		if server != nil {
			_ = server.Close()
		}
	}
}

var _ adapter.Poster = (*tool)(nil)

// Ask implements [adapter.Resolver].
func (t *tool) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	return t.Post(ctx, c).Wait()
}

// Post asks what a model asks with the tool. It implements [adapter.Poster].
func (t *tool) Post(ctx context.Context, c convert.Call) adapter.Asking {
	return &toolCall{tool: t, ctx: ctx, call: c}
}

// toolCall is one call of a tool. Its outcome is kept by the tool's server until the
// agent fetches it.
type toolCall struct {
	*tool
	ctx  context.Context
	call convert.Call
	name string // at the desk, after Wait
}

// Deliver implements [adapter.Asking].
func (t *toolCall) Deliver(use func() error) error {
	err := use()
	if err == nil && t.p.opts.Desk != nil {
		t.p.opts.Desk.Receipt(t.name, nil)
	}
	return err
}

// Wait implements [adapter.Asking].
func (t *toolCall) Wait() (convert.Outcome, error) {
	ctx, c := t.ctx, t.call
	var q *asking
	var err error
	t.p.Step(func() { t.asking++; q, err = t.p.asksByTool(t.tool, &c) })
	defer t.p.Step(func() { t.asking-- })
	if errors.Is(err, errSubAgent) {
		return adapter.SubAgent(nil).Ask(ctx, c)
	}
	if err != nil {
		o := convert.Outcome{Status: convert.Failed, Reason: err.Error()}
		return o, o.Err()
	}
	defer context.AfterFunc(ctx, func() { t.p.happens(q.in, machine.RequestWithdrawn{Key: q.Key}) })()
	o, err := q.asker.Ask(q.Ctx, c)
	stopped := errors.Is(context.Cause(q.Ctx), machine.ErrTurnCancelled)
	q.leave(nil)
	t.name = q.name
	if stopped {
		// The agent takes its call back, or ends its turn: with a result that came
		// before that it would go on. Some do neither.
		select {
		case <-ctx.Done():
		case <-t.p.ctx.Done():
		case <-time.After(takeBackGrace):
		}
	}
	return o, err
}

// takeBackGrace is how long an agent may take to take back a call of the tool in a
// turn that was cancelled.
const takeBackGrace = 2 * time.Second

var errSubAgent = errors.New(refusedSubAgent)

// asksByTool enters a question that a model asks with a tool. It counts as one of
// the agent: a cancel or a prompt ends it.
func (p *proxy) asksByTool(by *tool, c *convert.Call) (q *asking, err error) {
	by.calls++
	name := fmt.Sprintf("mcp %d %d", by.number, by.calls)
	session, call, err := p.tools.place(by, c.ID, p.profile.MixesServers)
	if err != nil {
		return nil, err
	}
	c.ID = call
	subAgent := p.subAgentIn(session, c.ID)
	if by == p.tools.plugin {
		name = asideID(session, call) // it ends with its tool call: the agent does not take it back
	}
	if subAgent && p.opts.RefuseSubAgents {
		return nil, errSubAgent
	}
	if q, err = p.enter(name, session, subAgent, nil); err == nil {
		c.Session = q.in.id
	}
	return q, err
}
