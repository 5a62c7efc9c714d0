package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// hookedEnv is set for a Claude Code that acp-bridge runs itself: its questions are
// asked there.
const hookedEnv = "ACP_BRIDGE_ASKS"

// hookTime is what a hub may cost that is down, slow or wrong; maxHookEvent is the most
// that a hook sends, and lookTime how often the one that waits looks around. Until it
// has seen the dialog it looks each time, then each fifth.
const (
	maxHookEvent = 8 << 20
	lookTime     = 100 * time.Millisecond
)

var (
	hookTime, _ = time.ParseDuration(hookLimit)
	hookLimit   = "1s" // the linker says more where a test's hub shares a busy machine
)

// hookState is where the hooks of this user go. It is in a file of its own, so that no
// token is in the settings of Claude Code, or on a command line.
type hookState struct {
	Hub    string `json:"hub"`
	Token  string `json:"token"`
	Device string `json:"device,omitempty"` // that was made for it
	// Prove is a file with the token of a hub of this machine. Whoever listens there
	// has to know it: else anybody could allow things while the hub is down.
	Prove string `json:"prove,omitempty"`
	// Settings is the file that has the hooks; empty if they are a plugin.
	Settings string `json:"settings,omitempty"`
}

// stateFile is a file, or a folder, of what acp-bridge keeps.
func stateFile(name string) (string, error) {
	dir, err := hublink.DataDir()
	return filepath.Join(filepath.Dir(dir), name), err
}

// readState reads what writeState keeps in the file of that name.
func readState(name string, v any) error {
	file, err := stateFile(name)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// writeState keeps something for this user alone.
func writeState(name string, v any) error {
	file, err := stateFile(name)
	if err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writePrivate(file, data)
}

const hookStateName = "hook.json"

func readHookState() (s hookState, err error) {
	err = readState(hookStateName, &s)
	return s, err
}

// runHook is what Claude Code starts for an event. Whatever goes wrong is as if there
// were no hook: it says nothing, and ends well.
func runHook(ctx context.Context, s streams) error {
	if os.Getenv(hookedEnv) != "" {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(s.in, maxHookEvent))
	if err != nil {
		return nil
	}
	if gjson.GetBytes(data, "hookEventName").Exists() { // Grok runs the hooks in Claude Code's settings, too
		return nil
	}
	data = hook.From(data, os.Getenv("CLAUDE_PID"))
	e, err := hook.Parse(data)
	if err != nil {
		return nil
	}
	state, err := readHookState()
	if err != nil {
		return nil
	}
	h := &hookRun{state: state, event: e, name: life.Mint()}
	if h.client, err = state.client(); err != nil {
		return nil
	}
	if !e.Asks() {
		h.note(ctx, data)
		return nil
	}
	answers := make(chan bool, 1)
	go func() { answers <- !e.Blocks() || h.alive(ctx) }()
	h.about = aboutSession(e)
	if !<-answers {
		return nil
	}
	reply, err := h.hold(ctx, hook.Name(data, h.name))
	if err == nil && clean.ValidJSON(reply) && gjson.GetBytes(reply, "hookSpecificOutput").Exists() {
		_, _ = s.out.Write(reply)
	}
	return nil
}

// silence is a file with a byte for each time in a row that a hub did not answer in time.
// After maxSilent of them it is left alone for silentTime: agents wait for each event, and
// there are several to a tool call.
type silence string

const (
	hookSilence  silence = "hook.silent"
	watchSilence silence = "watch.silent"
	maxSilent            = 3
	silentTime           = 30 * time.Second
)

// tell talks to the hub, unless it is left alone.
func (s silence) tell(talk func() error) {
	file, err := stateFile(string(s))
	if err != nil {
		return
	}
	info, err := os.Stat(file)
	silent := err == nil
	if silent && info.Size() >= maxSilent && time.Since(info.ModTime()) < silentTime {
		return
	}
	switch err := talk(); {
	case errors.Is(err, context.DeadlineExceeded):
		if f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.Write([]byte{'.'})
			_ = f.Close()
		}
	case silent:
		_ = os.Remove(file)
	}
}

// note tells the hub of an event that nobody has to answer.
func (h *hookRun) note(ctx context.Context, data []byte) {
	hookSilence.tell(func() error {
		ctx, cancel := context.WithTimeout(ctx, hookTime)
		defer cancel()
		_, _ = h.post(ctx, data)
		return ctx.Err()
	})
}

// hookRun is one event on its way.
type hookRun struct {
	state  hookState
	event  hook.Event
	name   string
	about  string // of an event that asks
	client *http.Client
}

// writeTime is how long Claude Code may take to write down what it has said: it asks
// before that, and of a new session nothing is there yet.
const writeTime = time.Second

// aboutSession is what a person is told of the session in which an event asks. It is read
// where Claude Code keeps it, whatever file the event names.
func aboutSession(e hook.Event) string {
	a := about.About{Branch: hublink.BranchOf(e.Dir)}
	said, ok := lastSaid(e)
	for end := time.Now().Add(writeTime); said.Model == "" && e.Transcript != "" && time.Now().Before(end); said, ok = lastSaid(e) {
		time.Sleep(writeTime / 20)
	}
	if ok {
		var words about.Words
		if said.Title != transcript.Untitled {
			words.Name(said.Title)
		}
		words.Prompt(said.Prompt)
		words.Say(said.Words)
		words.Tell(&a)
		a.Model = said.Model
	}
	return a.Encode()
}

