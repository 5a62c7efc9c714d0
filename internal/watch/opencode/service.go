package opencode

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// Terminals are those of OpenCode's second version. One service has all of a user's, and
// writes down where it listens.
func Terminals() watch.Terminals {
	return watch.Terminals{Agent: "OpenCode", Name: "opencode", Serve: serve}
}

// service is a connection to OpenCode's service.
type service struct {
	*run
	url, password string
	pid           int64
	client        http.Client
	queued        map[string]gjson.Result // what the agent has not read yet
}

// find reads where the service listens. Its password is for whoever writes the file alone.
func find() (*service, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state")), "opencode", "service.json")
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, watch.Problem(path + " is not a file that you alone can read")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	said := gjson.ParseBytes(data)
	at, err := url.Parse(said.Get("url").Str)
	if err != nil {
		at = &url.URL{}
	}
	if ip := net.ParseIP(at.Hostname()); at.Scheme != "http" || at.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, watch.Problem("its service is not on this machine's loopback address")
	}
	s := &service{queued: map[string]gjson.Result{}, url: strings.TrimSuffix(at.String(), "/"), password: said.Get("password").Str, pid: said.Get("pid").Int()}
	// Nothing of the user's goes to another machine, nor where somebody else sends us.
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 1, ResponseHeaderTimeout: requestTime}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s, nil
}

// lives reports whether a process of this user is there. What listens at the port of one
// that is gone may be anybody's, and gets no password.
func lives(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && (runtime.GOOS == "windows" || p.Signal(syscall.Signal(0)) == nil)
}

// serve watches until the service ends.
func serve(ctx context.Context, w *watch.Watch) error {
	s, err := find()
	if err != nil {
		return err
	}
	defer s.client.CloseIdleConnections()
	if !lives(int(s.pid)) {
		return errors.New("OpenCode's service has ended")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.run = newRun(w, "OpenCode", "in this project, also later")
	s.api = s
	health, err := s.get(ctx, "/health")
	switch version := health.Get("version").Str; {
	case err != nil || health.Get("pid").Int() != s.pid:
		return errors.Join(err, errors.New("another process is there"))
	case !strings.HasPrefix(version, "2."):
		return watch.Problem("version " + clean.Line(version) + " is not known here (known: 2)")
	}
	events, err := s.send(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return err
	}
	defer events.Body.Close()
	if events.StatusCode != http.StatusOK {
		return statusError{events.StatusCode, "/event"}
	}
	read := make(chan error, 1)
	go func() { read <- readEvents(events.Body, s.Put); cancel() }()
	s.Each(ctx, s.handle)
	events.Body.Close()
	return <-read
}

// silence is how long the service may say nothing: it has a heartbeat of 15 s.
const silence = time.Minute

// readEvents takes events as they come: those that nobody here needs, most of all, are let go.
func readEvents(in io.ReadCloser, put func(gjson.Result)) error {
	silent := time.AfterFunc(silence, func() { in.Close() })
	defer silent.Stop()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		silent.Reset(silence)
		data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !isData || !clean.ValidJSON(data) {
			continue
		}
		switch e := gjson.Parse(string(data)); e.Get("type").Str {
		case connected, formCreated, formReplied, formCancelled, permissionAsked, permissionReplied, renamed, enqueued, delivered, texted, succeeded, failed, interrupted:
			put(e)
		}
	}
	return lines.Err()
}

const (
	connected         = "server.connected"
	formCreated       = "form.created"
	formReplied       = "form.replied"
	formCancelled     = "form.cancelled"
	permissionAsked   = "permission.asked"
	permissionReplied = "permission.replied"
	renamed           = "session.renamed"
	enqueued          = "session.inbox.enqueued"
	delivered         = "session.inbox.delivered"
	texted            = "session.text.ended"
	succeeded         = "session.execution.succeeded"
	failed            = "session.execution.failed"
	interrupted       = "session.execution.interrupted"
)

func (s *service) handle(ctx context.Context, e gjson.Result) {
	p := e.Get("data")
	id := p.Get("sessionID").Str
	switch kind := e.Get("type").Str; kind {
	case connected:
		s.look(ctx)
	case formCreated:
		s.form(ctx, p.Get("form"), e.Get("location.directory").Str)
	case formReplied, formCancelled:
		s.ended(p.Get("id").Str, kind == formCancelled, p)
	case permissionAsked:
		s.permit(ctx, p)
	case permissionReplied:
		s.ended(p.Get("requestID").Str, false, p)
	case renamed:
		delete(s.sessions, id) // it is asked for when it is needed
	case enqueued:
		s.queued[p.Get("inboxID").Str] = p.Get("item")
	case delivered:
		if item := s.queued[p.Get("inboxID").Str]; item.Get("type").Str == "user" {
			s.words(id).Prompt(item.Get("payload.text").Str)
		}
		delete(s.queued, p.Get("inboxID").Str)
	case texted:
		s.words(id).Say(p.Get("text").Str + "\n\n")
	case succeeded, failed, interrupted:
		s.over(id)
		in := s.session(ctx, id)
		if _, known := s.sessions[id]; known && kind != interrupted && in.parent == "" {
			t := s.turn(in)
			if kind == failed {
				t.Err = errors.New(cmp.Or(p.Get("error.message").Str, "it failed"))
			}
			s.watch.EndTurn(t)
		}
		delete(s.said, id)
	}
}

