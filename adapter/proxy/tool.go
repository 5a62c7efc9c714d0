package proxy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
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
	p *proxy

	mu       sync.Mutex
	listener net.Listener
	server   *http.Server
	byToken  map[string]*tool
	made     int
	closed   bool
}

// tool is that of one session.
type tool struct {
	p       *proxy
	number  int // 1 is that of the first session
	server  *mcp.Server
	handler http.Handler

	mu      sync.Mutex
	session string
	calls   int
}

// opens takes a request that opens a session, and adds the tool to it.
func (p *proxy) opens(line []byte, m *message) act {
	profile := p.profile
	if !p.opts.addsTool(profile) {
		return nil
	}
	token, url, err := p.tools.add(gjson.GetBytes(m.params, "sessionId").String(), profile.ToolLimit)
	if err != nil {
		p.log.Warn("the agent gets no question tool", "err", err)
		return nil
	}
	if r := p.awaited[idKey(m.id)]; r != nil { // an agent may answer what it did not get yet
		r.tool = token
	}
	name := mcp.ServerName
	if n := p.tools.number(token); profile.ServerNames && n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	entry := p.toolEntry(name, url, profile)
	params := edit(m.params, func(list []byte) []byte { return appended(list, entry) }, "mcpServers")
	return rewritten(line, "params", params)
}

// toolEntry is the tool among the MCP servers of a session. Agents that are known
// to need it take HTTP, whether they say so or not; any agent takes stdio.
func (p *proxy) toolEntry(name, url string, profile Profile) []byte {
	if relay := p.opts.Relay; len(relay) > 0 && !p.overHTTP && !profile.Tool {
		return clean.JSON(map[string]any{
			"name": name, "command": relay[0], "args": append([]string{}, relay[1:]...),
			"env": []any{map[string]string{"name": ToolAddress, "value": url}}, // not for all to see, as arguments are
		})
	}
	return clean.JSON(map[string]any{"type": "http", "name": name, "url": url, "headers": []any{}})
}

// appended is a JSON array with one more element.
func appended(list, element []byte) []byte {
	old := gjson.ParseBytes(list)
	if !old.IsArray() || len(old.Array()) == 0 {
		return []byte("[" + string(element) + "]")
	}
	end := strings.LastIndexByte(string(list), ']')
	return []byte(string(list[:end]) + "," + string(element) + "]")
}

// opened takes the agent's answer to such a request.
func (p *proxy) opened(r *request, m *message) {
	if m.result == nil {
		p.tools.remove(r.tool)
		return
	}
	id := gjson.GetBytes(m.result, "sessionId").String()
	if id == "" {
		id = r.session // session/load names it in the request alone
	}
	s := p.session(id)
	s.dir, s.closed = r.dir, false
	p.tools.bind(r.tool, id)
}

// add makes a tool. The session is that of the request, if it names one.
func (t *tools) add(session string, limit time.Duration) (token, url string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", "", net.ErrClosed
	}
	if t.listener == nil {
		if err := t.listen(); err != nil {
			return "", "", err
		}
	}
	t.made++
	one := &tool{p: t.p, session: session, number: t.made}
	one.server = mcp.New(mcp.Options{Resolver: one, Limit: limit, Logger: t.p.log, Version: t.p.opts.Version})
	one.handler = one.server.Handler()
	token = rand.Text()
	t.byToken[token] = one
	return token, fmt.Sprintf("http://%s/%s", t.listener.Addr(), token), nil
}

// number says which of the tools one is, in the order in which they were made.
func (t *tools) number(token string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byToken[token].number
}

func (t *tools) listen() (err error) {
	if t.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	t.byToken = map[string]*tool{}
	t.server = &http.Server{Handler: t, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = t.server.Serve(t.listener) }()
	return nil
}

// ServeHTTP finds the session's server.
func (t *tools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	one := t.byToken[strings.Trim(r.URL.Path, "/")]
	t.mu.Unlock()
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
	t.mu.Lock()
	one := t.byToken[token]
	t.mu.Unlock()
	if one != nil {
		one.mu.Lock()
		one.session = session
		one.mu.Unlock()
	}
}

func (t *tools) remove(token string) {
	t.mu.Lock()
	one := t.byToken[token]
	delete(t.byToken, token)
	t.mu.Unlock()
	if one != nil {
		go one.server.Close() // the caller may hold what its end needs
	}
}

// serves reports whether a session has a tool.
func (t *tools) serves(session string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.byToken {
		one.mu.Lock()
		is := one.session == session
		one.mu.Unlock()
		if is {
			return true
		}
	}
	return false
}

// endSession ends the tools of a session.
func (t *tools) endSession(session string) {
	t.mu.Lock()
	var ended []*tool
	for token, one := range t.byToken {
		one.mu.Lock()
		if one.session == session {
			ended = append(ended, one)
			delete(t.byToken, token)
		}
		one.mu.Unlock()
	}
	t.mu.Unlock()
	for _, one := range ended {
		go one.server.Close()
	}
}

