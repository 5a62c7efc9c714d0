package opencode

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// maxLine is the most that a plugin says at once: a permission has the diff of a file.
const maxLine = 16 << 20

// Run puts what a plugin tells of to a hub, until the plugin has no more to say or ctx
// ends. Agent is who asks, for people.
func Run(ctx context.Context, in io.Reader, out io.Writer, w *watch.Watch, agent string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{out: out, watch: w, agent: agent, sessions: map[string]session{}, failed: map[string]bool{}, open: map[string]opened{}, pending: map[int]chan reply{}, Queue: watch.NewQueue()}
	read := make(chan error, 1)
	go func() { read <- r.read(in); cancel() }()
	for ctx.Err() == nil {
		select {
		case <-r.More:
			r.handle(ctx)
		case <-ctx.Done():
		}
	}
	w.EndAll(agent+" has ended", func(desk.Item) bool { return true })
	select {
	case err := <-read:
		return err
	default:
		return nil // the reader may wait for ever
	}
}

type run struct {
	watch *watch.Watch
	agent string

	// Of the goroutine that handles events.
	dir      string
	sessions map[string]session
	open     map[string]opened // by the name of the request
	failed   map[string]bool   // sessions of which it was told

	writing sync.Mutex
	out     io.Writer

	*watch.Queue // its steps have what follows
	pending      map[int]chan reply
	serial       int
}

// session is a conversation, or what a sub-agent does in one.
type session struct{ id, parent, title, dir string }

// opened is a request that is open in the terminal.
type opened struct {
	session, root string
	read          func(replied gjson.Result) (convert.Outcome, error)
}

type reply struct {
	status int
	data   gjson.Result
}

// read takes lines as they come: a reply is waited for while events are handled.
func (r *run) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if !clean.ValidJSON(lines.Bytes()) {
			continue
		}
		r.take(gjson.Parse(lines.Text()))
	}
	return lines.Err()
}

// take takes a line. Nobody is waited for: whoever waits for a reply has room for one.
func (r *run) take(line gjson.Result) {
	if n := line.Get("reply"); n.Exists() {
		r.Step(func() {
			if to := r.pending[int(n.Int())]; to != nil {
				delete(r.pending, int(n.Int()))
				to <- reply{int(line.Get("status").Int()), line.Get("data")}
			}
		})
		return
	}
	r.Put(line)
}

func (r *run) handle(ctx context.Context) {
	for line, ok := r.Next(); ok && ctx.Err() == nil; line, ok = r.Next() {
		if hello := line.Get("hello"); hello.Exists() {
			r.dir = hello.Get("directory").Str
			r.look(ctx)
			continue
		}
		r.event(ctx, line.Get("event.type").Str, line.Get("event.properties"))
	}
}

// look finds what was asked before we were there.
func (r *run) look(ctx context.Context) {
	for path, ask := range map[string]func(context.Context, gjson.Result){"/question": r.question, "/permission": r.permission} {
		if list, err := r.get(ctx, path); err == nil {
			for _, one := range list.Array() {
				ask(ctx, one)
			}
		}
	}
}

func (r *run) event(ctx context.Context, kind string, p gjson.Result) {
	switch kind {
	case "session.created", "session.updated":
		r.know(p.Get("info"))
	case "session.deleted", "session.idle", "session.error":
		// What belongs to a turn ends with it, also where OpenCode goes on to show it.
		id := cmp.Or(p.Get("sessionID").Str, p.Get("info.id").Str)
		r.over(id)
		r.rests(kind, id, p.Get("error"))
	case "question.asked":
		r.question(ctx, p)
	case "permission.asked":
		r.permission(ctx, p)
	case "question.replied", "question.rejected", "permission.replied":
		r.ended(kind, p)
	}
}

// rests tells of the end of a turn of a session that is known and no sub-agent's. Behind an
// error comes the end that follows it, and what the user has stopped needs no telling.
func (r *run) rests(kind, id string, failure gjson.Result) {
	s, known := r.sessions[id]
	told := r.failed[id]
	delete(r.failed, id)
	if !known || s.parent != "" || kind == "session.deleted" {
		return
	}
	t := desk.Turn{Session: id, Agent: r.agent, Dir: cmp.Or(s.dir, r.dir), About: about.About{Title: s.title}}
	if kind == "session.error" {
		r.failed[id] = true
		t.Err = errors.New(cmp.Or(failure.Get("data.message").Str, failure.Get("name").Str))
	}
	if failure.Get("name").Str != "MessageAbortedError" && !told {
		r.watch.EndTurn(t)
	}
}

func (r *run) know(info gjson.Result) session {
	s := session{info.Get("id").Str, info.Get("parentID").Str, info.Get("title").Str, info.Get("directory").Str}
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
	it.Agent, it.Dir, it.About.Title = r.agent, cmp.Or(own.dir, r.dir), clean.Line(root.title)
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
	case errors.As(err, &said) && said.status == http.StatusNotFound:
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

// do has the plugin make a request.
func (r *run) do(ctx context.Context, method, path string, body any) (gjson.Result, error) {
	to := make(chan reply, 1)
	n := 0
	r.Step(func() {
		r.serial++
		n = r.serial
		r.pending[n] = to
	})
	line, err := json.Marshal(struct {
		Request int    `json:"request"`
		Method  string `json:"method"`
		Path    string `json:"path"`
		Body    any    `json:"body,omitempty"`
	}{n, method, path, body})
	if err == nil {
		err = r.write(append(line, '\n'))
	}
	if err != nil {
		return gjson.Result{}, err
	}
	select {
	case got := <-to:
		if got.status < 200 || got.status > 299 {
			return got.data, statusError{got.status, path}
		}
		return got.data, nil
	case <-ctx.Done():
		r.Step(func() { delete(r.pending, n) })
		return gjson.Result{}, ctx.Err()
	}
}

func (r *run) write(line []byte) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	_, err := r.out.Write(line)
	return err
}