func lastSaid(e hook.Event) (transcript.Said, bool) {
	path, err := transcript.Find(transcript.ConfigDir(os.Getenv), e.Session, e.Dir)
	if err != nil {
		return transcript.Said{}, false
	}
	return transcript.Last(path)
}

// client is one that talks to the hub alone.
func (st hookState) client() (*http.Client, error) {
	urls, err := hublink.ParseURLs(st.Hub)
	if err != nil {
		return nil, err
	}
	base := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: hookTime}).DialContext}
	if st.Prove != "" {
		hublink.Prove(base, st.proof)
	}
	return &http.Client{
		Transport:     hublink.Transport(base, urls),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (h *hookRun) post(ctx context.Context, body []byte) ([]byte, error) {
	urls, err := hublink.ParseURLs(h.state.Hub)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, urls[0].String()+"/hooks/claude", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+h.state.Token)
	req.Header.Set("Content-Type", "application/json")
	machine, _ := os.Hostname()
	req.Header.Set("Acp-Bridge-Machine", machine)
	if h.about != "" {
		req.Header.Set(about.Header, h.about)
	}
	reply, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(io.LimitReader(reply.Body, maxHookEvent))
	if err == nil && reply.StatusCode != http.StatusOK {
		err = errors.New(firstOf(gjson.GetBytes(data, "error").Str, reply.Status))
	}
	return data, err
}

// hold waits for an answer at the hub. The hub has to be there within a moment, and
// where the terminal shows nothing meanwhile, it has answered just now and has to stay
// there.
func (h *hookRun) hold(ctx context.Context, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(hookTime, cancel)
	defer late.Stop()
	go h.look(ctx, cancel)
	return h.post(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { late.Stop() }}), body)
}

// look ends the waiting when Claude Code is gone, or the hub is while the terminal
// waits for it, and tells the hub when the dialog in the terminal is gone.
func (h *hookRun) look(ctx context.Context, cancel func()) {
	tick := time.NewTicker(lookTime)
	defer tick.Stop()
	parent, dialog, told := os.Getppid(), dialogWatch{pid: os.Getenv("CLAUDE_PID")}, false
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch {
		case os.Getppid() != parent:
			cancel() // it was killed, and told nobody
		case h.event.Blocks() && n%10 == 0 && !h.alive(ctx):
			cancel()
		case !told && !h.event.Blocks() && (!dialog.seen || n%5 == 0) && dialog.gone():
			note, done := context.WithTimeout(ctx, hookTime)
			_, err := h.post(note, hook.AnsweredIn(h.event.Session, h.name))
			told = err == nil
			done()
		}
	}
}

// alive reports whether the hub still answers.
func (h *hookRun) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	urls, err := hublink.ParseURLs(h.state.Hub)
	if err != nil {
		return false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, urls[0].String()+"/healthz", nil)
	if err != nil {
		return false
	}
	reply, err := h.client.Do(req)
	if err != nil {
		return false
	}
	reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}

// dialogWatch follows what Claude Code says of itself in a file: whether a dialog waits.
// Nothing else tells that the terminal has allowed something that takes long.
type dialogWatch struct {
	pid  string
	seen bool // a dialog
	not  int  // how often there was none since
}

// gone reports that there was a dialog, and is none. One that makes way for the next is
// not.
func (d *dialogWatch) gone() bool {
	if d.pid == "" || strings.Trim(d.pid, "0123456789") != "" {
		return false
	}
	f, err := os.Open(filepath.Join(transcript.ConfigDir(os.Getenv), "sessions", d.pid+".json"))
	if err != nil {
		return false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	switch status := gjson.GetBytes(data, "status").Str; {
	case err != nil || status == "":
	case status == "waiting":
		d.seen, d.not = true, 0
	case d.seen:
		d.not++
	}
	return d.not >= 2
}

// awayCommand says that nobody sits at the terminal, or that somebody is back.
func awayCommand(away bool) func(*flagSet) runner {
	return func(fs *flagSet) runner {
		var h hubFlags
		h.flags(fs)
		return func(ctx context.Context, args []string, s streams) error {
			if err := fs.ParseFlags(args, ""); err != nil {
				return err
			}
			h.address = cmp.Or(h.address, localHub)
			if err := h.check(0); err != nil {
				return err
			}
			if err := h.call(ctx, http.MethodPost, "/away", map[string]bool{"away": away}, nil); err != nil {
				return err
			}
			said := "Back: questions of sub-agents and MCP servers reach the terminal after a few seconds again, and those of Qwen, Copilot and Gemini at once.\n"
			if away {
				said = "Away: questions of sub-agents, of MCP servers, and of Qwen, Copilot and Gemini wait at the hub; the terminal does not show them until you run acp-bridge back.\n"
			}
			_, err := io.WriteString(s.out, said)
			return err
		}
	}
}
