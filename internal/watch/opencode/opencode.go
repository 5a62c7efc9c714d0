package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// run is one stay with an OpenCode.
type run struct {
	api
	watch *watch.Watch
	agent string
	until string // how long an "always" lasts
	*proc.Queue[gjson.Result]

	// Of the goroutine that handles events.
	dir      string
	sessions map[string]session
	open     map[string]opened       // by the name of the request
	failed   map[string]bool         // sessions of which it was told
	said     map[string]*about.Words // in the turns of sessions
}

// api is that of OpenCode. It is told of what answers an asking by tell.
type api interface {
	do(ctx context.Context, method, path string, body any) (gjson.Result, error)
}

func newRun(w *watch.Watch, agent, until string) *run {
	return &run{watch: w, agent: agent, until: until, sessions: map[string]session{}, failed: map[string]bool{}, said: map[string]*about.Words{}, open: map[string]opened{}, Queue: proc.NewQueue[gjson.Result]()}
}

// session is a conversation, or what a sub-agent does in one.
type session struct{ id, parent, title, dir string }

// opened is a request that is open in the terminal.
type opened struct {
	session, root string
	read          func(replied gjson.Result) (convert.Outcome, error)
}

// rests tells of the end of a turn of a session that is known and no sub-agent's. Behind an
// error comes the end that follows it, and what the user has stopped needs no telling.
func (r *run) rests(kind, id string, failure gjson.Result) {
	defer delete(r.said, id)
	s, known := r.sessions[id]
	told := r.failed[id]
	delete(r.failed, id)
	if !known || s.parent != "" || kind == "session.deleted" {
		return
	}
	t := r.turn(s)
	if kind == "session.error" {
		r.failed[id] = true
		t.Err = errors.New(cmp.Or(failure.Get("data.message").Str, failure.Get("name").Str))
	}
	if failure.Get("name").Str != "MessageAbortedError" && !told {
		r.watch.EndTurn(t)
	}
}

func (r *run) turn(s session) desk.Turn {
	t := desk.Turn{Session: s.id, Agent: r.agent, Dir: cmp.Or(s.dir, r.dir), About: about.About{Title: s.title}}
	r.words(s.id).Tell(&t.About)
	return t
}

// words are what was said in the turn of a session.
func (r *run) words(session string) *about.Words {
	if r.said[session] == nil {
		r.said[session] = &about.Words{}
	}
	return r.said[session]
}

func (r *run) know(info gjson.Result) session {
	s := session{info.Get("id").Str, info.Get("parentID").Str, info.Get("title").Str, cmp.Or(info.Get("directory").Str, info.Get("location.directory").Str)}
	if s.id != "" {
		r.sessions[s.id] = s
	}
	return s
}

// maxDepth bounds how deep sub-agents are in each other.
const maxDepth = 20

// in finds a session, and the conversation that it belongs to.
func (r *run) in(ctx context.Context, id string) (own, root session) {
	own = r.session(ctx, id)
	root = own
	for range maxDepth {
		if root.parent == "" {
			break
		}
		root = r.session(ctx, root.parent)
	}
	return own, root
}

func (r *run) session(ctx context.Context, id string) session {
	if s, ok := r.sessions[id]; ok {
		return s
	}
	if isName(id) {
		if info, err := r.get(ctx, "/session/"+id); err == nil && info.Get("id").Str == id {
			return r.know(info)
		}
	}
	return session{id: id}
}

// isName reports whether an id of OpenCode can stand in a path as it is.
func isName(id string) bool {
	return id != "" && len(id) <= 100 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// ask puts a request of a session to the hub.
func (r *run) ask(ctx context.Context, p gjson.Result, it desk.Item, read func(gjson.Result) (convert.Outcome, error), answer func(context.Context, convert.Outcome) error) {
	id, in := p.Get("id").Str, p.Get("sessionID").Str
	if _, known := r.open[id]; known || !isName(id) || !isName(in) {
		return
	}
	own, root := r.in(ctx, in)
	it.Agent, it.Dir, it.About.Title = r.agent, cmp.Or(own.dir, it.Dir, r.dir), clean.Line(root.title)
	r.words(root.id).Tell(&it.About)
	it.Call.Session, it.Call.ID = root.id, id
	if own.id != root.id {
		it.Call.SubAgent = convert.SubAgent{ID: own.id, Task: clean.Line(own.title)}
	}
	r.open[id] = opened{own.id, root.id, read}
	r.watch.Ask(watch.Dialog{Item: it, Answer: answer})
}

// over ends what a session has asked.
func (r *run) over(session string) {
	for id, it := range r.open {
		if it.session == session {
			delete(r.open, id)
			r.watch.End(it.root, id, watch.Over("the turn has ended in the terminal"), "")
		}
	}
}

// errEnded is for an answer on which OpenCode has said nothing: it may have taken it.
const errEnded = watch.Unsure("the agent has ended, and did not say whether it took the answer")

// tell gives OpenCode an answer.
func (r *run) tell(ctx context.Context, path string, body any) error {
	_, err := r.do(ctx, http.MethodPost, path, body)
	var said statusError
	switch {
	case errors.As(err, &said) && (said.status == http.StatusNotFound || said.status == http.StatusConflict):
		return watch.ErrLate
	case errors.Is(err, context.Canceled): // it was sent
		return errEnded
	}
	return err
}

// getTime is how long OpenCode may take to say something: what it asks and how that ends
// waits behind it.
const getTime = 2 * time.Second

// get has the plugin look for something.
func (r *run) get(ctx context.Context, path string) (gjson.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, getTime)
	defer cancel()
	return r.do(ctx, http.MethodGet, path, nil)
}

// each does something with all of a list.
func (r *run) each(ctx context.Context, path string, do func(context.Context, gjson.Result)) {
	list, _ := r.get(ctx, path)
	for _, one := range list.Array() {
		do(ctx, one)
	}
}

type statusError struct {
	status int
	path   string
}

func (e statusError) Error() string {
	if e.status == 0 {
		return "the agent could not be told: " + e.path + " failed"
	}
	return fmt.Sprintf("the agent did not take it: %s returned %d", e.path, e.status)
}
