package opencode

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// maxLine is the most that a plugin says at once: a permission has the diff of a file.
const maxLine = 16 << 20

// Run puts what a plugin tells of to a hub, until the plugin has no more to say or ctx
// ends. Agent is who asks, for people.
func Run(ctx context.Context, in io.Reader, out io.Writer, w *watch.Watch, agent string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &plugin{run: newRun(w, agent, "until "+agent+" is started anew"), out: out, pending: map[int]chan reply{}}
	p.api = p
	read := make(chan error, 1)
	go func() { read <- p.read(in); cancel() }()
	p.Each(ctx, p.handle)
	w.EndAll(agent+" has ended", func(desk.Item) bool { return true })
	select {
	case err := <-read:
		return err
	default:
		return nil // the reader may wait for ever
	}
}

// plugin is OpenCode's first version, which a plugin of ours talks for.
type plugin struct {
	*run    // its steps have what is pending
	pending map[int]chan reply
	serial  int

	writing sync.Mutex
	out     io.Writer
}

type reply struct {
	status int
	data   gjson.Result
}

// read takes lines as they come: a reply is waited for while events are handled.
func (r *plugin) read(in io.Reader) error {
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
func (r *plugin) take(line gjson.Result) {
	n := line.Get("reply")
	if !n.Exists() {
		r.Put(line)
		return
	}
	r.Step(func() {
		if to := r.pending[int(n.Int())]; to != nil {
			delete(r.pending, int(n.Int()))
			to <- reply{int(line.Get("status").Int()), line.Get("data")}
		}
	})
}

func (r *plugin) handle(ctx context.Context, line gjson.Result) {
	if hello := line.Get("hello"); hello.Exists() {
		r.dir = hello.Get("directory").Str
		r.look(ctx)
		return
	}
	r.event(ctx, line.Get("event.type").Str, line.Get("event.properties"))
}

// look finds what was asked before we were there.
func (r *plugin) look(ctx context.Context) {
	for path, ask := range map[string]func(context.Context, gjson.Result){"/question": r.question, "/permission": r.asksLeave} {
		r.each(ctx, path, ask)
	}
}

func (r *plugin) asksLeave(ctx context.Context, p gjson.Result) {
	path := "/permission/" + url.PathEscape(p.Get("id").Str) + "/reply"
	r.permission(ctx, p, func(ctx context.Context, reply, words string) error {
		if reply == "" {
			reply, words = reject, "The user dismissed the permission request"
		}
		body := map[string]string{"reply": reply}
		if words != "" {
			body["message"] = words
		}
		return r.tell(ctx, path, body)
	})
}

func (r *plugin) event(ctx context.Context, kind string, p gjson.Result) {
	switch kind {
	case "session.created", "session.updated":
		r.know(p.Get("info"))
	case "session.deleted", "session.idle", "session.error":
		// What belongs to a turn ends with it, also where OpenCode goes on to show it.
		id := cmp.Or(p.Get("sessionID").Str, p.Get("info.id").Str)
		r.over(id)
		r.rests(kind, id, p.Get("error"))
	case "chat.message":
		r.words(p.Get("sessionID").Str).Prompt(p.Get("text").Str)
	case texted:
		r.words(p.Get("sessionID").Str).Say(p.Get("text").Str + "\n\n")
	case "question.asked":
		r.question(ctx, p)
	case "permission.asked":
		r.asksLeave(ctx, p)
	case "question.replied", "question.rejected", "permission.replied":
		r.ended(p.Get("requestID").Str, kind == "question.rejected", p)
	}
}

// do has the plugin make a request.
func (r *plugin) do(ctx context.Context, method, path string, body any) (gjson.Result, error) {
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

func (r *plugin) write(line []byte) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	_, err := r.out.Write(line)
	return err
}
