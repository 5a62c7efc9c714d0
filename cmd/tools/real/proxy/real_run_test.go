//go:build linux

package proxy_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/realtest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// realPatience is how long a real agent may take for anything, on a busy machine.
const realPatience = 5 * time.Minute

const (
	noForms   = `{}`
	withForms = `{"elicitation":{"form":{},"url":{}}}`
)

// realRun is a real agent behind the proxy, with an editor and its user.
type realRun struct {
	model   *modeltest.Server
	editor  *conn.Conn
	user    *realUser
	desk    *desk.Desk
	dir     string
	tool    string // that asks
	opened  int    // sessions
	session string // the last one
	task    string // what its prompt says
	pidFile string
	ended   chan error
	close   func()
}

type promptAnswer struct {
	result gjson.Result
	err    error
}

func newRealRun(t *testing.T, name string, start realtest.Start, model *modeltest.Server, capabilities string) *realRun {
	t.Helper()
	return newRealRunWith(t, name, start, model, capabilities, proxy.Options{})
}

func newRealRunWith(t *testing.T, name string, start realtest.Start, model *modeltest.Server, capabilities string, o proxy.Options) *realRun {
	t.Helper()
	toProxy, fromEditor, err := os.Pipe()
	require.NoError(t, err)
	toEditor, fromProxy, err := os.Pipe()
	require.NoError(t, err)
	r := &realRun{model: model, dir: start.Dir, user: &realUser{asked: make(chan struct{}, 100), permits: make(chan gjson.Result, 100)}, desk: new(desk.Desk), ended: make(chan error, 1)}
	o.Desk, o.TrustPrompts = r.desk, true
	for _, p := range proxy.Profiles() {
		if p.Name == name {
			o.Agent = p
		}
	}
	go func() {
		err := proxy.Serve(context.Background(), toProxy, fromProxy,
			proxy.Command{Args: start.Args, Env: start.Env, Dir: start.Dir, Stderr: testWriter{t}}, o)
		fromProxy.Close()
		r.ended <- err
	}()
	r.editor = conn.New(toEditor, fromEditor, r.user, nil)
	var once sync.Once
	r.close = func() {
		once.Do(func() {
			fromEditor.Close()
			r.editor.Close()
		})
	}
	t.Cleanup(func() {
		r.close()
		<-r.ended
		toProxy.Close()
		toEditor.Close()
	})
	r.call(t, "initialize", object{"protocolVersion": 1, "clientCapabilities": json.RawMessage(capabilities), "clientInfo": object{"name": "test", "version": "1"}})
	return r
}

// end is how the proxy ended.
func (r *realRun) end(t *testing.T) error {
	t.Helper()
	err := acptest.Next(t, r.ended)
	r.ended <- err
	return err
}

func (r *realRun) call(t *testing.T, method string, params any) gjson.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), realPatience)
	defer cancel()
	raw, err := r.editor.Call(ctx, method, params)
	require.NoError(t, err, method)
	return gjson.ParseBytes(raw)
}

func (r *realRun) prompt(t *testing.T, text string) gjson.Result {
	t.Helper()
	return r.call(t, "session/prompt", r.promptParams(text))
}

func (r *realRun) promptParams(text string) object {
	return object{"sessionId": r.session, "prompt": []any{object{"type": "text", "text": text}}}
}

// promptSoon sends a prompt and does not wait for its end.
func (r *realRun) promptSoon(text string) <-chan promptAnswer {
	done := make(chan promptAnswer, 1)
	go func() {
		raw, err := r.editor.Call(context.Background(), "session/prompt", r.promptParams(text))
		done <- promptAnswer{gjson.ParseBytes(raw), err}
	}()
	return done
}

func (r *realRun) await(t *testing.T, done <-chan promptAnswer) gjson.Result {
	t.Helper()
	a := acptest.Next(t, done)
	require.NoError(t, a.err)
	return a.result
}

func (r *realRun) cancel(t *testing.T) {
	t.Helper()
	require.NoError(t, r.editor.Notify(context.Background(), "session/cancel", object{"sessionId": r.session}))
}

// realUser is the editor's user. Requests that are no questions are allowed once,
// and those that nobody knows refused.
type realUser struct {
	mu      sync.Mutex
	replies []string // results, in order
	seen    string   // the options of all questions
	asked   chan struct{}
	// Who is away answers no requests for permission: permits gets them, and nothing
	// when one is taken back.
	away    bool
	permits chan gjson.Result
	told    string // what the agent, or we, said
}

func (u *realUser) reply(results ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.replies = append(u.replies, results...)
}

func (u *realUser) leaves() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.away = true
}

// forget begins anew.
func (u *realUser) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.replies, u.seen = nil, ""
	for len(u.asked) > 0 {
		<-u.asked
	}
}

func (u *realUser) pick(ids ...string) {
	for _, id := range ids {
		u.reply(`{"outcome":{"outcome":"selected","optionId":"` + id + `"}}`)
	}
}

// fill accepts a form with one value, in its first field.
func (u *realUser) fill(value string) { u.reply("fill " + value) }
func (u *realUser) dismiss()          { u.reply(`{"outcome":{"outcome":"cancelled"}}`) }
func (u *realUser) decline()          { u.reply(`{"action":"decline"}`) }
func (u *realUser) hold()             { u.reply("hold") }

func (u *realUser) offered() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen
}

func (u *realUser) awaitAsked(t *testing.T) {
	t.Helper()
	acptest.Next(t, u.asked)
}

func (u *realUser) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	p := gjson.ParseBytes(params)
	isQuestion := p.Get("_meta.claudeCode.questionType").Exists() || method == "elicitation/create"
	if method == "session/request_permission" && !isQuestion {
		u.mu.Lock()
		away := u.away
		u.mu.Unlock()
		if away {
			u.permits <- p
			<-ctx.Done()
			u.permits <- gjson.Result{}
			return nil, ctx.Err()
		}
		return json.RawMessage(`{"outcome":{"outcome":"selected","optionId":` + p.Get(`options.#(kind=="allow_once").optionId`).Raw + `}}`), nil
	}
	if !isQuestion {
		return nil, acp.NewMethodNotFound(method)
	}
	u.mu.Lock()
	u.seen += p.Get("options").Raw
	next := "none"
	if len(u.replies) > 0 {
		next, u.replies = u.replies[0], u.replies[1:]
	}
	u.mu.Unlock()
	u.asked <- struct{}{}
	switch {
	case next == "hold" || next == "none":
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.HasPrefix(next, "fill "):
		return filled(p, strings.TrimPrefix(next, "fill ")), nil
	}
	return json.RawMessage(next), nil
}

// filled accepts a form with a value in its first field.
func filled(form gjson.Result, value string) any {
	content := object{}
	form.Get("requestedSchema.properties").ForEach(func(key, _ gjson.Result) bool {
		content[key.Str] = value
		return false
	})
	return object{"action": "accept", "content": content}
}

func (u *realUser) Notify(_ context.Context, _ string, params json.RawMessage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.told += gjson.GetBytes(params, "update.content.text").Str
}

// testWriter logs what an agent says on its standard error.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) { return io.Discard.Write(b) }
