package codex

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// Terminals are Codex's. Version is ours, and socket is where Codex listens.
func Terminals(version string, socket func() (string, error)) watch.Terminals {
	return watch.Terminals{Agent: "Codex", Name: "codex", Serve: func(ctx context.Context, w *watch.Watch) error {
		path, err := socket()
		if err != nil {
			return watch.Problem(err.Error())
		}
		return serve(ctx, path, version, w)
	}}
}

// serve watches until the connection ends.
func serve(ctx context.Context, socket, version string, w *watch.Watch) error {
	if info, err := os.Stat(socket); err != nil || info.Mode()&fs.ModeSocket == 0 {
		return fs.ErrNotExist
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := dial(ctx, socket)
	if err != nil {
		return err
	}
	defer c.socket.CloseNow()
	r := &run{watch: w, client: c, ctx: ctx, threads: map[string]*thread{}, items: map[string]gjson.Result{}, open: map[string]*opened{}, Queue: proc.NewQueue[gjson.Result]()}
	read := make(chan error, 1)
	go func() { read <- c.read(ctx, r.Put); cancel() }()
	err = r.start(ctx, version)
	if err == nil {
		r.Each(ctx, r.handle)
	}
	cancel()
	<-read
	r.following.Wait()
	return err
}

type run struct {
	watch                     *watch.Watch
	client                    *client
	ctx                       context.Context
	*proc.Queue[gjson.Result] // its steps have what was said of a request, too
	following                 sync.WaitGroup

	// Of the goroutine that handles messages.
	threads map[string]*thread
	items   map[string]gjson.Result // tool calls that work, by thread and item
	open    map[string]*opened      // requests, by their id
}

// thread is a conversation, or what a sub-agent does in one.
type thread struct {
	id, parent, name, dir, who string
	active                     bool
	followed                   bool
	skip                       bool        // it makes a title, or the like
	words                      about.Words // of the turn
}

// start says who we are, and looks for threads that are there.
func (r *run) start(ctx context.Context, version string) error {
	reply, err := r.client.call(ctx, "initialize", map[string]any{
		"clientInfo":   map[string]string{"name": "acp-bridge", "title": "acp-bridge", "version": version},
		"capabilities": map[string]any{"experimentalApi": true, "requestAttestation": false, "optOutNotificationMethods": noise},
	})
	if err != nil {
		return err
	}
	if err := knows(reply.Get("userAgent").Str); err != nil {
		return err
	}
	if err := r.client.send(ctx, map[string]string{"method": "initialized"}); err != nil {
		return err
	}
	list, err := r.client.call(ctx, "thread/loaded/list", map[string]any{})
	for _, id := range list.Get("data").Array() {
		r.follow(r.thread(id.Str)) // and left, if it is idle
	}
	return err
}

// noise is what nobody here needs to know.
var noise = []string{
	"item/agentMessage/delta", "item/reasoning/textDelta", "item/reasoning/summaryTextDelta", "item/reasoning/summaryPartAdded",
	"item/commandExecution/outputDelta", "item/fileChange/outputDelta", "item/plan/delta", "thread/tokenUsage/updated", "account/rateLimits/updated",
}

func (r *run) handle(_ context.Context, m gjson.Result) {
	if m.Get("id").Exists() {
		r.request(m)
	} else {
		r.notified(m.Get("method").Str, m.Get("params"))
	}
}

func (r *run) notified(method string, p gjson.Result) {
	id := p.Get("threadId").Str
	switch method {
	case "thread/started":
		r.know(p.Get("thread"))
		for _, item := range p.Get(`initialTurnsPage.data.#(status=="inProgress").items`).Array() {
			r.thread(p.Get("thread.id").Str).hear(item)
		}
		r.status(r.thread(p.Get("thread.id").Str), p.Get("thread.status"))
	case notFollowed:
		if t := r.thread(id); t.followed && t.active {
			t.followed = false
			r.follow(t)
		} else {
			t.followed = false
		}
	case "thread/name/updated":
		r.thread(id).name = clean.Line(p.Get("threadName").Str)
	case "thread/status/changed":
		r.status(r.thread(id), p.Get("status"))
	case "thread/closed":
		r.over(id)
		delete(r.threads, id)
	case "item/started":
		r.items[id+" "+p.Get("item.id").Str] = p.Get("item")
	case "item/completed":
		delete(r.items, id+" "+p.Get("item.id").Str)
		r.completed(id, p.Get("item"))
		r.thread(id).hear(p.Get("item"))
	case "turn/completed":
		r.over(id)
		r.rests(r.thread(id), p.Get("turn"))
	case "serverRequest/resolved":
		r.resolved(p.Get("requestId").Raw)
	}
}

// hear notes what the user or the agent has said.
func (t *thread) hear(item gjson.Result) {
	switch item.Get("type").Str {
	case "userMessage":
		t.words.Prompt(item.Get(`content.#(type=="text").text`).Str)
	case "agentMessage":
		t.words.Say(item.Get("text").Str + "\n\n")
	}
}

// rests tells of the end of a turn. What the user has stopped needs no telling.
func (r *run) rests(t *thread, turn gjson.Result) {
	defer func() { t.words = about.Words{} }()
	status := turn.Get("status").Str
	if t.parent != "" || t.skip || status != "completed" && status != "failed" {
		return
	}
	ended := desk.Turn{Session: t.id, Agent: "Codex", Dir: t.dir, About: about.About{Title: t.name}}
	t.words.Tell(&ended.About)
	if status == "failed" {
		ended.Err = errors.New(cmp.Or(turn.Get("error.message").Str, "it does not say why"))
	}
	r.watch.EndTurn(ended)
}

// status follows a thread that works, and leaves one that is idle.
func (r *run) status(t *thread, s gjson.Result) {
	switch s.Get("type").Str {
	case "active":
		t.active = true
		r.follow(t)
	case "idle", "systemError", "notLoaded":
		t.active = false
		r.over(t.id)
		if t.followed {
			t.followed = false
			r.client.ask(r.ctx, "thread/unsubscribe", map[string]string{"threadId": t.id}, func(gjson.Result, bool) {})
		}
	}
}

// aside does something that waits for Codex.
func (r *run) aside(f func()) { r.following.Go(f) }

// followPause is how long between two tries to follow a thread: it cannot be followed
// before its first turn is written down.
const followPause = 200 * time.Millisecond

// follow has Codex tell of a thread, and send what it asks.
func (r *run) follow(t *thread) {
	if t.followed || t.skip {
		return
	}
	t.followed = true
	id := t.id
	r.client.ask(r.ctx, "thread/resume", map[string]any{"threadId": id, "excludeTurns": true, "initialTurnsPage": map[string]int{"limit": 1}}, func(reply gjson.Result, ok bool) {
		switch {
		case !ok:
		case reply.Get("result.thread").Exists():
			r.Put(gjson.Parse(`{"method":"thread/started","params":` + reply.Get("result").Raw + `}`))
		default:
			r.aside(func() {
				proc.Sleep(r.ctx, followPause)
				r.Put(gjson.Parse(`{"method":"` + notFollowed + `","params":{"threadId":` + string(clean.JSON(id)) + `}}`))
			})
		}
	})
}

// notFollowed is our own message: Codex did not let us follow a thread.
const notFollowed = "acp-bridge/notFollowed"

func (r *run) thread(id string) *thread {
	t := r.threads[id]
	if t == nil {
		t = &thread{id: id}
		r.threads[id] = t
	}
	return t
}

// know takes what Codex says of a thread.
func (r *run) know(info gjson.Result) {
	id := info.Get("id").Str
	if id == "" {
		return
	}
	t := r.thread(id)
	t.skip = info.Get("ephemeral").Bool()
	t.parent, t.dir = info.Get("parentThreadId").Str, info.Get("cwd").Str
	line := func(member string) string { return clean.Line(info.Get(member).Str) }
	t.name = cmp.Or(t.name, clean.Truncate(cmp.Or(line("name"), line("preview")), 200))
	t.who = cmp.Or(line("agentNickname"), line("agentRole"), t.who)
}

// maxDepth bounds how deep sub-agents are in each other.
const maxDepth = 20

// root is the conversation that a thread belongs to.
func (r *run) root(t *thread) *thread {
	for range maxDepth {
		if t.parent == "" {
			break
		}
		t = r.thread(t.parent)
	}
	return t
}