// look finds what was asked before we were there: by sessions that work, and in their folders.
func (s *service) look(ctx context.Context) {
	active, _ := s.get(ctx, "/session/active")
	dirs := map[string]bool{"": true}
	for id := range active.Map() {
		if !isName(id) {
			continue
		}
		if dir := s.session(ctx, id).dir; !dirs[dir] {
			dirs[dir] = true
			s.each(ctx, "/form/request"+located(dir), func(ctx context.Context, f gjson.Result) {
				if f.Get("sessionID").Str == noSession {
					s.form(ctx, f, dir)
				}
			})
		}
		s.each(ctx, "/session/"+id+"/form", func(ctx context.Context, f gjson.Result) { s.form(ctx, f, "") })
		s.each(ctx, "/session/"+id+"/permission", s.permit)
	}
}

// permit asks for permission, in the shape of version 1. The tool's input is in the
// message that calls it.
func (s *service) permit(ctx context.Context, p gjson.Result) {
	id, in := p.Get("id").Str, p.Get("sessionID").Str
	if !isName(id) || !isName(in) {
		return
	}
	name, metadata := p.Get("action").Str, s.input(ctx, in, p.Get("source"))
	if name == "shell" && metadata.Get("command").Str != "" {
		name = "bash"
	}
	about := metadata.Raw
	if files := p.Get("metadata.files"); files.IsArray() {
		about = string(clean.JSON(map[string]string{"filepath": join(files.Get("#.file"), "\n"), "diff": join(files.Get("#.patch"), "\n")}))
	}
	old := fmt.Sprintf(`{"id":%s,"sessionID":%s,"permission":%s,"patterns":%s,"always":%s,"metadata":%s}`, p.Get("id").Raw, p.Get("sessionID").Raw,
		clean.JSON(name), cmp.Or(p.Get("resources").Raw, "[]"), cmp.Or(p.Get("save").Raw, "[]"), cmp.Or(about, "{}"))
	session := "/session/" + in
	s.permission(ctx, gjson.Parse(old), func(ctx context.Context, reply, words string) error {
		reply = cmp.Or(reply, reject)
		// Releases differ in the name of the member.
		body := map[string]string{"reply": reply, "decision": reply}
		if words != "" {
			body["message"] = words
		}
		err := s.tell(ctx, session+"/permission/"+id+"/reply", body)
		if err == nil && words != "" { // the model is not told the message, in 2.0.0
			if s.tell(ctx, session+"/prompt", map[string]string{"text": "I rejected that: " + words, "delivery": "steer"}) != nil {
				return watch.Unsure("the agent was told the rejection, and perhaps not its reason")
			}
		}
		return err
	})
}

// input is that of the tool call that needs a permission.
func (s *service) input(ctx context.Context, in string, source gjson.Result) (input gjson.Result) {
	if message := source.Get("messageID").Str; isName(message) {
		said, _ := s.get(ctx, "/session/"+in+"/message/"+message)
		for _, part := range said.Get("content").Array() {
			if part.Get("type").Str == "tool" && part.Get("id").Str == source.Get("id").Str && part.Get("state.input").IsObject() {
				input = part.Get("state.input")
			}
		}
	}
	return input
}

// do makes a request. What a list or an object is in, is left out.
func (s *service) do(ctx context.Context, method, path string, body any) (gjson.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	reply, err := s.send(ctx, method, path, body)
	var failed *net.OpError
	switch {
	case errors.As(err, &failed) && failed.Op == "dial":
		return gjson.Result{}, statusError{0, path}
	case err != nil:
		return gjson.Result{}, errEnded // it may have been sent
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(io.LimitReader(reply.Body, maxLine))
	switch {
	case reply.StatusCode == http.StatusNotFound && !gjson.GetBytes(data, "_tag").Exists(): // the path, not what it names
		return gjson.Result{}, errors.New("the agent has no " + path + " any more")
	case reply.StatusCode < 200 || reply.StatusCode > 299:
		return gjson.Result{}, statusError{reply.StatusCode, path}
	}
	if err != nil {
		return gjson.Result{}, errEnded // it was taken
	}
	said := gjson.ParseBytes(data)
	if in := said.Get("data"); in.Exists() {
		said = in
	}
	return said, nil
}

// requestTime is how long the service may take.
const requestTime = 30 * time.Second

func (s *service) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+"/api"+path, in)
	if err != nil {
		return nil, err
	}
	r.SetBasicAuth("opencode", s.password)
	r.Header.Set("Content-Type", "application/json")
	return s.client.Do(r)
}