// close ends all tools.
func (t *tools) close() {
	t.mu.Lock()
	t.closed = true
	all := t.byToken
	t.byToken = nil
	server := t.server
	t.mu.Unlock()
	for _, one := range all {
		one.server.Close()
	}
	if server != nil {
		_ = server.Close()
	}
}

// Ask asks what a model asks with the tool. It implements [adapter.Resolver].
func (t *tool) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	t.mu.Lock()
	t.calls++
	session, n := t.session, t.calls
	t.mu.Unlock()
	q, err := t.p.asksByTool(fmt.Sprintf("mcp %d %d", t.number, n), session, &c)
	if errors.Is(err, errSubAgent) {
		return adapter.SubAgent(nil).Ask(ctx, c)
	}
	if err != nil {
		o := convert.Outcome{Status: convert.Failed, Reason: err.Error()}
		return o, o.Err()
	}
	defer context.AfterFunc(ctx, func() { t.p.happens(q.in, machine.RequestWithdrawn{Key: q.key}) })()
	o, err := q.asker.Ask(q.ctx, c)
	stopped := errors.Is(context.Cause(q.ctx), errTurnCancelled)
	q.leave(nil)
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
func (p *proxy) asksByTool(id, session string, c *convert.Call) (q *asked, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.ID == "" {
		session, c.ID = p.toolCall(session, c.Input)
	}
	subAgent := p.subAgentIn(session, c.ID)
	if subAgent && p.opts.RefuseSubAgents {
		return nil, errSubAgent
	}
	if q, err = p.enter(id, session, subAgent, nil); err == nil {
		c.Session = q.in.id
	}
	return q, err
}

// toolCall finds the agent's tool call that has this input, in the session to
// which the tool belongs. OpenCode and Kilo call one session's tool from another:
// then it is the only other session with such a call.
func (p *proxy) toolCall(session string, input json.RawMessage) (of, id string) {
	want := sameJSON(gjson.GetBytes(input, "questions").Raw)
	if id := p.sessions[session].asking(want); id != "" {
		return session, id
	}
	others := 0
	for name, s := range p.sessions {
		if found := s.asking(want); found != "" {
			of, id = name, found
			others++
		}
	}
	if others != 1 {
		return session, ""
	}
	return of, id
}

// asking is the tool call that asks these questions, "" if there is none.
func (s *session) asking(questions string) string {
	if s != nil {
		for id, raw := range s.inputs {
			if sameJSON(gjson.GetBytes(raw, "questions").Raw) == questions {
				return id
			}
		}
	}
	return ""
}

// sameJSON is equal for JSON that means the same.
func sameJSON(raw string) string {
	var v any
	if json.Unmarshal([]byte(raw), &v) != nil {
		return raw
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// allowed answers the agent's request for leave to use the tool: the user will
// see the question, and answering it is leave enough. Whatever else an agent
// wants to do under that name is for the user.
func (p *proxy) allowed(m *message) []byte {
	params := gjson.ParseBytes(m.params)
	session, call := params.Get("sessionId").Str, params.Get("toolCall")
	if !p.tools.serves(session) || !namesTool(call) {
		return nil
	}
	input := toolInput(call)
	if _, err := convert.Parse(input, convert.Limits{}); err != nil && gjson.GetBytes(input, "ticket").Str == "" {
		return nil
	}
	for _, o := range params.Get("options").Array() {
		if o.Get("kind").Str != string(acp.PermissionOptionKindAllowOnce) {
			continue
		}
		if s := p.session(session); len(s.inputs) < maxTools {
			s.inputs[call.Get("toolCallId").String()] = input
		}
		return resultLine(string(m.id), []byte(`{"outcome":{"outcome":"selected","optionId":`+o.Get("optionId").Raw+`}}`))
	}
	return nil
}

// toolInput is the input of a tool call, if it is one of questions and nothing
// else: what changes files or runs in a terminal is not. Gemini shows the input
// as text.
func toolInput(call gjson.Result) json.RawMessage {
	for _, c := range call.Get("content").Array() {
		if c.Get("type").Str != "content" {
			return nil
		}
	}
	input := call.Get("rawInput")
	if texts := call.Get("content.#.content.text").Array(); !input.Exists() && len(texts) == 1 {
		input = gjson.Parse(strings.Clone(texts[0].Str))
	}
	only := input.IsObject()
	input.ForEach(func(k, _ gjson.Result) bool {
		only = only && (k.Str == "questions" || k.Str == "ticket")
		return only
	})
	if !only {
		return nil
	}
	return json.RawMessage(input.Raw)
}

// namesTool reports whether a tool call is one of our tool, as agents write it.
func namesTool(call gjson.Result) bool {
	return strings.Contains(call.Get("title").Str, mcp.ToolName) || strings.Contains(call.Get("_meta").Raw, mcp.ToolName) ||
		strings.Contains(call.Get("toolCallId").Str, mcp.ToolName)
}
